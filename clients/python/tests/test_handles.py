"""Handles: events, observers, pause, retry, cancellation, slow and many consumers."""

from __future__ import annotations

import asyncio
import tracemalloc

import pytest

import ferry


def names(events):
    return [event.name for event in events]


async def until(handle, kind):
    """Waits for an event of a kind, without a tie to the transfer."""
    async for event in handle.events():
        if isinstance(event, kind):
            return event
    raise AssertionError(f"ended without {kind.__name__}")


def send(f, channel, **options):
    return f.send(b"0123456789", name="n.txt", channel=channel, **options)


def test_pausing_and_resuming_are_told_and_the_result_comes_once(fake):
    async def run():
        async with ferry.Ferry(**fake()) as f:
            handle = send(f, "hold")
            await until(handle, ferry.Progress)
            assert handle.snapshot.loaded == 5
            assert handle.snapshot.percent == 50
            assert await handle.pause() == "paused"
            assert await handle.pause() == "paused"
            assert handle.snapshot.state == "paused"
            everything = handle.events()
            assert await handle.resume() == "running"
            assert (await handle).size == 10
            seen = names([event async for event in everything])
            assert seen == ["started", "progress", "paused", "resumed", "progress", "uploaded"]
            assert handle.snapshot.state == "succeeded"

    asyncio.run(run())


@pytest.mark.parametrize("iterating", [False, True], ids=["awaiting", "iterating"])
def test_cancelling_the_task_that_waits_cancels_the_transfer(fake, recorder, iterating):
    async def run():
        async with ferry.Ferry(**fake()) as f:
            handle = send(f, "hold")

            async def wait():
                if iterating:
                    async for _ in handle:
                        pass
                await handle

            task = asyncio.ensure_future(wait())
            await until(handle, ferry.Progress)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            with pytest.raises(ferry.TransferCancelled):
                await handle
            assert handle.snapshot.state == "cancelled"
            await f.ping()

    asyncio.run(run())
    assert len(recorder.sent("$/cancelRequest")) == 1


def test_cancelling_one_of_two_waiting_tasks_lets_the_transfer_go_on(fake, recorder):
    async def run():
        async with ferry.Ferry(**fake()) as f:
            handle = send(f, "hold")
            one = asyncio.ensure_future(handle.result())
            two = asyncio.ensure_future(handle.result())
            await until(handle, ferry.Progress)
            one.cancel()
            await asyncio.wait([one])
            await handle.pause()
            await handle.resume()
            assert (await two).size == 10

    asyncio.run(run())
    assert recorder.sent("$/cancelRequest") == []


def test_a_timeout_cancels_the_transfer_and_its_reply_is_consumed(fake, recorder):
    async def run():
        async with ferry.Ferry(**fake()) as f:
            handle = send(f, "hold", timeout=0.05)
            with pytest.raises(ferry.RequestTimeout):
                await handle
            with pytest.raises(asyncio.TimeoutError):
                await handle
            await f.ping()
            assert f._calls == {}

    asyncio.run(run())
    assert len(recorder.sent("$/cancelRequest")) == 1


def test_waiting_with_a_limit_leaves_the_transfer_alone(fake):
    async def run():
        async with ferry.Ferry(**fake()) as f:
            handle = send(f, "hold")
            with pytest.raises(ferry.RequestTimeout):
                await handle.result(timeout=0.01)
            await until(handle, ferry.Progress)
            await handle.pause()
            await handle.resume()
            assert (await handle.result(timeout=10)).size == 10

    asyncio.run(run())


def test_a_rejected_transfer_is_told_from_a_failed_one(fake):
    async def run():
        async with ferry.Ferry(**fake()) as f:
            rejected, failed = send(f, "reject"), send(f, "fail-once")
            with pytest.raises(ferry.TransferRejected) as refused:
                await rejected
            with pytest.raises(ferry.TransferFailed) as broken:
                await failed
            assert (refused.value.code, refused.value.retryable) == (
                "ERR_FILE_TYPE_BLOCKED", False,
            )  # fmt: skip
            assert (broken.value.code, broken.value.retryable) == ("ERR_NETWORK", True)
            assert broken.value.data["phase"] == "upload"
            assert "ERR_NETWORK" in str(broken.value)
            assert await rejected.retry() == "rejected"

    asyncio.run(run())


def test_a_retry_is_awaited_and_iterated_anew_and_keeps_its_observers(fake):
    async def run():
        async with ferry.Ferry(**fake()) as f:
            handle = send(f, "fail-once")
            heard = []
            for name in ("started", "failure", "uploaded"):
                handle.on(name, heard.append)
            seen = []
            with pytest.raises(ferry.TransferFailed):
                async for event in handle:
                    seen.append(event)
            assert names(seen) == ["started", "progress", "failure"]
            with pytest.raises(ferry.TransferFailed):
                await handle
            assert await handle.retry() == "queued"
            again = [event async for event in handle]
            assert names(again) == ["started", "progress", "uploaded"]
            assert again[0].attempt == 2
            assert (await handle).name == "n.txt"
            assert names(heard) == ["started", "failure", "started", "uploaded"]

    asyncio.run(run())


def test_a_retry_out_of_the_loop_over_events_is_one_of_the_attempt_that_failed(fake):
    async def run():
        async with ferry.Ferry(**fake()) as f:
            handle = send(f, "fail-once")
            async for event in handle:
                if isinstance(event, ferry.Failure):
                    assert await handle.retry() == "queued"
                    break
            assert (await handle).name == "n.txt"

    asyncio.run(run())


def test_observers_are_removed_singly_by_event_and_all(fake):
    async def run():
        async with ferry.Ferry(**fake()) as f:
            handle = send(f, "hold")
            heard = []
            first = handle.on("progress", lambda event: heard.append("first"))
            handle.on("progress", lambda event: heard.append("second"))
            handle.on("paused", lambda event: heard.append("paused"))
            handle.on("resumed", lambda event: heard.append("resumed"))
            handle.on("uploaded", lambda event: heard.append("uploaded"))
            await until(handle, ferry.Progress)
            await f.ping()
            assert heard == ["first", "second"]
            first.remove()
            first.remove()
            await handle.pause()
            handle.off("resumed")
            await handle.resume()
            await handle
            await f.ping()
            assert heard == ["first", "second", "paused", "second", "uploaded"]

            late = asyncio.get_running_loop().create_future()
            handle.on("uploaded", late.set_result)
            assert (await late).file.name == "n.txt"
            other = send(f, "c")
            other.on("uploaded", lambda event: heard.append("never"))
            other.off()
            await other
            await f.ping()
            assert "never" not in heard
            with pytest.raises(ValueError, match="there are started"):
                handle.on("upladed", print)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("channel", "left"), [("c", 0), ("reject", 0), ("cancelled", 0), ("fail-once", 1)]
)
def test_observers_are_dropped_at_the_end_and_kept_over_a_failure(fake, channel, left):
    async def run():
        async with ferry.Ferry(**fake()) as f:
            handle = send(f, "hold" if channel == "cancelled" else channel)
            handle.on("started", lambda event: None)
            if channel == "cancelled":
                await handle.cancel()
            await asyncio.gather(handle, return_exceptions=True)
            assert len(handle._observers) == left

    asyncio.run(run())


def test_an_observer_that_raises_is_reported_and_holds_up_nothing(fake):
    async def run():
        reports = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, c: reports.append(c))
        async with ferry.Ferry(**fake()) as f:
            handle = send(f, "c")
            handle.on("started", lambda event: 1 / 0)
            assert (await handle).size == 10
        assert [type(report["exception"]) for report in reports] == [ZeroDivisionError]

    asyncio.run(run())


def test_a_slow_consumer_sees_the_latest_progress_and_every_turn(fake):
    """10,000 events while nobody reads: the memory they take does not depend on their number."""

    async def run():
        async with ferry.Ferry(**fake(checked=False)) as f:
            await send(f, "c")
            handle = send(f, "flood")
            iterators = [handle.events() for _ in range(5)]
            tracemalloc.start()
            try:
                await handle
                held, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            for iterator in iterators:
                seen = [event async for event in iterator]
                assert names(seen) == ["started", "progress", "uploaded"]
                assert seen[1].loaded == 10
            assert peak < 2 << 20, f"{peak} bytes"
            assert held < 1 << 20, f"{held} bytes"

    asyncio.run(run())


def test_a_handle_nobody_keeps_still_calls_its_observers(fake):
    async def run():
        async with ferry.Ferry(**fake()) as f:
            done = asyncio.get_running_loop().create_future()
            send(f, "c").on("uploaded", done.set_result)
            assert (await done).file.name == "n.txt"
            await f.ping()
            assert f._router._active == {}

    asyncio.run(run())


def test_a_chosen_id_is_sent_and_a_handle_can_be_attached(fake):
    async def run():
        async with ferry.Ferry(**fake()) as f:
            handle = send(f, "hold", transfer_id="mine")
            other = f.attach("mine")
            await until(handle, ferry.Progress)
            assert (await f.transfer_get("mine")).state == "running"
            assert await f.transfer_cancel("mine") == "cancelled"
            for waiting in (handle, other):
                with pytest.raises(ferry.TransferCancelled):
                    await waiting

    asyncio.run(run())


def test_overload_while_streaming_is_waited_out(fake, recorder):
    async def run():
        async with ferry.Ferry(**fake("overload-once=stream/write")) as f:
            put = await f.put(iter([b"a", b"b"]), "x")
            assert put.metadata.size == 2

    asyncio.run(run())
    assert len(recorder.sent("stream/write")) == 3


def test_bytes_the_sidecar_refuses_end_the_transfer_with_its_reason(fake):
    async def run():
        async with ferry.Ferry(**fake()) as f:
            with pytest.raises(ferry.FerryError) as full:
                await f.send(iter([b"a"]), name="n", channel="full")
            assert full.value.code == "ERR_DISK_FULL"

    asyncio.run(run())


@pytest.mark.parametrize(
    "source", [3, None, ["text"]], ids=["a number", "nothing", "chunks that are text"]
)
def test_what_is_no_source_is_a_type_error(fake, source):
    async def run():
        async with ferry.Ferry(**fake()) as f:
            with pytest.raises(TypeError):
                await f.put(source, "x")

    asyncio.run(run())
