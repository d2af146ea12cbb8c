"""Batches through the client, on a real sidecar."""

from __future__ import annotations

import asyncio

import pytest

import ferry


def test_a_composer(real, tmp_path):
    (tmp_path / "photo.png").write_bytes(b"png")
    heard = []

    async def run():
        async with ferry.Ferry(**real()) as f, f.batch("room", concurrency=2) as batch:
            batch.on("uploaded", lambda e: heard.append(("all", e.file_id)))
            batch.on("complete", lambda e: heard.append(("all", "complete")))
            own = {
                "uploaded": lambda e: heard.append(("own", e.file_id)),
                "complete": lambda e: heard.append(("own", "complete")),
            }
            photo = batch.add("photo.png", file_id="p", on=own)
            note = batch.add(ferry.Text("a note"), name="note.txt")
            missing = batch.add("missing.png")
            done = await batch.complete()
            assert done.counts == {"successful": 2, "rejected": 1, "failed": 0}
            attachment = await photo
            assert (attachment.name, attachment.size, attachment.mime_type) == (
                "photo.png", 3, "image/png",
            )  # fmt: skip
            assert (await note).name == "note.txt"
            with pytest.raises(ferry.TransferRejected) as refused:
                await missing
            assert refused.value.code == "ERR_FILE_NOT_FOUND"
            assert await missing.remove()
            assert await batch.retry_failed() == 0
            sent = await batch.send(caption="look")
            assert [m.file_ids for m in sent.messages] == [("p",), (note.file_id,)]
            assert [a.type async for a in batch.attachments()] == ["image", "file"]
            entries = [entry async for entry in batch.entries()]
            assert [(e.file_id, e.sent) for e in entries] == [("p", True), (note.file_id, True)]
            with pytest.raises(ValueError, match="remove it first"):
                batch.add("photo.png", file_id="p")
            await batch.clear()
            with pytest.raises(ferry.FerryError) as gone:
                await batch.get()
            assert gone.value.code == "ERR_UNKNOWN_ID"

    asyncio.run(run())
    of_photo = [who for who, what in heard if what == "p"]
    assert of_photo == ["own", "all"]
    assert [who for who, what in heard if what == "complete"] == ["own", "all"]


def test_a_failed_file_is_retried_with_new_bytes_and_removed_ones_say_so(real, tmp_path):
    (tmp_path / "large.bin").write_bytes(bytes(4 << 20))

    async def run():
        async with ferry.Ferry(**real()) as f:
            await f.set_limits(upload_rate=1 << 20)
            async with f.batch(prefix="p", batch_id="b") as batch:
                file = batch.add("large.bin", file_id="1")
                started = asyncio.get_running_loop().create_future()
                file.on("started", started.set_result)
                await started
                assert await file.pause() == "paused"
                assert await file.resume() in ("queued", "running", "paused")
                assert await file.remove()
                with pytest.raises(ferry.FerryError, match="removed"):
                    await file
                assert (await batch.complete()).counts["successful"] == 0
                with pytest.raises(TypeError):
                    batch.add(iter([b"x"]), name="n")

    asyncio.run(run())


def test_a_batch_is_found_again(real, tmp_path):
    (tmp_path / "large.bin").write_bytes(bytes(4 << 20))

    async def first():
        async with ferry.Ferry(**real()) as f:
            await f.set_limits(upload_rate=1 << 20)
            batch = await f.batch("room", batch_id="b").start()
            moved = asyncio.get_running_loop().create_future()
            batch.on("started", lambda e: moved.done() or moved.set_result(e))
            batch.add("large.bin", file_id="1")
            await moved
            await f.close("now")

    async def second():
        async with ferry.Ferry(**real()) as f, f.batch("room", batch_id="b") as batch:
            [entry] = (await batch.get()).files
            assert (entry.file_id, entry.state) == ("1", "interrupted")
            assert await batch.retry_failed() == 1
            assert (await batch.complete()).counts["successful"] == 1
            assert (await batch.files["1"]).size == 4 << 20

    asyncio.run(first())
    asyncio.run(second())


def test_without_asyncio(real):
    with ferry.SyncFerry(**real()) as f, f.batch("room") as batch:
        note = {"source": ferry.Text("b"), "name": "b.txt", "file_id": "note"}
        *files, named = batch.add_all([ferry.Text("a"), note])
        assert (named.file_id, named.result().name) == ("note", "b.txt")
        with pytest.raises(ferry.TransferRejected):
            files[0].result()
        assert batch.complete().counts == {"successful": 1, "rejected": 1, "failed": 0}
        assert len(batch.send().messages) == 1
        assert [a.attachment.name for a in batch.attachments()] == ["b.txt"]
        batch.clear()


def test_what_is_added_together_has_each_its_own_options(fake, recorder):
    heard = []

    async def run():
        async with ferry.Ferry(**fake()) as f, f.batch("c") as batch:
            note = {
                "source": ferry.Text("a note"), "name": "note.txt", "content_type": "text/plain",
                "file_id": "n", "on": {"uploaded": lambda e: heard.append(("own", e.file_id))},
            }  # fmt: skip
            bytes_ = {"source": b"x", "name": "x.bin", "file_id": "x", "digest": "none"}
            on = {"uploaded": lambda e: heard.append(("all", e.file_id))}
            for file in batch.add_all([note, bytes_], on=on):
                await file
            with pytest.raises(TypeError):
                batch.add_all([{"source": b"x", "nmae": "x.bin"}])

    asyncio.run(run())
    [ask] = recorder.sent("batch/upload")
    assert ask["items"] == [
        {"fileId": "n", "text": "a note", "name": "note.txt", "contentType": "text/plain"},
        {"fileId": "x", "data": "eA==", "name": "x.bin", "digest": "none"},
    ]
    assert heard == [("own", "n"), ("all", "x")]


def test_a_file_is_tried_again_unasked(fake, recorder):
    async def run():
        async with ferry.Ferry(**fake()) as f, f.batch("fail-once", retries=1) as batch:
            heard = []
            for name in ("started", "failure", "uploaded", "complete"):
                batch.on(name, lambda event: heard.append(event.name))
            file = batch.add(ferry.Text("x"), name="n")
            done = await batch.complete()
            assert done.counts == {"successful": 1, "rejected": 0, "failed": 0}
            assert (await file).name == "n" and file.snapshot.attempt == 2
            assert heard == ["started", "failure", "started", "uploaded", "complete"]

    asyncio.run(run())
    assert recorder.sent("batch/create")[0]["retries"] == 1
    assert recorder.sent("batch/retry") == []


def test_none_takes_the_parent_away(fake, recorder):
    async def run():
        async with ferry.Ferry(**fake()) as f, f.batch("c", batch_id="b") as batch:
            for options in ({"retries": 2}, {"parent_message_id": None}):
                await batch.configure(**options)

    asyncio.run(run())
    asked = recorder.sent("batch/configure")
    assert asked == [{"batchId": "b", "retries": 2}, {"batchId": "b", "parentMessageId": None}]


def test_what_is_added_together_goes_in_one_call_as_far_as_it_fits_a_line(fake, recorder):
    async def run():
        async with ferry.Ferry(**fake()) as f, f.batch("c") as batch:
            for number in range(1001):
                batch.add(ferry.Text("x"), name=f"{number}")
            await batch.complete()
            for size in (1 << 20, 8 << 20, 5 << 20, 1):
                batch.add(bytes(size), name=f"{size}")
            assert (await batch.complete()).counts["successful"] == 1005

    asyncio.run(run())
    assert [len(ask["items"]) for ask in recorder.sent("batch/upload")] == [1000, 1, 1, 1, 2]


def test_a_batch_is_open_once_and_takes_nothing_after_its_end(fake):
    async def run():
        async with ferry.Ferry(**fake()) as f:
            batch = await f.batch("hold", batch_id="b").start()
            with pytest.raises(ValueError, match="open here already"):
                await f.batch("hold", batch_id="b").start()
            file = batch.add(ferry.Text("x"), name="n", file_id="1")
            removing = asyncio.ensure_future(file.remove())
            await asyncio.sleep(0)
            with pytest.raises(ValueError, match="wait for that"):
                batch.add(ferry.Text("x"), name="n", file_id="1")
            assert await removing
            await batch.clear()
            with pytest.raises(ferry.TransferCancelled, match="cleared"):
                batch.add(ferry.Text("x"), name="n")

    asyncio.run(run())


def test_a_file_that_is_cancelled_as_a_transfer_leaves_its_batch(fake):
    async def run():
        async with ferry.Ferry(**fake()) as f:
            batch = await f.batch("hold", batch_id="b").start()
            moved = asyncio.Event()
            told = {"progress": lambda _: moved.set()}
            moving = batch.add(ferry.Text("x"), name="x.txt", on=told)
            await moved.wait()
            assert await f.transfer_cancel(moving.snapshot.transfer_id) == "cancelled"
            with pytest.raises(ferry.TransferCancelled):
                await moving
            await batch.complete()
            assert batch.files == {}

    asyncio.run(run())
