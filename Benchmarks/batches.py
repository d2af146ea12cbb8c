"""Batches: what they cost beside the same files put one by one, in time and in memory."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from harness import (
    FERRY,
    MIB,
    Lab,
    Row,
    Series,
    Talker,
    ping,
    random_file,
    request,
    serve,
    timed,
    write_all,
)
from s3_peers import NullServer, configuration

TITLE = "Batches"
CALL = 500  # files of one batch/upload
CONCURRENCY = 4


def series(lab: Lab) -> Iterator[Series]:
    with lab.folder() as folder:
        yield beside_single(lab, folder, partial(fresh, folder))
    with lab.folder() as folder, NullServer() as server:
        path = configuration(folder, server.url, "md5", CONCURRENCY)
        yield beside_single(lab, folder, partial(fresh, folder, path), " over S3")
    with lab.folder() as folder:
        yield progress(lab, folder)
    for count, limit in ((10_000, 40), (100_000, 160)):
        with lab.folder() as folder:
            yield memory(lab.scaled(count, count // 10), limit, folder)
    with lab.folder() as folder:
        yield pages(lab, folder)


def beside_single(lab: Lab, folder: Path, fresh: Callable[[], Talker], how: str = "") -> Series:
    count = lab.scaled(10_000, 1_000)
    paths = sources(folder, count)

    def single(_: int) -> float:
        puts = [
            request(n, "object/put", ref=f"p/{n}", path=path) for n, path in enumerate(paths, 1)
        ]
        with fresh() as ferry:
            return timed(lambda: ferry.replies(b"".join(puts), count))

    def batch(_: int) -> float:
        with fresh() as ferry:
            return timed(lambda: upload(ferry, paths))

    row = Row(f"{count:,} × 4 KiB in a batch{how}", "batch", ("single puts",), 1.15)
    return Series(
        f"{count:,} files of 4 KiB{how}, concurrency {CONCURRENCY}",
        "ms",
        {"single puts": single, "batch": batch},
        [row],
        rounds=lab.scaled(5, 1),
        amount=count,
        things="files",
    )


def progress(lab: Lab, folder: Path) -> Series:
    count, size = 64, lab.scaled(16, 4) * MIB
    paths = [str(random_file(folder / str(number), size)) for number in range(count)]

    def rate(_: int) -> float:
        with fresh(folder) as ferry:
            ferry.reply(request(1, "limits/set", concurrency=count, uploadRate=256 * MIB))
            began, told = time.perf_counter(), [0]
            upload(ferry, paths, count, told)
            return told[0] / (time.perf_counter() - began)

    row = Row("progress notifications of 64 files at once", "ferry", (), 200, "absolute")
    title = f"{count} files of {size // MIB} MiB at once, 256 MiB/s in all"
    return Series(title, "per second", {"ferry": rate}, [row], rounds=lab.scaled(3, 1))


def memory(count: int, limit: int, folder: Path) -> Series:
    paths = sources(folder, count)

    def peak(_: int) -> float:
        with fresh(folder) as ferry:
            upload(ferry, paths)
            return ferry.memory("VmHWM")

    row = Row(f"peak memory, {count:,} files in a batch", "ferry", (), limit, "absolute")
    return Series(f"A batch of {count:,} files", "MiB", {"ferry": peak}, [row], rounds=1)


def pages(lab: Lab, folder: Path) -> Series:
    count = lab.scaled(10_000, 1_000)
    paths = sources(folder, count)
    with fresh(folder) as ferry:
        upload(ferry, paths)

    def page(_: int) -> float:
        with serve(folder) as ferry:
            ask = request(1, "batch/get", batchId="b", limit=1000)
            ferry.reply(ask)
            return timed(lambda: ferry.reply(ask))

    row = Row(f"a page of batch/get, {count:,} files", "ferry", (), 20, "absolute")
    note = "a full line of 60 KiB, each file with its attachment, after a restart"
    return Series("A page of a batch", "ms", {"ferry": page}, [row], rounds=lab.rounds, note=note)


def sources(folder: Path, count: int) -> list[str]:
    files = folder / "files"
    files.mkdir()
    for number in range(count):
        (files / str(number)).write_bytes(os.urandom(4096))
    return [str(files / str(number)) for number in range(count)]


def fresh(folder: Path, config: Path | None = None) -> Talker:
    """A warm ferry that knows of nothing."""
    for name in ("root", "state"):
        shutil.rmtree(folder / name, ignore_errors=True)
    os.sync()
    if not config:
        return serve(folder)
    ferry = Talker([FERRY, "serve", "--config", str(config)], folder)
    ferry.reply(ping(0))
    return ferry


def upload(
    ferry: Talker, paths: list[str], concurrency: int = CONCURRENCY, told: list[int] | None = None
) -> None:
    """Adds files to a batch, and returns when all of them are there; counts progress in `told`."""
    lines = [request(1, "batch/create", batchId="b", prefix="p", concurrency=concurrency)]
    for start in range(0, len(paths), CALL):
        items = [
            {"fileId": str(n), "path": paths[n]}
            for n in range(start, min(start + CALL, len(paths)))
        ]
        lines.append(request(2 + start // CALL, "batch/upload", batchId="b", items=items))
    writer = threading.Thread(target=write_all, args=(ferry.input, b"".join(lines)))
    writer.start()
    while True:
        for line in ferry.lines():
            if told and b'"method":"progress"' in line[:60]:
                told[0] += 1
            if b'"method":"complete"' not in line[:60]:
                continue
            counts = json.loads(line)["params"]["counts"]
            if counts["successful"] == len(paths):
                writer.join()
                return
