"""Kind s3 over kills and failures: what is kept, what is gone on with, and that nothing is left."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import batch_support as batches
import pytest
from files import MIB, content, parts, sha256, write_file
from s3 import S3Server
from s3.bucket import Object
from s3_support import Spawn, checked_server, serve
from sidecar import Sidecar


@pytest.fixture
def server() -> Iterator[S3Server]:
    yield from checked_server()


# Parts of uploads that nobody goes on with; the fixture looks for those that are left.


def fail_half_way(ferry: Sidecar, server: S3Server, transfer: str = "t") -> None:
    """Fails an upload, retryably, when the server has its first part."""
    write_file(ferry.work / "large", 20 * MIB)
    server.fault(
        query="partNumber=2", status=500, code="InternalError",
        before=lambda: server.wait_for(1, "PUT"),
    )  # fmt: skip
    error = ferry.error("object/put", ref="large", path="large", transferId=transfer)
    assert error.data["retryable"]
    assert len(server.bucket.uploads) == 1


def wait_removed(server: S3Server, count: int = 1) -> None:
    server.wait_for(count, "DELETE")
    assert server.bucket.uploads == {}


def end(ferry: Sidecar) -> None:
    ferry.close_stdin()
    ferry.wait_exit()


@pytest.mark.parametrize("isRestarted", [False, True])
def test_what_a_failed_upload_had_sent_goes_when_it_is_forgotten(
    spawn: Spawn, server: S3Server, isRestarted: bool
) -> None:
    ferry = serve(spawn, server, retries=0)
    fail_half_way(ferry, server)
    if isRestarted:
        end(ferry)
        ferry = serve(spawn, server)
    ferry.call("transfer/forget", transferId="t")
    wait_removed(server)


def test_what_a_failed_upload_had_sent_goes_when_later_ends_push_it_out(
    spawn: Spawn, server: S3Server
) -> None:
    ferry = serve(spawn, server, retries=0)
    fail_half_way(ferry, server)
    requests = [ferry.start("object/put", ref="k", text="x") for _ in range(1300)]
    for request in requests:
        ferry.result(request)
    assert ferry.error("transfer/get", transferId="t").code == "ERR_UNKNOWN_ID"
    wait_removed(server)


def test_what_a_failed_upload_had_sent_goes_when_nobody_has_retried_it_for_long(
    spawn: Spawn, server: S3Server
) -> None:
    ferry = serve(spawn, server, retries=0, abandonAfter="1h")
    fail_half_way(ferry, server)
    end(ferry)
    age(ferry, 7_200_000, "t")
    later = serve(spawn, server, abandonAfter="1h")
    assert later.call("transfer/get", transferId="t")["state"] == "failed"
    wait_removed(server)
    later.call("transfer/retry", transferId="t")
    later.event("uploaded", transferId="t")
    assert len(server.bucket.objects["large"].content) == 20 * MIB


@pytest.mark.parametrize("command", ["cancel", "forget"])
def test_parts_that_could_not_be_removed_are_removed_by_a_later_start(
    spawn: Spawn, server: S3Server, command: str
) -> None:
    ferry = serve(spawn, server, retries=0)
    if command == "forget":
        fail_half_way(ferry, server)
    else:
        arrived, hold = threading.Event(), threading.Event()
        server.fault(query="partNumber=2", before=arrived.set, gate=hold)
        write_file(ferry.work / "large", 20 * MIB)
        ferry.call("object/put", ref="large", path="large", transferId="t", detach=True)
        assert arrived.wait(30)
    server.fault(method="DELETE", times=2, status=503, code="SlowDown")
    ferry.call(f"transfer/{command}", transferId="t")
    if command == "cancel":
        ferry.event("cancelled", transferId="t")
        hold.set()
    end(ferry)
    assert len(server.bucket.uploads) == 1
    # The second is refused as well, and soon after that none is asked; none of them is a transfer
    # that anybody sees.
    for count, milliseconds in ((2, 0), (2, 30_000), (3, 60_000)):
        age(ferry, milliseconds)
        later = serve(spawn, server)
        page = later.call("transfer/list")["transfers"]
        assert [t["state"] for t in page] == (["cancelled"] if command == "cancel" else [])
        later.call("object/list")
        server.wait_for(count, "DELETE")
        end(later)
        assert len(server.lines("DELETE")) == count
    assert server.bucket.uploads == {}


def test_parts_that_may_not_be_removed_are_given_up_in_the_end(
    spawn: Spawn, server: S3Server
) -> None:
    ferry = serve(spawn, server, retries=0)
    fail_half_way(ferry, server)
    server.fault(method="DELETE", times=99, status=403, code="AccessDenied")
    ferry.call("transfer/forget", transferId="t")
    end(ferry)
    change(ferry, "attempt = 39")
    for count in (2, 3, 3):
        age(ferry, 86_400_000)
        later = serve(spawn, server)
        later.call("object/list")
        server.wait_for(count, "DELETE")
        end(later)
        assert len(server.lines("DELETE")) == count
    server.bucket.uploads.clear()


def test_parts_of_a_retry_that_is_rejected_are_removed_by_a_later_start(
    spawn: Spawn, server: S3Server
) -> None:
    ferry = serve(spawn, server, retries=0)
    fail_half_way(ferry, server)
    (ferry.work / "large").unlink()
    server.fault(method="DELETE", status=503, code="SlowDown")
    ferry.call("transfer/retry", transferId="t")
    error = ferry.event("error", transferId="t")["error"]["data"]
    assert error["code"] == "ERR_FILE_NOT_FOUND"
    end(ferry)
    assert len(server.lines("DELETE")) == len(server.bucket.uploads) == 1
    later = serve(spawn, server)
    assert later.call("transfer/get", transferId="t")["state"] == "rejected"
    wait_removed(server, 2)


def test_an_upload_that_nobody_goes_on_with_is_removed(spawn: Spawn, server: S3Server) -> None:
    asked, hold = threading.Semaphore(0), threading.Event()
    server.fault(
        method="PUT", query="partNumber=2", times=2, before=asked.release, gate=hold,
        drop_before=True,
    )  # fmt: skip
    first = serve(spawn, server)
    write_file(first.work / "large", 20 * MIB)
    for name in ("old", "young"):
        first.call("object/put", ref=name, path="large", transferId=name, detach=True)
    assert asked.acquire(timeout=30) and asked.acquire(timeout=30)
    first.kill()
    hold.set()
    assert len(server.bucket.uploads) == 2
    age(first, 8 * 86_400_000, "old")
    age(first, 6 * 86_400_000, "young")
    second = serve(spawn, server)
    assert second.call("transfer/get", transferId="young")["state"] == "interrupted"
    gone = second.event("cancelled", transferId="old")
    assert gone["error"]["data"]["code"] == "ERR_CANCELLED" and gone["resumable"] is False
    assert "abandonAfter" in gone["error"]["message"]
    assert [upload.key for upload in server.bucket.uploads.values()] == ["young"]
    second.call("transfer/cancel", transferId="young")
    second.event("cancelled", transferId="young")


def test_what_was_sent_of_a_file_of_a_batch_is_removed_too(spawn: Spawn, server: S3Server) -> None:
    asked, hold = threading.Event(), threading.Event()
    server.fault(query="partNumber=2", before=asked.set, gate=hold, drop_before=True)
    first = serve(spawn, server)
    digest = write_file(first.work / "large", 20 * MIB)
    batches.make(first, prefix="p")
    batches.upload(first, {"fileId": "f", "path": "large"})
    assert asked.wait(30)
    server.wait_for(2, "PUT")
    first.call("object/put", ref="other", text="x")  # its row is written down after the part's
    first.kill()
    hold.set()
    age(first, 8 * 86_400_000)
    second = serve(spawn, server)
    # The file itself stays in its batch, and begins anew.
    assert batches.states(second) == {"f": "interrupted"}
    wait_removed(server)
    second.call("batch/retry", batchId="b", fileId="f")
    second.event("uploaded", batchId="b", fileId="f")
    assert sha256(server.bucket.objects["p/large"].content) == digest


def test_after_a_kill_no_connection_sends_more_than_one_part_again(
    spawn: Spawn, server: S3Server
) -> None:
    # Where parts cannot be listed, only what was written down counts; long ETags make that long.
    take = server.bucket.part

    def take_with_long_etag(*args: Any) -> Object:
        part = take(*args)
        part.etag = f'"{part.etag[1:-1]}{"0" * 3000}"'
        return part

    server.bucket.part = take_with_long_etag  # type: ignore[method-assign]
    server.fault(method="GET", query="uploadId", status=403, code="AccessDenied")
    asked, hold = threading.Event(), threading.Event()
    server.fault(query="partNumber=18", before=asked.set, gate=hold, drop_before=True)
    first = serve(spawn, server, partSize="5 MiB")
    digest = write_file(first.work / "large", 100 * MIB)
    first.call("object/put", ref="large", path="large", transferId="t", detach=True)
    assert asked.wait(30)
    first.kill()
    hold.set()
    sent = {line for line in server.lines("PUT") if "partNumber=18&" not in line}
    server.requests.clear()
    later = serve(spawn, server, partSize="5 MiB")
    later.call("transfer/resume", transferId="t")
    later.event("uploaded", transferId="t")
    assert sha256(server.bucket.objects["large"].content) == digest
    assert len(sent & set(server.lines("PUT"))) <= 4


def test_a_part_that_only_the_server_knows_of_is_not_sent_again(
    spawn: Spawn, server: S3Server
) -> None:
    arrived, hold = threading.Event(), threading.Event()

    def arrive() -> None:
        server.wait_for(3, "PUT")
        arrived.set()

    server.fault(query="partNumber=2", drop_after=True)
    server.fault(query="partNumber=2", before=arrive, gate=hold, drop_before=True)
    first = serve(spawn, server)
    digest = write_file(first.work / "large", 20 * MIB)
    first.call("object/put", ref="large", path="large", transferId="t", detach=True)
    assert arrived.wait(30)
    first.kill()
    hold.set()
    server.wait_for(4, "PUT")
    later = serve(spawn, server)
    later.call("transfer/resume", transferId="t")
    later.event("uploaded", transferId="t")
    assert sha256(server.bucket.objects["large"].content) == digest
    assert len(server.lines("PUT")) == 4


@pytest.mark.parametrize("isKilled", [False, True])
def test_an_upload_whose_beginning_nobody_heard_of_is_removed(
    spawn: Spawn, server: S3Server, isKilled: bool
) -> None:
    asked, hold = threading.Event(), threading.Event()
    gate = {"before": asked.set, "gate": hold} if isKilled else {}
    server.fault(method="POST", query="uploads", drop_after=True, **gate)
    ferry = serve(spawn, server)
    digest = write_file(ferry.work / "large", 20 * MIB)
    # Of another, which it leaves alone.
    other = server.bucket.create("channels/c/files/other", {})
    ferry.call("file/send", channel="c", path="large", transferId="t", detach=True)
    if isKilled:
        assert asked.wait(30)
        ferry.kill()
        hold.set()
        server.wait_for(1, "POST")
        assert len(server.bucket.uploads) == 2
        ferry = serve(spawn, server)
        ferry.call("transfer/resume", transferId="t")
    ferry.event("uploaded", transferId="t")
    [stored] = [value for key, value in server.bucket.objects.items() if "/files/" in key]
    assert sha256(stored.content) == digest
    server.bucket.abort(other, "channels/c/files/other")


# Downloads whose process was killed right after the file had got its name.


@pytest.mark.parametrize("isTemporary", [False, True])
@pytest.mark.parametrize("there", ["the part", "the same content", "another file"])
def test_a_file_that_a_killed_process_had_put_in_place_is_the_result(
    spawn: Spawn, server: S3Server, there: str, isTemporary: bool
) -> None:
    data = content(9 * MIB)
    server.bucket.put("k", {}, data)
    if there == "the part":
        # Nothing but the file itself can tell.
        server.bucket.objects["k"].etag = '"no-digest"'
    arrived, hold = threading.Event(), threading.Event()
    server.fault(method="GET", skip=1, before=arrived.set, gate=hold, drop_before=True)
    first = serve(spawn, server)
    target = {} if isTemporary else {"target": "got"}
    first.call("object/get", ref="k", transferId="t", detach=True, **target)
    assert arrived.wait(30)
    first.call("object/put", ref="other", text="x")  # its row is written down after the part's
    first.kill()
    hold.set()
    server.wait_for(2, "GET")
    [name] = parts(first.home)
    part = first.home / name
    made = part.with_name(part.name[1 : -len(".0123456789.part")])
    if there == "the part":
        part.write_bytes(data)
        part.rename(made)
    else:
        part.unlink()
        made.write_bytes(data if there == "the same content" else content(9 * MIB, seed=2))
    server.requests.clear()
    later = serve(spawn, server)
    later.call("transfer/resume", transferId="t")
    if there == "another file" and not isTemporary:
        error = later.event("failure", transferId="t")["error"]["data"]
        assert error["code"] == "ERR_TARGET_EXISTS"
        return
    result = later.event("downloaded", transferId="t")
    assert result["sha256"] == sha256(data) == sha256(Path(result["path"]).read_bytes())
    assert result["size"] == len(data)
    assert (server.lines("GET") == []) == (there != "another file")
    assert parts(later.home) == []
    if isTemporary:
        later.call("transfer/forget", transferId="t")
        assert list(made.parent.iterdir()) == []


def test_a_download_that_is_not_hashed_goes_on_after_a_kill(spawn: Spawn, server: S3Server) -> None:
    data = content(20 * MIB)
    server.bucket.put("k", {}, data)
    arrived, hold = threading.Event(), threading.Event()
    server.fault(method="GET", skip=2, before=arrived.set, gate=hold, drop_before=True)
    first = serve(spawn, server)
    first.call("object/get", ref="k", target="got", transferId="t", digest="none", detach=True)
    assert arrived.wait(30)
    first.kill()
    hold.set()
    later = serve(spawn, server)
    later.call("transfer/resume", transferId="t")
    result = later.event("downloaded", transferId="t")
    assert result["size"] == len(data)
    assert "sha256" not in result
    assert sha256(Path(result["path"]).read_bytes()) == sha256(data)
    assert parts(later.home) == []


def age(ferry: Sidecar, milliseconds: int, transfer: str = "%") -> None:
    """Makes what dead processes know so much older, of all transfers or of one."""
    change(ferry, f"updated = updated - {milliseconds}", transfer)


def change(ferry: Sidecar, what: str, transfer: str = "%") -> None:
    """Changes what dead processes know of transfers."""
    for file in ferry.home.rglob("*.db"):
        with contextlib.closing(sqlite3.connect(file)) as database, database:
            tables = database.execute("SELECT name FROM sqlite_master WHERE name = 'transfer'")
            if tables.fetchone():
                database.execute(f"UPDATE transfer SET {what} WHERE id LIKE ?", (transfer,))
