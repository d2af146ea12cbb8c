"""How the process is ended, whatever it and the host do: nothing is left behind."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest
from places import gone

import ferry


@pytest.mark.parametrize(
    ("words", "ended_by"),
    [
        ("", 0),
        ("ignore-shutdown", 1),
        ("ignore-shutdown ignore-eof", -signal.SIGTERM),
        ("ignore-eof", -signal.SIGTERM),
        ("ignore-shutdown ignore-eof ignore-term", -signal.SIGKILL),
        ("stdout-closed-at-shutdown", 0),
    ],
)
@pytest.mark.parametrize("leaving", ["quietly", "by an exception", "cancelled"])
def test_every_rung_of_the_ladder_ends_the_process(fake, words, ended_by, leaving):
    async def run():
        patience = 0.2 if "ignore-shutdown" in words else 10
        grace = ferry.CloseGrace(drain=patience, now=patience, eof=0.2, term=0.2)
        f = ferry.Ferry(**{**fake(words), "close_grace": grace})
        entered = asyncio.Event()

        async def use():
            async with f:
                entered.set()
                if leaving == "by an exception":
                    raise KeyError("the host's own")
                if leaving == "cancelled":
                    await asyncio.Event().wait()

        task = asyncio.ensure_future(use())
        await entered.wait()
        pid = f._process.pid
        if leaving == "cancelled":
            task.cancel()
        await asyncio.wait([task])
        if leaving == "by an exception":
            assert isinstance(task.exception(), KeyError)
        assert task.cancelled() == (leaving == "cancelled")
        assert gone(pid)
        if "shutdown" not in words:  # the code of an exit without shutdown is the program's affair
            assert f._process.returncode == ended_by
        with pytest.raises(ferry.ConnectionClosed):
            await f.ping()

    asyncio.run(run())


def test_cancelling_the_close_still_leaves_no_process(fake):
    async def run():
        f = await ferry.Ferry(**fake("ignore-shutdown ignore-eof ignore-term")).start()
        pid = f.pid
        closing = asyncio.ensure_future(f.close())
        for _ in range(3):
            await asyncio.sleep(0)
            closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        assert gone(pid)

    asyncio.run(run())


def test_cancelling_the_start_leaves_no_process(fake):
    async def run():
        asked = asyncio.Event()
        options = fake("mute-at=initialize", checked=False)
        f = ferry.Ferry(**options, trace=lambda direction, line: asked.set())
        starting = asyncio.ensure_future(f.start())
        await asked.wait()
        pid = f._process.pid
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        assert gone(pid)

    asyncio.run(run())


def test_what_waits_while_the_client_closes_hears_so(fake):
    async def run():
        async with ferry.Ferry(**fake("mute-at=server/stats")) as f:
            asking = asyncio.ensure_future(f.stats())
            await f.ping()
        with pytest.raises(ferry.ConnectionClosed):
            await asking

    asyncio.run(run())


LEFT_BEHIND = """
import asyncio, sys
sys.path.insert(0, sys.argv[1])
import ferry
async def main():
    f = await ferry.Ferry(bin=sys.argv[2]).start()
    f.send(b"x", name="n", channel="hold")
    print(f.pid)
    if sys.argv[3] == "keep":
        globals()["f"] = f
if sys.argv[3] == "close":
    loop = asyncio.new_event_loop(); loop.run_until_complete(main()); loop.close()
else:
    asyncio.run(main())
"""


@pytest.mark.parametrize("how", ["keep", "drop", "close"])
@pytest.mark.parametrize("words", ["", "ignore-eof ignore-term"])
def test_a_host_that_never_closes_leaves_neither_a_process_nor_noise(fake_program, how, words):
    package = Path(__file__).resolve().parents[1]
    host = subprocess.run(
        [sys.executable, "-c", LEFT_BEHIND, str(package), str(fake_program), how],
        env={**os.environ, "FAKE": words},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert host.stderr == ""
    assert gone(int(host.stdout))


def test_thirty_rounds_leave_nothing_open(fake):
    def descriptors():
        return len(os.listdir("/proc/self/fd"))

    async def run():
        async with ferry.Ferry(**fake()) as f:
            await f.send(b"x", name="n", channel="c")
            return f._process.pid

    asyncio.run(run())
    gc.collect()
    before, threads = descriptors(), threading.active_count()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pids = [asyncio.run(run()) for _ in range(30)]
    gc.collect()
    assert descriptors() <= before
    assert threading.active_count() <= threads
    assert all(gone(pid) for pid in pids)
