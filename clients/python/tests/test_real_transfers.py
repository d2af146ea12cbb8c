"""Pausing, cancelling and losing real transfers: the real program, slowed down by its own limit."""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal

import pytest

import ferry

MIB = 1 << 20
CONTENT = os.urandom(6 * MIB)


@pytest.fixture
def slow(real, tmp_path):
    """A client whose uploads take seconds, and a file to send."""
    (tmp_path / "large.bin").write_bytes(CONTENT)

    class Slow(ferry.Ferry):
        async def start(self):
            await super().start()
            await self.set_limits(upload_rate=3 * MIB)
            return self

    return lambda **options: Slow(**real(**options))


async def moving(handle, past=0):
    async for event in handle.events():
        if isinstance(event, ferry.Progress) and past < event.loaded < event.total:
            return event
    raise AssertionError("it ended before it moved")


def test_a_paused_upload_holds_still_and_a_resumed_one_is_whole(slow):
    async def run():
        async with slow() as f:
            handle = f.put("large.bin", "large")
            await moving(handle)
            paused = asyncio.get_running_loop().create_future()
            handle.on("paused", paused.set_result)
            await handle.pause()
            held = (await paused).loaded
            assert 0 < held < len(CONTENT)
            assert (await f.transfer(handle.transfer_id)).state == "paused"
            assert await handle.resume() in ("queued", "running")
            stored = await handle
            assert stored.metadata.sha256 == hashlib.sha256(CONTENT).hexdigest()

    asyncio.run(run())


@pytest.mark.parametrize("how", ["cancel", "task", "timeout"])
def test_a_cancelled_upload_leaves_nothing(slow, how):
    async def run():
        async with slow() as f:
            handle = f.put("large.bin", "large", timeout=0.4 if how == "timeout" else None)
            task = asyncio.ensure_future(handle.result())
            await moving(handle)
            if how == "cancel":
                await handle.cancel()
            elif how == "task":
                task.cancel()
            await asyncio.wait([task])
            kind = ferry.RequestTimeout if how == "timeout" else ferry.TransferCancelled
            with pytest.raises(kind):
                await handle
            with pytest.raises(ferry.FerryError) as missing:
                await f.metadata("large")
            assert missing.value.code == "ERR_NOT_FOUND"
            assert (await f.transfer(handle.transfer_id)).state == "cancelled"

    asyncio.run(run())


def test_a_killed_sidecar_is_told_to_the_handle(slow):
    async def run():
        async with slow() as f:
            handle = f.put("large.bin", "large")
            await moving(handle)
            os.kill(f.pid, signal.SIGKILL)
            with pytest.raises(ferry.ProcessDied) as died:
                await handle
            assert (died.value.signal, died.value.returncode) == ("SIGKILL", -9)

    asyncio.run(run())


def test_leaving_by_an_exception_cancels_and_leaving_quietly_finishes(slow):
    async def run():
        async with slow() as f:
            handle = f.put("large.bin", "finished")
            await moving(handle)
        assert (await handle).metadata.size == len(CONTENT)
        with pytest.raises(KeyError):
            async with slow() as f:
                lost = f.put("large.bin", "lost")
                await moving(lost)
                raise KeyError("the host's own")
        with pytest.raises(ferry.TransferCancelled):
            await lost

    asyncio.run(run())


@pytest.mark.parametrize("how", ["the same request", "attached and resumed"])
def test_what_a_shutdown_left_goes_on_in_the_next_process(slow, how):
    async def run():
        async with slow(state_key="one") as f:
            handle = f.put("large.bin", "large", transfer_id="mine")
            # At the rate of `slow`, no attempt that begins at nothing tells of so much at first.
            held = (await moving(handle, past=2 * MIB)).loaded
            events = handle.events()
            await f.close("now")
            cancelled = [event async for event in ending(events)][-1]
            assert isinstance(cancelled, ferry.Cancelled)
            assert cancelled.resumable
            with pytest.raises(ferry.TransferCancelled) as left:
                await handle
            assert left.value.resumable
            assert left.value.data["resumable"] is True
        async with slow(state_key="one") as f:
            assert [left.transfer_id async for left in f.transfers(state="interrupted")] == ["mine"]
            if how == "the same request":
                handle = f.put("large.bin", "large", transfer_id="mine")
            else:
                handle = f.attach("mine")
                await handle.resume()
            first = await moving(handle)
            assert (first.attempt, first.loaded >= held) == (2, True)
            await handle
            stored = await f.metadata("large")
            assert stored.sha256 == hashlib.sha256(CONTENT).hexdigest()

    asyncio.run(run())


async def ending(events):
    """Events until an unhappy end."""
    try:
        async for event in events:
            yield event
    except ferry.TransferError:
        return


def test_what_this_host_cancelled_is_not_resumable(slow):
    async def run():
        async with slow() as f:
            handle = f.put("large.bin", "large")
            await moving(handle)
            await handle.cancel()
            with pytest.raises(ferry.TransferCancelled) as cancelled:
                await handle
            assert not cancelled.value.resumable

    asyncio.run(run())


def test_inline_content_over_the_line_says_where_to_go_instead(real):
    content = os.urandom(13 * MIB)

    async def run():
        async with ferry.Ferry(**real()) as f:
            await f.put(content, "large")
            with pytest.raises(ferry.TransferError) as refused:
                await f.get("large", inline=True)
            assert refused.value.code == "ERR_DOWNLOAD_SIZE_EXCEEDED"
            assert "use a path, a temporary file or a stream" in refused.value.message

    asyncio.run(run())


async def endless():
    await asyncio.Event().wait()
    yield b""


def test_a_detached_transfer_is_cancelled_although_its_request_may_be_answered(real):
    async def run():
        async with ferry.Ferry(**real()) as f:
            handle = f.put(endless(), "s", detach=True)
            task = asyncio.ensure_future(handle.result())
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            with pytest.raises(ferry.TransferCancelled):
                await handle.result(timeout=10)
            assert (await f.transfer(handle.transfer_id)).state == "cancelled"

    asyncio.run(run())
