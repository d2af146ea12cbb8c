"""What a host does every day, on the fake and on the real program."""

from __future__ import annotations

import asyncio
import hashlib
import io
import os
from pathlib import Path

import pytest

import ferry

CONTENT = bytes(range(256)) * 4096


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "phöto \u2028.jpg"
    path.write_bytes(CONTENT)
    return path


def test_a_file_is_sent_listed_found_downloaded_and_deleted(sidecar, photo, tmp_path):
    async def run():
        async with ferry.Ferry(**sidecar()) as f:
            async with f.subscribe("trip") as messages:
                handle = f.send(photo, channel="trip", message={"text": "a\u2028b"}, meta={"n": 1})
                events = [event async for event in handle]
                sent = await handle
                message = await messages.next(timeout=10)
            assert isinstance(events[0], ferry.Started)
            assert isinstance(events[-1], ferry.Uploaded)
            assert events[-1].file.id == sent.id
            progress = [event for event in events if isinstance(event, ferry.Progress)]
            assert not progress or progress[-1].percent == 100
            assert (sent.name, sent.size) == (photo.name, len(CONTENT))
            assert sent.sha256 == hashlib.sha256(CONTENT).hexdigest()
            assert sent.transfer_id == handle.transfer_id
            assert message.file.id == sent.id
            assert message.message == {"text": "a\u2028b"}
            assert message.timetoken == sent.timetoken

            listed = [file async for file in f.files("trip", limit=1)]
            assert [file.id for file in listed] == [sent.id]
            page = await f.files("trip")
            assert (page.count, page.next) == (1, None)
            assert (await f.file_url("trip", sent.id, sent.name)).startswith("file:///")
            target = tmp_path / "copy.jpg"
            got = await f.download("trip", sent.id, sent.name, to=target)
            assert (got.path, got.temporary) == (str(target), False)
            assert target.read_bytes() == CONTENT
            with pytest.raises(ferry.TransferError) as refused:
                await f.download("trip", sent.id, sent.name, to=target)
            assert refused.value.code == "ERR_TARGET_EXISTS"
            inline = await f.download("trip", sent.id, sent.name, inline=True)
            assert inline.data == CONTENT
            temporary = await f.download("trip", sent.id, sent.name)
            assert temporary.temporary
            assert Path(temporary.path).read_bytes() == CONTENT
            await f.transfer_forget(temporary.transfer_id)

            again = await f.publish("trip", sent.id, sent.name, message="again")
            history = await f.history("trip")
            assert [m.timetoken for m in history.messages] == [sent.timetoken, again.timetoken]
            one = await f.message(f"trip:{again.timetoken}")
            assert one.message == "again"
            await f.delete_message(f"trip:{again.timetoken}")
            assert len([m async for m in f.history("trip", limit=1)]) == 1
            await f.delete_file("trip", sent.id, sent.name)
            assert [file async for file in f.files("trip")] == []

    asyncio.run(run())


def test_an_object_is_put_described_changed_listed_read_and_deleted(sidecar):
    async def run():
        async with ferry.Ferry(**sidecar()) as f:
            metadata = {"custom": {"a": "b"}}
            put = await f.put(CONTENT, "a/b.bin", metadata=metadata, content_type="image/png")
            assert put.metadata.size == len(CONTENT)
            known = await f.metadata("a/b.bin")
            assert (known.full_path, known.custom, known.content_type) == (
                "a/b.bin", {"a": "b"}, "image/png",
            )  # fmt: skip
            changed = await f.update("a/b.bin", {"contentType": "image/gif"})
            assert changed.content_type == "image/gif"
            await f.put(ferry.Text("näh"), "a/c.txt")
            assert [item.ref async for item in f.list("a", limit=1)] == ["a/b.bin", "a/c.txt"]
            text = await f.get("a/c.txt", inline=True)
            assert text.data.decode() == "näh"
            assert text.metadata.name == "c.txt"
            part = await f.get("a/b.bin", inline=True, range=(1, 3))
            assert part.data == CONTENT[1:4]
            assert (await f.url("a/b.bin")).url.startswith("file:///")
            where = await f.resolve("a", "b.bin")
            assert (where.full_path, where.name, where.parent) == ("a/b.bin", "b.bin", "a")
            await f.delete("a/b.bin")
            with pytest.raises(ferry.FerryError) as missing:
                await f.metadata("a/b.bin")
            assert (missing.value.code, missing.value.retryable) == ("ERR_NOT_FOUND", False)

    asyncio.run(run())


async def slowly(*chunks):
    for chunk in chunks:
        await asyncio.sleep(0)
        yield chunk


@pytest.mark.parametrize(
    "source",
    [
        lambda: slowly(CONTENT[:5], b"", CONTENT[5:]),
        lambda: iter([CONTENT[:700_000], bytearray(CONTENT[700_000:])]),
        lambda: io.BytesIO(CONTENT),
        lambda: ferry.Stream(iter([CONTENT]), len(CONTENT)),
    ],
    ids=["async iterator", "iterator", "file", "stream with a size"],
)
def test_a_stream_goes_up_and_comes_down(sidecar, source):
    async def run():
        async with ferry.Ferry(**sidecar()) as f:
            put = await f.put(source(), "streamed")
            assert put.metadata.size == len(CONTENT)
            handle = f.get("streamed", stream=True)
            parts = [chunk async for chunk in handle.chunks(100_000)]
            assert all(0 < len(part) <= 100_000 for part in parts)
            assert b"".join(parts) == CONTENT
            assert (await handle).sha256 == hashlib.sha256(CONTENT).hexdigest()

    asyncio.run(run())


def test_content_in_memory_too_large_for_a_line_goes_as_a_stream(sidecar, recorder):
    content = os.urandom(9 << 20)

    async def run():
        async with ferry.Ferry(**sidecar()) as f:
            put = await f.put(content, "large")
            assert put.metadata.sha256 == hashlib.sha256(content).hexdigest()

    asyncio.run(run())
    assert recorder.sent("object/put")[0]["stream"] == {"size": len(content)}


def test_leaving_a_stream_early_cancels_the_download(sidecar):
    async def run():
        async with ferry.Ferry(**sidecar()) as f:
            await f.put(CONTENT, "streamed")
            handle = f.get("streamed", stream=True)
            chunks = handle.chunks(1000)
            assert await chunks.__anext__() == CONTENT[:1000]
            await chunks.aclose()
            with pytest.raises(ferry.TransferCancelled):
                await handle
            assert handle.snapshot.state == "cancelled"

    asyncio.run(run())


def test_a_stream_of_another_size_fails(sidecar):
    async def run():
        async with ferry.Ferry(**sidecar()) as f:
            with pytest.raises(ferry.TransferError) as short:
                await f.put(ferry.Stream(iter([b"four"]), 5), "short")
            assert short.value.code == "ERR_FILE_CHANGED"

    asyncio.run(run())


def test_a_source_that_raises_cancels_the_upload_and_is_what_the_host_hears(sidecar):
    async def broken():
        yield b"x"
        raise KeyError("the camera is gone")

    async def run():
        async with ferry.Ferry(**sidecar()) as f:
            handle = f.put(broken(), "broken")
            with pytest.raises(KeyError, match="camera"):
                await handle
            with pytest.raises(ferry.FerryError):
                await f.metadata("broken")

    asyncio.run(run())


def test_a_missing_file_is_rejected(sidecar):
    async def run():
        async with ferry.Ferry(**sidecar()) as f:
            handle = f.send("there-is-none.txt", channel="c")
            with pytest.raises(ferry.TransferRejected) as rejected:
                await handle
            assert rejected.value.code == "ERR_FILE_NOT_FOUND"
            assert handle.snapshot.state == "rejected"
            seen = []
            with pytest.raises(ferry.TransferRejected):
                async for event in handle:
                    seen.append(type(event))
            assert seen == [ferry.Rejected]

    asyncio.run(run())


def test_a_detached_transfer_settles_by_its_event(sidecar):
    async def run():
        async with ferry.Ferry(**sidecar()) as f:
            sent = await f.send(b"hello", name="hello.txt", channel="c", detach=True)
            assert (sent.name, sent.size) == ("hello.txt", 5)
            got = await f.download("c", sent.id, sent.name, inline=True)
            assert got.data == b"hello"
            transfer = await f.transfer(sent.transfer_id)
            assert transfer.state == "succeeded"
            assert sent.transfer_id in [t.transfer_id async for t in f.transfers()]

    asyncio.run(run())


def test_limits_statistics_and_the_schema_are_there(sidecar):
    async def run():
        async with ferry.Ferry(**sidecar()) as f:
            await f.ping()
            changed = await f.set_limits(concurrency=2, upload_rate=1 << 30)
            assert (changed.concurrency, changed.upload_rate) == (2, 1 << 30)
            assert (await f.set_limits(upload_rate=None)).upload_rate is None
            assert (await f.limits()).concurrency == 2
            assert (await f.stats())["transfers"]["running"] == 0
            assert (await f.discover())["openrpc"].startswith("1.")
            assert f.info.remotes[0].name == "local"

    asyncio.run(run())
