"""Batches: who comes in, who moves, who is taken out, and what is sent."""

from __future__ import annotations

from pathlib import Path

import pytest
from batch_support import (
    Spawn,
    attachments,
    close,
    entries,
    limited,
    make,
    states,
    stored,
    stream,
    text,
    upload,
    wait_until_stored,
)
from durable import STORE
from files import MIB, write_file
from sidecar import Sidecar, few

# Who comes in


def test_the_reply_precedes_the_events_and_complete_follows_them(ferry: Sidecar) -> None:
    make(ferry)
    upload(ferry, text("1"), text("2"))
    done = ferry.event("complete")
    assert done["counts"] == {"successful": 2, "rejected": 0, "failed": 0}
    assert [f["fileId"] for f in done["successful"]] == ["1", "2"]
    kinds = [m.get("method", "reply") for m in ferry.received]
    assert kinds[1:] == ["reply", "started", "uploaded", "started", "uploaded", "complete"]
    for message in ferry.received[2:-1]:
        assert message["params"]["batchId"] == "b"
        assert message["params"]["fileId"] in ("1", "2")


def test_a_live_id_is_refused_and_ends_nothing(ferry: Sidecar) -> None:
    make(ferry)
    transfer = stream(ferry, "1")
    upload(ferry, text("1"), text("2"), text("2"))
    for file_id in ("1", "2"):
        told = ferry.event("error", fileId=file_id)
        assert told["duplicate"] is True
        assert "transferId" not in told
        assert told["error"]["data"]["code"] == "ERR_INVALID_FILE_OBJECT"
    assert ferry.call("transfer/get", transferId=transfer)["state"] == "running"
    close(ferry, transfer)
    done = ferry.event("complete")
    assert done["counts"] == {"successful": 2, "rejected": 0, "failed": 0}
    upload(ferry, text("1"))
    assert ferry.event("error")["duplicate"] is True
    assert ferry.event("complete")["counts"] == done["counts"]


def test_the_order_of_refusals(spawn: Spawn) -> None:
    ferry = limited(spawn, maxFileCount=2, maxFileSize=10, blockedTypes=["exe"])
    make(ferry)
    (ferry.work / "dir").mkdir()
    upload(
        ferry,
        {"fileId": "gone", "path": "gone.exe"},
        {"fileId": "dir", "path": "dir"},
        {"fileId": "nameless", "text": "x"},
        {"fileId": "type", "text": "x" * 11, "name": "a.exe"},
        text("big", "x" * 11),
        text("1", "x" * 10),
        text("2"),
        text("3", "x" * 11),
        {"fileId": "late type", "text": "x", "name": "b.exe"},
    )
    done = ferry.event("complete")
    assert {f["fileId"]: f["error"]["data"]["code"] for f in done["rejected"]} == {
        "gone": "ERR_FILE_NOT_FOUND",
        "dir": "ERR_INVALID_FILE_OBJECT",
        "nameless": "ERR_INVALID_FILE_OBJECT",
        "type": "ERR_FILE_TYPE_BLOCKED",
        "big": "ERR_FILE_SIZE_EXCEEDED",
        "3": "ERR_FILE_COUNT_EXCEEDED",
        "late type": "ERR_FILE_TYPE_BLOCKED",
    }
    assert done["counts"] == {"successful": 2, "rejected": 7, "failed": 0}
    assert ferry.call("batch/remove", batchId="b", fileId="big") == {"removed": True}
    upload(ferry, text("4"))
    assert ferry.event("error", fileId="4")["error"]["data"]["code"] == "ERR_FILE_COUNT_EXCEEDED"
    ferry.call("batch/remove", batchId="b", fileId="1")
    upload(ferry, text("5"))
    ferry.event("uploaded", fileId="5")


def test_failed_files_hold_a_place_and_are_retried_by_their_id(spawn: Spawn) -> None:
    ferry = limited(spawn, maxFileCount=2)
    make(ferry)
    close(ferry, stream(ferry, "1", size=2))
    assert ferry.event("failure")["error"]["data"]["code"] == "ERR_FILE_CHANGED"
    assert ferry.event("complete")["counts"]["failed"] == 1
    upload(ferry, text("2"), text("3"))
    assert ferry.event("error", fileId="3")["error"]["data"]["code"] == "ERR_FILE_COUNT_EXCEEDED"
    ferry.event("complete")
    upload(ferry, text("1", "new bytes"))
    assert ferry.event("started", fileId="1")["attempt"] == 1
    done = ferry.event("complete")
    assert [f["fileId"] for f in done["successful"]] == ["1", "2"], "it keeps its place"
    assert done["successful"][0]["attachment"]["size"] == 9
    assert done["counts"] == {"successful": 2, "rejected": 1, "failed": 0}


def test_an_item_without_id_refuses_the_call(ferry: Sidecar) -> None:
    make(ferry)
    error = ferry.error("batch/upload", batchId="b", items=[text("1"), {"text": "x", "name": "n"}])
    assert (error.number, error.data["field"]) == (-32602, "/items/1/fileId")
    assert entries(ferry) == []
    upload(ferry)
    assert ferry.event("complete")["counts"] == {"successful": 0, "rejected": 0, "failed": 0}


def test_joining_and_duplicates_of_batches(ferry: Sidecar) -> None:
    make(ferry, concurrency=2)
    make(ferry, concurrency=2)
    for other in ({"concurrency": 3}, {"channel": "other", "concurrency": 2}, {}):
        assert ferry.error("batch/create", batchId="b", **{"channel": "room", **other}).code == (
            "ERR_DUPLICATE_BATCH"
        )
    ferry.call("batch/configure", batchId="b", concurrency=3)
    make(ferry, concurrency=2)
    assert len(ferry.call("batch/create", prefix="p")["batchId"]) > 10
    for wrong in ({}, {"channel": "c", "prefix": "p"}, {"channel": "c", "concurrency": 0}):
        assert ferry.error("batch/create", **wrong).number == -32602
    for method in ("get", "attachments", "clear", "retry", "send", "configure"):
        assert ferry.error(f"batch/{method}", batchId="none").code == "ERR_UNKNOWN_ID"
    assert ferry.error("batch/upload", batchId="none", items=[]).code == "ERR_UNKNOWN_ID"
    assert ferry.error("batch/create", channel="c", parentMessageId="1").code == "ERR_UNSUPPORTED"


@pytest.mark.parametrize("size", [2147483647, 2147483648, 2147483649])
def test_limits_beyond_31_bits(spawn: Spawn, size: int) -> None:
    ferry = limited(spawn, maxFileSize=2147483648)
    make(ferry, prefix="p")
    with (ferry.work / "sparse").open("wb") as file:
        file.truncate(size)
    ferry.call("limits/set", uploadRate=1 << 20)  # it need not come through
    upload(ferry, {"fileId": "1", "path": "sparse"})
    if size > 2147483648:
        assert ferry.event("error")["error"]["data"]["code"] == "ERR_FILE_SIZE_EXCEEDED"
    else:
        assert ferry.event("started")["total"] == size
        assert entries(ferry)[0]["total"] == size
    ferry.call("batch/clear", batchId="b")


# Who moves


def test_one_after_the_other_in_the_order_they_were_added(ferry: Sidecar) -> None:
    make(ferry)
    write_file(ferry.work / "large", 2 * MIB)
    upload(ferry, text("1"), {"fileId": "2", "path": "large"}, text("3"), text("4"))
    ferry.event("complete")
    told = [
        (m["method"], m["params"]["fileId"])
        for m in ferry.received
        if m.get("method") in ("started", "uploaded")
    ]
    assert told == [(name, str(n)) for n in range(1, 5) for name in ("started", "uploaded")]


def test_concurrency_raised_and_lowered_while_running(ferry: Sidecar) -> None:
    make(ferry, concurrency=1)
    items = [{"fileId": str(n), "stream": {}, "name": str(n)} for n in range(6)]
    upload(ferry, *items)
    first = ferry.event("started")["transferId"]
    assert list(states(ferry).values()).count("running") == 1
    ferry.call("batch/configure", batchId="b", concurrency=3)
    running = [first, *(ferry.event("started")["transferId"] for _ in range(2))]
    assert list(states(ferry).values()).count("running") == 3
    ferry.call("batch/configure", batchId="b", concurrency=1)
    assert list(states(ferry).values()).count("running") == 3, "lowering stops nobody"
    for transfer in running[:2]:
        close(ferry, transfer)
        ferry.event("uploaded", transferId=transfer)
    assert list(states(ferry).values()).count("running") == 1
    close(ferry, running[2])
    for _ in range(3):
        close(ferry, ferry.event("started")["transferId"])
    assert ferry.event("complete")["counts"]["successful"] == 6


def test_a_paused_file_keeps_the_batch_at_work(ferry: Sidecar) -> None:
    make(ferry)
    transfer = stream(ferry, "1")
    ferry.call("transfer/pause", transferId=transfer)
    ferry.event("paused", fileId="1")
    upload(ferry, text("2"))
    ferry.event("uploaded", fileId="2")
    page = ferry.call("batch/get", batchId="b")
    assert (page["status"], page["counts"]["paused"]) == ("inProgress", 1)
    ferry.call("transfer/resume", transferId=transfer)
    ferry.event("resumed", fileId="1")
    close(ferry, transfer)
    assert ferry.event("complete")["counts"]["successful"] == 2


def test_two_batches_never_cross(ferry: Sidecar) -> None:
    for name in ("a", "b"):
        make(ferry, name, channel=name, concurrency=2)
    count = few(200)
    for start in range(0, count, 20):
        for name in ("a", "b"):
            upload(ferry, *(text(str(n), name) for n in range(start, start + 20)), batch=name)
    ferry.call("batch/remove", batchId="a", fileId="0")
    for name in ("a", "b"):
        while ferry.event("complete", batchId=name)["counts"]["successful"] < count - (name == "a"):
            pass
        assert len(entries(ferry, name, limit=1000)) == count - (name == "a")
    for message in ferry.received:
        params = message.get("params", {})
        assert params.get("file", {}).get("channel", params.get("batchId")) == params.get("batchId")


# Who is taken out


def test_removing_in_each_phase(ferry: Sidecar) -> None:
    make(ferry, concurrency=1)
    running = stream(ferry, "running")
    upload(ferry, text("queued"))
    mark = len(ferry.received)
    assert ferry.call("batch/remove", batchId="b", fileId="queued") == {"removed": True}
    assert ferry.call("batch/remove", batchId="b", fileId="queued") == {"removed": False}
    ferry.call("transfer/pause", transferId=running)
    ferry.event("paused")
    ferry.call("batch/remove", batchId="b", fileId="running")
    assert ferry.event("complete")["counts"] == {"successful": 0, "rejected": 0, "failed": 0}
    while ferry.call("transfer/list")["transfers"]:
        ferry.call("ping")  # it stops first
    assert ferry.error("transfer/get", transferId=running).code == "ERR_UNKNOWN_ID"
    nothing = [m for m in ferry.received[mark:] if m.get("method") == "cancelled"]
    assert nothing == []

    removed = stream(ferry, "moving")
    assert ferry.call("transfer/cancel", transferId=removed) == {"state": "cancelled"}
    ferry.event("complete")
    upload(ferry, text("done"), {"fileId": "rejected", "path": "missing"})
    ferry.event("complete")
    assert stored(ferry) == ["done.txt"]
    for file_id in ("rejected", "done"):
        assert ferry.call("batch/remove", batchId="b", fileId=file_id) == {"removed": True}
    wait_until_stored(ferry, [])
    close(ferry, stream(ferry, "failing", size=2))
    ferry.event("failure")
    ferry.event("complete")
    assert ferry.call("batch/remove", batchId="b", fileId="failing") == {"removed": True}
    assert entries(ferry) == []
    assert ferry.call("transfer/list", batchId="b")["transfers"] == []
    upload(ferry, text("done"))
    assert ferry.event("complete")["counts"]["successful"] == 1


def test_what_was_sent_is_not_deleted(ferry: Sidecar) -> None:
    make(ferry)
    upload(ferry, text("1"), text("2"))
    ferry.event("complete")
    ferry.call("batch/send", batchId="b", fileIds=["1"])
    for file_id in ("1", "2"):
        ferry.call("batch/remove", batchId="b", fileId=file_id)
    wait_until_stored(ferry, ["1.txt"])


def test_clearing_with_many_in_flight(ferry: Sidecar, home: Path) -> None:
    make(ferry, concurrency=4)
    write_file(ferry.work / "large", 4 * MIB)
    ferry.call("limits/set", uploadRate=8 * MIB)
    upload(ferry, *({"fileId": str(n), "path": "large"} for n in range(100)))
    ferry.event("started")
    ferry.call("batch/clear", batchId="b")
    assert ferry.error("batch/get", batchId="b").code == "ERR_UNKNOWN_ID"
    mark = len(ferry.received)
    make(ferry, concurrency=4)
    upload(ferry, text("1"))
    done = ferry.event("complete")
    assert done["counts"] == {"successful": 1, "rejected": 0, "failed": 0}
    own = {m["params"]["fileId"] for m in ferry.received[mark:] if "fileId" in m.get("params", {})}
    assert own == {"1"}
    while len(ferry.call("transfer/list")["transfers"]) > 1:
        ferry.call("ping")
    wait_until_stored(ferry, ["1.txt"])
    assert list((home / STORE / "incoming").iterdir()) == []


def test_retry_during_the_drain(ferry: Sidecar) -> None:
    make(ferry, concurrency=2)
    slow = stream(ferry, "slow")
    close(ferry, stream(ferry, "failing", size=2))
    failed = ferry.event("failure")["transferId"]
    assert ferry.call("batch/retry", batchId="b", fileId="slow") == {"retried": 0}
    assert ferry.call("batch/retry", batchId="b", fileId="none") == {"retried": 0}
    assert ferry.call("batch/retry", batchId="b") == {"retried": 1}
    assert ferry.event("started", fileId="failing")["attempt"] == 2
    assert ferry.event("failure", fileId="failing")["transferId"] == failed
    close(ferry, slow)
    done = ferry.event("complete")
    assert done["counts"] == {"successful": 1, "rejected": 0, "failed": 1}
    assert ferry.call("transfer/retry", transferId=failed) == {"state": "queued"}
    assert ferry.event("started", fileId="failing")["attempt"] == 3
    assert ferry.event("complete")["counts"] == done["counts"], "each drain is told"
    attempts = [m["params"] for m in ferry.received if m.get("method") == "started"]
    assert max(a["attempt"] for a in attempts) == 3


# Sending


def test_sending_and_attachments(ferry: Sidecar) -> None:
    make(ferry)
    ferry.call("channel/subscribe", channels=["room"])
    upload(
        ferry,
        {"fileId": "a", "text": "x", "name": "a.PNG", "contentType": "image/png"},
        {"fileId": "b", "text": "xy", "name": "b.mp4"},
        {"fileId": "c", "text": "x", "name": "c"},
    )
    ferry.event("complete")
    kinds = {
        kind: [a["fileId"] for a in attachments(ferry, type=kind)]
        for kind in ("image", "video", "audio", "file")
    }
    assert kinds == {"image": ["a"], "video": ["b"], "audio": [], "file": ["c"]}
    [only] = attachments(ferry, fileId="a")
    assert only["attachment"] | {"url": ""} == {
        "url": "", "name": "a.PNG", "mimeType": "image/png", "extension": "png", "size": 1,
    }  # fmt: skip
    sent = ferry.call("batch/send", batchId="b", fileIds=["b"], caption="look", meta={"k": 1})
    [message] = sent["messages"]
    assert (message["type"], message["fileIds"]) == ("video", ["b"])
    heard = ferry.event("message")
    assert heard["message"] == {"text": "look"}
    assert heard["meta"] == {"batchId": "b", "k": 1}
    assert ferry.call("message/get", messageId=message["id"])["file"]["name"] == "b.mp4"
    rest = ferry.call("batch/send", batchId="b")["messages"]
    assert [m["fileIds"] for m in rest] == [["a"], ["c"]]
    assert ferry.error("batch/send", batchId="b").code == "ERR_INVALID_ARGUMENT"
    assert ferry.error("batch/send", batchId="b", fileIds=["z"]).code == "ERR_UNKNOWN_ID"
    assert ferry.error("batch/send", batchId="b", tags=["t"]).code == "ERR_UNSUPPORTED"
    assert {entry["sent"] for entry in entries(ferry)} == {True}


def test_sending_again_sends_what_is_missing(ferry: Sidecar) -> None:
    make(ferry)
    upload(ferry, text("1"), text("2"), text("3"))
    ferry.event("complete")
    [second] = [f for f in ferry.call("file/list", channel="room")["files"] if f["name"] == "2.txt"]
    ferry.call("file/delete", channel="room", id=second["id"], name="2.txt")
    for sent in (["1"], []):
        error = ferry.error("batch/send", batchId="b")
        assert error.code == "ERR_PUBLISH_FAILED"
        assert [m["fileIds"] for m in error.data["messages"]] == [[f] for f in sent]
    ferry.call("batch/remove", batchId="b", fileId="2")
    [message] = ferry.call("batch/send", batchId="b")["messages"]
    assert message["fileIds"] == ["3"]
    history = ferry.call("channel/history", channel="room")["messages"]
    assert [m["file"]["name"] for m in history] == ["1.txt", "3.txt"]


def test_objects_below_a_prefix(ferry: Sidecar) -> None:
    make(ferry, prefix="album/2026")
    upload(ferry, text("1"), {"fileId": "2", "text": "x", "ref": "deep/../er"})
    assert ferry.event("uploaded", fileId="2")["object"]["ref"] == "album/2026/deep/../er"
    ferry.event("complete")
    assert ferry.error("batch/send", batchId="b").code == "ERR_UNSUPPORTED"
    ferry.call("batch/clear", batchId="b")
    listed = ferry.call("object/list", ref="album", recursive=True)["items"]
    assert [i["ref"] for i in listed] == ["album/2026/1.txt", "album/2026/deep/../er"]
