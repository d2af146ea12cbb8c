"""How fast files move into the local remote and out of it, durable and verified."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from harness import (
    MEMORY_CEILING,
    MIB,
    Lab,
    Row,
    Series,
    Talker,
    compiled,
    random_file,
    request,
    serve,
    timed,
)

TITLE = "Files of the local remote"


def series(lab: Lab) -> Iterator[Series]:
    with lab.folder() as folder:
        yield from large(lab, folder)
    with lab.folder() as folder:
        yield small(lab, folder)


def quiet(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def large(lab: Lab, folder: Path) -> Iterator[Series]:
    size = lab.scaled(1024, 128) * MIB
    label = f"{size // MIB} MiB"
    source, target = random_file(folder / "large", size), folder / "large.copy"
    peaks = {"put": 0.0, "get": 0.0}

    def finish(ferry: Talker, name: str, seconds: float) -> float:
        peaks[name] = max(peaks[name], ferry.memory("VmHWM"))
        return seconds

    def put(number: int) -> float:
        with serve(folder) as ferry:
            os.sync()  # what others have written is not this round's to wait for
            asked = request(1, "object/put", ref=f"large-{number}", path=str(source))
            taken = finish(ferry, "put", timed(lambda: ferry.reply(asked)))
            if number:
                ferry.reply(request(2, "object/delete", ref=f"large-{number}"))
            return taken

    def get(number: int) -> float:
        with serve(folder) as ferry:
            target.unlink(missing_ok=True)
            os.sync()
            asked = request(1, "object/get", ref="large-0", target=str(target))
            return finish(ferry, "get", timed(lambda: ferry.reply(asked)))

    def copy(_: int) -> float:
        target.unlink(missing_ok=True)
        os.sync()
        command = ["sh", "-c", 'cp "$0" "$1" && sync "$1"', str(source), str(target)]
        return timed(lambda: quiet(command))

    def digest(_: int) -> float:
        return timed(lambda: quiet(["sha256sum", str(source)]))

    contenders = {"ferry put": put, "ferry get": get, "cp, fsync": copy, "sha256sum": digest}
    rows = [
        Row(f"{name} of {label}", f"ferry {name}", ("cp, fsync", "sha256sum"), 1.25)
        for name in ("put", "get")
    ]
    note = "the source is in the page cache; durable when answered, SHA-256 compared or stored"
    title = f"One file of {label}"
    yield Series(title, "ms", contenders, rows, lab.rounds, size // MIB, "MiB", note)
    yield Series(
        f"Peak of resident memory, {label}",
        "MiB",
        {"ferry put": lambda _: peaks["put"], "ferry get": lambda _: peaks["get"]},
        [
            Row(f"peak memory, {name} of {label}", f"ferry {name}", (), MEMORY_CEILING, "absolute")
            for name in peaks
        ],
        rounds=1,
        note="VmHWM, the highest of all rounds",
    )


def small(lab: Lab, folder: Path) -> Series:
    count, size = lab.scaled(10_000, 1_000), 4096
    sources = folder / "small"
    sources.mkdir()
    for number in range(count):
        (sources / str(number)).write_bytes(os.urandom(size))
    store = compiled("store", "-lsqlite3")

    def put(number: int) -> float:
        home = folder / f"ferry-{number}"
        home.mkdir()
        with serve(home) as ferry:
            # The store and the journal are made by the first put.
            ferry.reply(request(1, "object/put", ref="first", text=""))
            asked = b"".join(
                request(n + 2, "object/put", ref=f"small/{n}", path=str(sources / str(n)))
                for n in range(count)
            )
            os.sync()
            taken = timed(lambda: ferry.replies(asked, count))
        shutil.rmtree(home)
        return taken

    def peer(number: int) -> float:
        home = folder / f"peer-{number}"
        home.mkdir()
        os.sync()
        taken = timed(lambda: quiet([store, str(sources), str(home), str(count)]))
        shutil.rmtree(home)
        return taken

    title = f"{count:,} files of {size // 1024} KiB"
    rows = [Row(f"put of {title}", "ferry put", ("C by the same rules",), 1.5)]
    note = "all put at once; each durable when answered. The peer: `peers/store.c`"
    contenders = {"ferry put": put, "C by the same rules": peer}
    return Series(title, "ms", contenders, rows, lab.rounds, count, "files", note)
