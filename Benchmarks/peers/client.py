"""A host in Python: `client.py bare|client PROGRAM pipelined|lone|memory|batch COUNT`, one figure.

`bare` is a loop of one's own over the pipes of a program that echoes lines; `client` is the package
with ferry. Both ask `ping`, in JSON.
"""

from __future__ import annotations

import asyncio
import gc
import json
import statistics
import sys
import time
import tracemalloc
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "clients" / "python"))

import ferry  # noqa: E402

WINDOW = 1024


async def bare(program: str, what: str, count: int) -> float:
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(program, stdin=pipe, stdout=pipe)
    assert child.stdin and child.stdout
    writing, reading = child.stdin, child.stdout

    async def ask(first: int, number: int) -> None:
        for id in range(first, first + number):
            message = {"jsonrpc": "2.0", "id": id, "method": "ping", "params": {}}
            writing.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        await writing.drain()

    async def take(first: int, number: int) -> None:
        for id in range(first, first + number):
            assert json.loads(await reading.readline())["id"] == id

    try:
        if what == "pipelined":
            began = time.perf_counter()
            for first in range(0, count, WINDOW):
                await ask(first, min(WINDOW, count - first))
                await take(first, min(WINDOW, count - first))
            return (time.perf_counter() - began) * 1e3
        trips = []
        for id in range(count):
            began = time.perf_counter()
            await ask(id, 1)
            await take(id, 1)
            trips.append(time.perf_counter() - began)
        return statistics.median(trips) * 1e6
    finally:
        writing.close()
        await child.wait()


async def client(program: str, what: str, count: int) -> float:
    async with ferry.Ferry(bin=program, args=["--enable-test-methods"]) as f:
        if what == "memory":
            return await growth(f, count)
        if what == "batch":
            return await longest_pause(f, count)
        if what == "pipelined":
            began = time.perf_counter()
            for first in range(0, count, WINDOW):
                number = min(WINDOW, count - first)
                await asyncio.gather(*(f.request("ping") for _ in range(number)))
            return (time.perf_counter() - began) * 1e3
        trips = []
        for _ in range(count):
            began = time.perf_counter()
            await f.request("ping")
            trips.append(time.perf_counter() - began)
        return statistics.median(trips) * 1e6


async def growth(f: ferry.Ferry, count: int) -> float:
    """MiB more after so many events than after a hundredth of them."""
    tracemalloc.start()
    await f.request("test/flood", {"count": count // 100, "bytes": 100})
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    await f.request("test/flood", {"count": count, "bytes": 100})
    gc.collect()
    return (tracemalloc.get_traced_memory()[0] - before) / (1 << 20)


async def longest_pause(f: ferry.Ferry, count: int) -> float:
    """Milliseconds the loop stood still at most while files were added, uploaded and told of."""
    paths = [Path(str(number)) for number in range(count)]
    for path in paths:
        path.write_bytes(b"x")
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, time.perf_counter() - began - 0.001)

    watching = asyncio.ensure_future(watch())
    async with f.batch(prefix="p", concurrency=4) as batch:
        await asyncio.sleep(0)
        files = batch.add_all(paths)
        done = await batch.complete()
        assert done.counts["successful"] == count
        assert (await files[-1]).size == 1
    watching.cancel()
    return longest * 1e3


how, program, what, count = sys.argv[1:]
print(asyncio.run((bare if how == "bare" else client)(program, what, int(count))))
