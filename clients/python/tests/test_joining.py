"""Handles on transfers that go on, or have ended, without them: detached, attached, joined."""

from __future__ import annotations

import asyncio
import gc

import pytest

import ferry

ENDS = [
    ("c", ferry.Uploaded, None),
    ("reject", ferry.Rejected, ferry.TransferRejected),
    ("fail-once", ferry.Failure, ferry.TransferFailed),
    ("hold", ferry.Cancelled, ferry.TransferCancelled),
]
"""Channels of the fake with the event and the error their transfers end with."""


def send(f, channel, **options):
    return f.send(b"0123456789", name="n.txt", channel=channel, **options)


async def ended(f, channel, **options):
    """A transfer "t" that has ended."""
    handle = send(f, channel, transfer_id="t", **options)
    if channel == "hold":
        await handle.cancel()
    await asyncio.gather(handle, return_exceptions=True)


@pytest.mark.parametrize(("channel", "kind", "error"), ENDS)
def test_attaching_to_what_has_ended_tells_how(fake, channel, kind, error):
    async def run():
        async with ferry.Ferry(**fake()) as f:
            await ended(f, channel)
            handle = f.attach("t")
            heard = asyncio.get_running_loop().create_future()
            handle.on(kind.name, heard.set_result)
            events = handle.events()
            assert isinstance(await asyncio.wait_for(heard, 10), kind)
            assert isinstance(await events.__anext__(), kind)
            if error is None:
                result = await handle.result(timeout=10)
                assert isinstance(result, kind)
                assert result.file.name == "n.txt"
            else:
                with pytest.raises(error) as told:
                    await handle.result(timeout=10)
                assert told.value.data["transferId"] == "t"

    asyncio.run(run())


@pytest.mark.parametrize(("channel", "kind", "error"), ENDS)
def test_the_same_request_again_and_detached_settles_too(fake, channel, kind, error):
    async def run():
        async with ferry.Ferry(**fake()) as f:
            await ended(f, channel)
            again = send(f, channel, transfer_id="t", detach=True)
            if error is None:
                assert (await again.result(timeout=10)).name == "n.txt"
            else:
                with pytest.raises(error):
                    await again.result(timeout=10)

    asyncio.run(run())


@pytest.mark.parametrize("target", ["path", "temporary", "inline"])
def test_joining_a_finished_download_detached_gives_all_of_its_result(sidecar, tmp_path, target):
    options = {
        "path": {"to": tmp_path / "got.txt"},
        "temporary": {},
        "inline": {"inline": True},
    }[target]

    async def run():
        async with ferry.Ferry(**sidecar()) as f:
            await f.put(b"0123456789", "a/b")
            first = await f.get("a/b", transfer_id="g", **options)
            again = await f.get("a/b", transfer_id="g", detach=True, **options).result(timeout=10)
            assert again == first
            told = await f.attach("g").result(timeout=10)
            assert isinstance(told, ferry.Downloaded)
            assert told.size == 10

    asyncio.run(run())


def test_joining_a_finished_upload_detached_gives_its_result(sidecar):
    async def run():
        async with ferry.Ferry(**sidecar()) as f:
            sent = await send(f, "c", transfer_id="s")
            assert await send(f, "c", transfer_id="s", detach=True).result(timeout=10) == sent
            put = await f.put(b"x", "a/b", transfer_id="p")
            again = await f.put(b"x", "a/b", transfer_id="p", detach=True).result(timeout=10)
            assert again.metadata == put.metadata
            assert (await f.attach("p").result(timeout=10)).object.ref == "a/b"

    asyncio.run(run())


def test_attaching_to_nothing_is_an_error(sidecar):
    async def run():
        async with ferry.Ferry(**sidecar()) as f:
            handle = f.attach("none")
            with pytest.raises(ferry.FerryError) as unknown:
                await handle.result(timeout=10)
            assert unknown.value.code == "ERR_UNKNOWN_ID"
        with pytest.raises(ferry.ConnectionClosed):
            f.attach("none")

    asyncio.run(run())


def test_looking_after_an_ended_transfer_waits_out_an_overload(fake, recorder):
    async def run():
        async with ferry.Ferry(**fake("overload-once=transfer/get")) as f:
            await ended(f, "c")
            assert (await f.attach("t").result(timeout=10)).file.name == "n.txt"

    asyncio.run(run())
    assert len(recorder.sent("transfer/get")) == 2


def test_a_download_by_chunks_waits_out_an_overload(fake, recorder):
    async def run():
        async with ferry.Ferry(**fake("overload-once=stream/read")) as f:
            await f.put(b"0123456789", "x")
            handle = f.get("x", stream=True)
            assert [chunk async for chunk in handle.chunks(6)] == [b"012345", b"6789"]

    asyncio.run(run())
    assert len(recorder.sent("stream/read")) == 3


def test_failed_handles_are_found_by_their_transfer_and_forgotten_with_the_host(fake):
    async def run():
        async with ferry.Ferry(**fake()) as f:
            one, two = send(f, "fail-once", transfer_id="t"), f.attach("t")
            other = send(f, "fail-once")
            await asyncio.gather(one, two, other, return_exceptions=True)
            heard = {handle: [] for handle in (one, two, other)}
            for handle, names in heard.items():
                handle.off()
                for name in ("started", "uploaded"):
                    handle.on(name, names.append)
            await f.ping()
            for names in heard.values():
                names.clear()
            await f.transfer_retry("t")
            await f.ping()
            assert [[event.name for event in names] for names in heard.values()] == [
                ["started", "uploaded"], ["started", "uploaded"], [],
            ]  # fmt: skip
            assert set(f._router._failed) == {"t", other.transfer_id}
            del one, two, other, heard, handle, names
            gc.collect()
            assert dict(f._router._failed) == {}

    asyncio.run(run())


def test_an_event_that_comes_after_the_snapshot_told_of_it_is_not_told_twice(fake):
    async def run():
        async with ferry.Ferry(**fake()) as f:
            await ended(f, "fail-once")
            error = (await f.transfer("t")).error
            handle = f.attach("t")
            heard = []
            handle.on("failure", heard.append)
            with pytest.raises(ferry.TransferFailed):
                await handle.result(timeout=10)
            f._router.route("failure", {"seq": 99, "transferId": "t", "error": error})
            await f.ping()
            assert len(heard) == 1
            await handle.retry()
            assert (await handle.result(timeout=10)).file.name == "n.txt"

    asyncio.run(run())
