"""What the durability tests share: transfers of every kind, processes that follow each other in one
home, a witness that looks on all the time, and what must not be left."""

from __future__ import annotations

import base64
import contextlib
import os
import random
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from files import MIB, content, sha256, sha256_of
from sidecar import TIMEOUT, RpcError, Sidecar

SETTLED = {"succeeded", "failed", "rejected", "cancelled"}
STATE = ".local/state/ferry"
STORE = ".local/share/ferry"


def seeded(name: str) -> random.Random:
    """A source of chance whose seed is printed, and taken from FERRY_TEST_SEED to repeat a run."""
    seed = int(os.environ.get("FERRY_TEST_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"{name}: FERRY_TEST_SEED={seed}")
    return random.Random(seed)


@dataclass(frozen=True)
class Kind:
    """One kind of transfer: how it is asked for and how much it moves."""

    name: str
    method: str
    size: int
    terminal: str = "uploaded"
    stream: bool = False

    @property
    def announces(self) -> bool:
        return self.method == "file/send"


KINDS = [
    Kind("put path", "object/put", 6 * MIB),
    Kind("put small path", "object/put", 100_000),
    Kind("put data", "object/put", 40_000),
    Kind("put text", "object/put", 300),
    Kind("put stream", "object/put", 3 * MIB // 2, stream=True),
    Kind("send path", "file/send", 3 * MIB),
    Kind("send text", "file/send", 300),
    Kind("send data", "file/send", 40_000),
    Kind("get path", "object/get", 6 * MIB, "downloaded"),
    Kind("get temporary", "object/get", 2 * MIB, "downloaded"),
    Kind("get stream", "object/get", 3 * MIB // 2, "downloaded", stream=True),
    Kind("download path", "file/download", 3 * MIB, "downloaded"),
]


class Scene:
    """A home with the sources of one kind of transfer; `number` tells one transfer from another."""

    def __init__(self, home: Path, kind: Kind) -> None:
        self.home, self.kind = home, kind
        self.work = home / "work"
        self.bytes = content(kind.size, seed=7)
        if "text" in kind.name:
            self.bytes = base64.b64encode(self.bytes)[: kind.size]
        self.digest = sha256(self.bytes)
        with process(home) as first:
            (self.work / "source.bin").write_bytes(self.bytes)
            first.call("object/put", ref="stored", path="source.bin")
            self.sent = first.call("file/send", channel="stored", path="source.bin", name="s")

    def id(self, number: int) -> str:
        return f"t{number}"

    def params(self, number: int) -> dict[str, Any]:
        """The request of a transfer, the same each time."""
        params: dict[str, Any] = {"transferId": self.id(number)}
        if self.kind.method == "object/put":
            params["ref"] = f"made/{number}"
        elif self.kind.method == "file/send":
            params |= {"channel": f"c{number}", "name": "made"}
        elif self.kind.method == "object/get":
            params["ref"] = "stored"
        else:
            params |= {"channel": "stored", "id": self.sent["id"], "name": "s"}
        if self.kind.terminal == "uploaded":
            return params | self.source()
        if self.kind.stream:
            return params | {"target": {"stream": True}}
        return params | ({} if "temporary" in self.kind.name else {"target": f"copy-{number}"})

    def source(self) -> dict[str, Any]:
        if self.kind.stream:
            return {"stream": {}}
        if "data" in self.kind.name:
            return {"data": base64.b64encode(self.bytes).decode()}
        return {"text": self.bytes.decode()} if "text" in self.kind.name else {"path": "source.bin"}

    def begin(self, ferry: Sidecar, number: int) -> int:
        """Asks for a transfer; a stream is fed or read by a thread until it ends."""
        request = ferry.start(self.kind.method, **self.params(number))
        if self.kind.stream:
            move = self.feed if self.kind.terminal == "uploaded" else self.drain
            threading.Thread(target=move, args=(ferry, number), daemon=True).start()
        return request

    def feed(self, ferry: Sidecar, number: int) -> None:
        with contextlib.suppress(OSError, RpcError, AssertionError):
            for offset in range(0, len(self.bytes), MIB // 2):
                piece = base64.b64encode(self.bytes[offset : offset + MIB // 2]).decode()
                ferry.call("stream/write", transferId=self.id(number), data=piece)
            ferry.call("stream/close", transferId=self.id(number))

    def drain(self, ferry: Sidecar, number: int) -> None:
        with contextlib.suppress(OSError, RpcError, AssertionError):
            while not ferry.call("stream/read", transferId=self.id(number))["eof"]:
                pass

    def check(self, ferry: Sidecar, number: int, snapshot: dict[str, Any]) -> None:
        """What a transfer that succeeded has made is whole."""
        assert snapshot["state"] == "succeeded", snapshot
        if self.kind.method == "object/put":
            metadata = ferry.call("object/metadata", ref=f"made/{number}")["metadata"]
            self.check_content(metadata["etag"])
        elif self.kind.announces:
            [file] = ferry.call("file/list", channel=f"c{number}")["files"]
            self.check_content(file["id"])
        elif not self.kind.stream:
            paths = [self.work / f"copy-{number}"]
            if "temporary" in self.kind.name:
                paths = [p for p in (self.home / STATE / "tmp").iterdir() if ".part" not in p.name]
            assert {sha256_of(path) for path in paths} == {self.digest}

    def check_content(self, content_id: str) -> None:
        path = self.home / STORE / "content" / content_id[:2] / content_id
        assert sha256_of(path) == self.digest, f"{path} differs"

    def messages(self, ferry: Sidecar, number: int) -> int:
        return len(ferry.call("channel/history", channel=f"c{number}")["messages"])


@contextlib.contextmanager
def process(home: Path, *args: str, **options: Any) -> Iterator[Sidecar]:
    """A process that is checked when its block ends, however it ended."""
    sidecar = Sidecar(home, *args, **options)
    try:
        yield sidecar
        sidecar.finish()
    finally:
        sidecar.dispose()


@contextlib.contextmanager
def watched(scene: Scene) -> Iterator[None]:
    """Looks on from a process of another scope: whatever can be seen is whole."""
    over = threading.Event()
    wrong: list[str] = []

    def look(ferry: Sidecar) -> None:
        seen: set[str] = set()
        while not over.wait(0.005):
            for item in ferry.call("object/list", ref="made", limit=1000)["items"]:
                if item["ref"] not in seen:
                    seen.add(item["ref"])
                    got = ferry.call("object/get", ref=item["ref"], progress=False)
                    if (item["size"], got["sha256"]) != (scene.kind.size, scene.digest):
                        wrong.append(f"{item} is {got}")
                    ferry.call("transfer/forget", transferId=got["transferId"])
            for path in scene.work.glob("copy-*"):
                if path.name not in seen:
                    seen.add(path.name)
                    if sha256_of(path) != scene.digest:
                        wrong.append(f"{path} is there and not whole")

    with process(scene.home) as ferry:
        ferry.call("initialize", stateKey="witness")
        thread = threading.Thread(target=look, args=(ferry,))
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(TIMEOUT)
    assert not wrong, wrong


def settle(ferry: Sidecar, transfer_id: str) -> dict[str, Any]:
    """Waits until a transfer has ended; its snapshot."""
    names = {"uploaded", "downloaded", "error", "failure", "cancelled"}
    snapshot = ferry.call("transfer/get", transferId=transfer_id)
    while snapshot["state"] not in SETTLED:
        ferry.wait(
            lambda m: m.get("method") in names and m["params"]["transferId"] == transfer_id,
            f"the end of {transfer_id}",
        )
        snapshot = ferry.call("transfer/get", transferId=transfer_id)
    return dict(snapshot)


def everything(ferry: Sidecar, **params: Any) -> list[dict[str, Any]]:
    """All of transfer/list."""
    page = ferry.call("transfer/list", limit=1000, **params)
    found = list(page["transfers"])
    while page["next"] is not None:
        page = ferry.call("transfer/list", limit=1000, next=page["next"], **params)
        found += page["transfers"]
    return found


def state_of(ferry: Sidecar, transfer_id: str) -> str | None:
    """The state of a transfer in the list; None where it is not known."""
    states = [t["state"] for t in everything(ferry) if t["transferId"] == transfer_id]
    assert len(states) <= 1, states
    return states[0] if states else None


def leftovers(home: Path) -> list[str]:
    """What nobody will ever ask for: parts, spooled content, journals, content without a name.

    To be asked when all transfers are forgotten and all processes have ended.
    """
    store = home / STORE
    with contextlib.closing(sqlite3.connect(store / "index.db")) as index:
        named = {
            r[0] for r in index.execute("SELECT content FROM object UNION SELECT id FROM file")
        }
    found = {p.name for p in (store / "content").rglob("*") if p.is_file()}
    assert named <= found, f"the index names what is not there: {named - found}"
    strays = [str(p.relative_to(home)) for p in home.rglob("*.part")]
    for folder in ("journal", "tmp"):
        strays += [str(p.relative_to(home)) for p in (home / STATE / folder).rglob("*.*")]
    return strays + sorted(found - named)


def forget_all(ferry: Sidecar) -> None:
    for transfer in everything(ferry):
        ferry.call("transfer/forget", transferId=transfer["transferId"])
