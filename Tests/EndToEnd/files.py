"""Local files for tests, and what must not be left of them."""

from __future__ import annotations

import hashlib
import os
import random
import select
from pathlib import Path
from typing import Any

MIB = 1 << 20


def content(size: int, seed: int = 1) -> bytes:
    """Bytes that compress badly and differ from block to block."""
    return random.Random(seed * 1_000_003 + size).randbytes(size)


def write_file(path: Path, size: int, seed: int = 1) -> str:
    """Writes a file of any size in flat memory and returns its SHA-256."""
    digest = hashlib.sha256()
    block = content(min(size, MIB), seed)
    with path.open("wb") as file:
        for number, offset in enumerate(range(0, size, MIB)):
            piece = (number.to_bytes(8, "big") + block)[: min(MIB, size - offset)]
            file.write(piece)
            digest.update(piece)
    return digest.hexdigest()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(MIB):
            digest.update(block)
    return digest.hexdigest()


def parts(folder: Path) -> list[str]:
    """Half-made files below a folder."""
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*.part"))


def tree(folder: Path) -> list[str]:
    """Every file below a folder but the logs of the tests themselves."""
    found = (p.relative_to(folder) for p in folder.rglob("*") if p.is_file())
    return sorted(str(p) for p in found if not p.name.startswith("stderr-"))


def wait_gone(pid: int, timeout: float) -> bool:
    """Waits for a process that is nobody's child to end; true when it has."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(timeout * 1000))
    finally:
        os.close(descriptor)


def slow_upload(sidecar: Any, size: int = 32 * MIB, rate: int = 4 * MIB, **params: Any) -> Any:
    """Starts a throttled upload of `big.bin`, or of another `path`, and returns its request id once
    bytes have moved."""
    params = {"ref": "big", "path": "big.bin", "transferId": "big", **params}
    write_file(sidecar.work / params["path"], size)
    sidecar.call("limits/set", uploadRate=rate)
    method = "file/send" if "channel" in params else "object/put"
    if method == "file/send":
        del params["ref"]
    request = sidecar.start(method, **params)
    sidecar.wait(
        lambda m: m.get("method") == "progress"
        and m["params"]["transferId"] == params["transferId"]
        and 0 < m["params"]["loaded"] < size,
        "progress in the middle",
    )
    return request
