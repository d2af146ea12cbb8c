"""Batches of many files, with faults and over restarts."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest
from batch_support import (
    Spawn,
    entries,
    make,
    states,
    stored,
    text,
    upload,
    wait_until_stored,
)
from durable import STATE
from files import MIB, content, write_file
from s3 import S3Server
from sidecar import Sidecar, few

# Many, and faults


@pytest.fixture
def server() -> Iterator[S3Server]:
    with S3Server() as running:
        yield running
        assert running.violations == []


def test_a_channel_of_a_bucket(spawn: Spawn, server: S3Server) -> None:
    ferry = on_s3(spawn, server)
    make(ferry)
    upload(ferry, text("1"), text("2"), text("3"))
    assert "timetoken" not in ferry.event("uploaded", fileId="1")["file"]
    assert ferry.event("complete")["counts"]["successful"] == 3
    assert ferry.call("channel/history", channel="room")["messages"] == []
    [message] = ferry.call("batch/send", batchId="b", fileIds=["2"], caption="c")["messages"]
    [told] = ferry.call("channel/history", channel="room")["messages"]
    assert (told["file"]["name"], told["message"]) == ("2.txt", {"text": "c"})
    assert ferry.call("message/get", messageId=message["id"])["file"]["name"] == "2.txt"
    ferry.call("batch/remove", batchId="b", fileId="1")
    ferry.call("batch/clear", batchId="b")
    wait_until_stored(ferry, ["2.txt"])


def test_pubnub(chat: Any) -> None:
    ferry = chat()
    make(ferry)
    upload(ferry, text("1"), text("2"))
    assert ferry.event("complete")["counts"]["successful"] == 2
    assert ferry.call("channel/history", channel="room")["messages"] == []
    sent = ferry.call("batch/send", batchId="b", fileIds=["1"], caption="c")["messages"]
    assert len(sent) == 1
    [told] = ferry.call("channel/history", channel="room")["messages"]
    assert (told["file"]["name"], told["message"]) == ("1.txt", {"text": "c"})
    ferry.call("batch/remove", batchId="b", fileId="2")
    wait_until_stored(ferry, ["1.txt"])


def on_s3(spawn: Spawn, server: S3Server, **limits: Any) -> Sidecar:
    ferry = spawn()
    remote = {
        "kind": "s3", "endpoint": server.endpoint, "bucket": server.bucket_name,
        "accessKeyId": "KEY", "secretAccessKey": "SECRET", "checksum": "md5", "provider": "aws",
        "addressing": "path", "retries": 0, "limits": limits,
    }  # fmt: skip
    ferry.call("initialize", config={"default": "store", "remotes": {"store": remote}})
    return ferry


def test_a_thousand_files_with_refusals_and_failures(spawn: Spawn, server: S3Server) -> None:
    count = few(1000)
    ferry = on_s3(spawn, server, maxFileCount=count, blockedTypes=["exe"])
    make(ferry, prefix="p", concurrency=4)
    refused = {str(n) for n in range(count) if n % 7 == 0}
    failing = {str(n) for n in range(count) if n % 11 == 0} - refused
    for name in failing:
        server.fault(method="PUT", key=f"p/{name}.txt", status=500, code="InternalError")
    for start in range(0, count, 250):
        upload(
            ferry,
            *(
                {"fileId": str(n), "text": str(n), "name": f"{n}.{'exe' if n % 7 == 0 else 'txt'}"}
                for n in range(start, min(count, start + 250))
            ),
        )
    while True:
        done = ferry.event("complete", timeout=120)
        if sum(done["counts"].values()) == count:
            break
    good = count - len(refused) - len(failing)
    assert done["counts"] == {"successful": good, "rejected": len(refused), "failed": len(failing)}
    assert {e["fileId"] for e in entries(ferry, state="failed", limit=1000)} == failing
    assert {e["fileId"] for e in entries(ferry, state="rejected", limit=1000)} == refused
    assert ferry.call("batch/retry", batchId="b") == {"retried": len(failing)}
    done = ferry.event("complete", timeout=120)
    assert done["counts"]["successful"] == count - len(refused)
    assert [e["fileId"] for e in entries(ferry, limit=1000)] == [str(n) for n in range(count)]


def test_trying_again_unasked(spawn: Spawn, server: S3Server) -> None:
    ferry = on_s3(spawn, server)
    make(ferry, prefix="p", retries=1)
    server.fault(method="PUT", key="p/1.txt", status=500, code="InternalError")
    server.fault(method="PUT", key="p/2.txt", times=2, status=500, code="InternalError")
    upload(ferry, text("1"), text("2"))
    done = ferry.event("complete")
    assert done["counts"] == {"successful": 1, "rejected": 0, "failed": 1}
    attempts = [m["params"]["attempt"] for m in ferry.received if m.get("method") == "started"]
    assert sorted(attempts) == [1, 1, 2, 2]


# Over restarts


def test_a_kill_in_the_middle(spawn: Spawn) -> None:
    first = spawn()
    make(first, concurrency=2)
    write_file(first.work / "large", 3 * MIB)
    upload(first, text("done"), {"fileId": "bad", "path": "missing"})
    first.event("complete")
    first.call("batch/send", batchId="b")
    upload(first, text("unsent"))
    first.event("complete")
    first.call("limits/set", uploadRate=2 * MIB)
    data = base64.b64encode(content(100_000)).decode()
    many = [{"fileId": f"q{n}", "data": data, "name": f"q{n}"} for n in range(50)]
    upload(first, {"fileId": "large", "path": "large"}, *many, text("small"))
    first.event("progress", fileId="large")
    first.kill()

    second = spawn()
    make(second, concurrency=2)
    queued = [f"q{n}" for n in range(50)]
    assert list(states(second)) == ["done", "bad", "unsent", "large", *queued, "small"]
    page = second.call("batch/get", batchId="b", state="interrupted", limit=1000)
    assert page["status"] == "idle"
    left = page["counts"]["interrupted"]
    assert left == len(page["files"]) >= 40
    sent = {e["fileId"]: e["sent"] for e in entries(second)}
    assert (sent["done"], sent["unsent"]) == (True, False)
    listed = second.call("transfer/list", batchId="b", state="interrupted", limit=1000)
    assert len(listed["transfers"]) == left
    assert second.call("batch/retry", batchId="b") == {"retried": left}
    done = second.event("complete", timeout=60)
    assert done["counts"] == {"successful": 54, "rejected": 1, "failed": 0}
    assert len(stored(second)) == 54, "nothing is stored twice"
    assert len(second.call("batch/send", batchId="b")["messages"]) == 53
    second.call("batch/clear", batchId="b")
    second.finish()

    third = spawn()
    assert third.error("batch/get", batchId="b").code == "ERR_UNKNOWN_ID"
    assert third.call("transfer/list")["transfers"] == []
    third.finish()
    spools = [p for p in (third.home / STATE / "journal").rglob("*.spool") if any(p.iterdir())]
    assert spools == []


def test_an_orderly_end_is_no_completion(spawn: Spawn) -> None:
    first = spawn()
    make(first)
    write_file(first.work / "large", 3 * MIB)
    first.call("limits/set", uploadRate=MIB)
    upload(first, {"fileId": "1", "path": "large"}, text("2"))
    first.event("started")
    first.call("shutdown", mode="now")
    for file_id in ("1", "2"):
        assert first.event("cancelled", fileId=file_id)["resumable"] is True
    first.notify("exit")
    first.finish()
    assert not [m for m in first.received if m.get("method") == "complete"]
    second = spawn()
    assert states(second) == {"1": "interrupted", "2": "interrupted"}
    second.call("batch/retry", batchId="b", fileId="2")
    assert second.event("complete")["counts"] == {"successful": 1, "rejected": 0, "failed": 0}
    assert states(second) == {"1": "interrupted", "2": "succeeded"}
