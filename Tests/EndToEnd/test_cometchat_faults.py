"""What goes wrong on the way to CometChat, and what must not happen then."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from batch_support import close, make, stream, text, upload
from cometchat_support import BOB, CometChat, CometFault, Talk, composing, failure, names
from files import MIB, slow_upload, write_file

# Places


def test_no_place_expires_in_the_queue(talk: Talk, app: CometChat) -> None:
    ferry = composing(talk)
    gate = threading.Event()
    app.faults.append(CometFault("upload", gate=gate))
    upload(ferry, *(text(f"{n}") for n in range(6)))
    app.wait("upload")
    assert len(app.requests("presign")) == 1
    app.media.ahead = 1000  # longer than a place is good for
    gate.set()
    assert ferry.event("complete")["counts"]["successful"] == 6
    assert len(app.requests("presign")) == 7, "the one that expired on the way was asked for again"


def test_a_place_that_expired_is_asked_for_again(talk: Talk, app: CometChat) -> None:
    ferry = composing(talk)
    app.faults.append(CometFault("upload", times=2, expire=True))
    upload(ferry, text("1"))
    ferry.event("uploaded", fileId="1")
    assert [s.route for s in app.seen] == ["settings", *(["presign", "upload"] * 3)]
    app.faults.append(CometFault("upload", times=3, expire=True))
    upload(ferry, text("2"))
    data = failure(ferry, "2")
    assert data["code"] == "ERR_PRESIGNED_URL_EXPIRED" and data["retryable"]
    ferry.call("batch/retry", batchId="b")
    ferry.event("uploaded", fileId="2")


def test_places_that_come_expired(talk: Talk, app: CometChat) -> None:
    app.media.slot_seconds = -60
    ferry = composing(talk)
    upload(ferry, text("1"))
    assert failure(ferry, "1")["code"] == "ERR_PRESIGNED_URL_EXPIRED"
    assert (len(app.requests("presign")), len(app.requests("upload"))) == (3, 0)


def test_a_policy_that_cannot_be_read(talk: Talk, app: CometChat) -> None:
    app.media.tells_policy = False
    app.wraps = False
    ferry = composing(talk)
    upload(ferry, text("1"))
    assert ferry.event("complete")["counts"]["successful"] == 1


def test_the_policys_sizes_hold(talk: Talk, app: CometChat) -> None:
    app.media.sizes = (1, 3)
    ferry = composing(talk)
    upload(ferry, text("1", "abc"), text("2", "abcd"))
    data = failure(ferry, "2", "error")
    assert data["code"] == "ERR_FILE_SIZE_EXCEEDED" and names(app) == ["1.txt"]
    assert len(app.requests("upload")) == 1


def test_a_refusal_touches_one_file_and_carries_its_code(talk: Talk, app: CometChat) -> None:
    app.refuse = lambda f: ("ERR_SPECIAL", "not this one") if f["name"] == "2.txt" else None
    ferry = composing(talk)
    upload(ferry, text("1"), text("2"), text("3"))
    data = failure(ferry, "2", "error")
    assert data["code"] == "ERR_PRESIGNED_URL_FAILED" and not data["retryable"]
    assert (data["serverCode"], data["serverMessage"]) == ("ERR_SPECIAL", "not this one")
    assert ferry.event("complete")["counts"] == {"successful": 2, "rejected": 1, "failed": 0}
    assert ferry.call("batch/retry", batchId="b") == {"retried": 0}


def test_presigning_that_is_off(talk: Talk, app: CometChat) -> None:
    app.presigns = False
    ferry = composing(talk)
    upload(ferry, text("1"))
    event = ferry.event("error", fileId="1")["error"]
    assert event["data"]["code"] == "ERR_PRESIGNED_URL_FAILED"
    assert "Media URL Access" in event["message"]


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 500}, {"status": 200, "body": "<html>"}, {"status": 200, "body": {"data": {}}},
        {"drop": "before", "times": 2},
    ],
)  # fmt: skip
def test_presigning_that_fails_can_be_tried_again(
    talk: Talk, app: CometChat, fault: dict[str, Any]
) -> None:
    ferry = composing(talk, retries=0)
    app.faults.append(CometFault("presign", **fault))
    upload(ferry, text("1"))
    data = failure(ferry, "1")
    assert data["code"] == "ERR_PRESIGNED_URL_FAILED" and data["retryable"]
    assert data["phase"] == "prepare"
    ferry.call("batch/retry", batchId="b")
    ferry.event("uploaded", fileId="1")


@pytest.mark.parametrize("url", ["", "not a url", "ftp://127.0.0.1/x", "http://"])
def test_a_place_that_is_no_url(talk: Talk, app: CometChat, url: str) -> None:
    ferry = composing(talk)
    place = {"request": {"url": url, "body": {}}, "attachment": {"url": "http://127.0.0.1/a"}}
    app.faults.append(CometFault("presign", status=200, body={"data": {"1": place}}))
    upload(ferry, text("1"))
    data = failure(ferry, "1")
    assert data["code"] == "ERR_INVALID_URL" and data["retryable"]


# Bytes


def test_a_stall_frees_its_slot(talk: Talk, app: CometChat) -> None:
    ferry = composing(talk, limits={"stallTimeout": "500ms"})
    gate = threading.Event()
    app.server.hold_bodies = gate
    write_file(ferry.work / "large", 32 * MIB)
    upload(ferry, {"fileId": "large", "path": "large"})
    data = failure(ferry, "large")
    assert data["code"] == "ERR_UPLOAD_STALLED" and data["retryable"]
    app.server.hold_bodies = None
    gate.set()
    upload(ferry, text("2"))
    ferry.event("uploaded", fileId="2")


def test_no_stall_while_the_place_or_the_answer_is_awaited(talk: Talk, app: CometChat) -> None:
    ferry = composing(talk, limits={"stallTimeout": "300ms"})
    app.faults += [CometFault("presign", delay=1), CometFault("upload", delay=1)]
    upload(ferry, text("1"))
    ferry.event("uploaded", fileId="1")
    assert len(app.requests("upload")) == 1


def test_a_failure_at_no_bytes_is_one_like_any_other(talk: Talk, app: CometChat) -> None:
    ferry = composing(talk)
    app.faults.append(CometFault("upload", drop="before"))
    upload(ferry, text("1"))
    data = failure(ferry, "1")
    assert data["code"] in ("ERR_NETWORK", "ERR_S3_UPLOAD_FAILED") and data["retryable"]
    ferry.call("batch/retry", batchId="b", fileId="1")
    assert ferry.event("started", fileId="1", attempt=2)
    ferry.event("uploaded", fileId="1")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("<html>", "ERR_S3_UPLOAD_FAILED"),
        (
            "<Error><Code>EntityTooLarge</Code><Message>m</Message></Error>",
            "ERR_FILE_SIZE_EXCEEDED",
        ),
        ("<Error><Code>AccessDenied</Code><Message>no</Message></Error>", "ERR_S3_UPLOAD_FAILED"),
    ],
)
def test_what_the_storage_says(talk: Talk, app: CometChat, body: str, code: str) -> None:
    ferry = composing(talk)
    app.faults.append(CometFault("upload", status=403, body=body))
    upload(ferry, text("1"))
    assert failure(ferry, "1")["code"] == code
    assert len(app.requests("upload")) == 1, "a form is sent once"


# Pausing, cancelling, streams


def test_a_paused_upload_starts_again_with_a_new_place(talk: Talk, app: CometChat) -> None:
    ferry = talk()
    slow_upload(ferry, 8 * MIB, 2 * MIB, channel=BOB)
    ferry.call("transfer/pause", transferId="big")
    ferry.event("paused", transferId="big")
    assert app.media.blobs == {}
    ferry.call("limits/set", uploadRate=None)
    ferry.call("transfer/resume", transferId="big")
    ferry.event("uploaded", transferId="big")
    assert (len(app.requests("presign")), len(app.messages)) == (2, 1)
    assert [len(blob) for blob in app.media.blobs.values()] == [8 * MIB]


def test_a_cancelled_upload_leaves_nothing(talk: Talk, app: CometChat) -> None:
    ferry = talk()
    request = slow_upload(ferry, 8 * MIB, 2 * MIB, channel=BOB)
    ferry.notify("$/cancelRequest", id=request)
    assert ferry.reply(request)["error"]["data"]["code"] == "ERR_CANCELLED"
    ferry.call("file/send", channel=BOB, name="n", text="x")
    assert names(app) == ["n"] and len(app.messages) == 1


def test_a_stream_of_unknown_size(talk: Talk, app: CometChat) -> None:
    ferry = composing(talk)
    close(ferry, stream(ferry, "1"), b"hello")
    assert ferry.event("complete")["counts"]["successful"] == 1
    close(ferry, stream(ferry, "2"), b"")
    assert failure(ferry, "2", "error")["code"] == "ERR_FILE_DATA_EMPTY"
    assert [blob for blob in app.media.blobs.values()] == [b"hello"]


# Messages


def test_a_send_that_fails_halfway_goes_on_with_the_rest(talk: Talk, app: CometChat) -> None:
    ferry = composing(talk)
    upload(ferry, text("1"), {"fileId": "2", "text": "x", "name": "2.png"})
    ferry.event("complete")
    app.faults.append(CometFault("message", after=1, status=400, body={"error": {"code": "ERR_X"}}))
    error = ferry.error("batch/send", batchId="b", caption="c", muid="m")
    assert error.code == "ERR_PUBLISH_FAILED"
    assert [(m["fileIds"], m["muid"]) for m in error.data["messages"]] == [(["2"], "m")]
    again = ferry.call("batch/send", batchId="b", caption="c", muid="m")["messages"]
    assert [(m["fileIds"], m["muid"]) for m in again] == [(["1"], "m-2")]
    assert [m["data"].get("text") for m in app.messages] == ["c", None]


@pytest.mark.parametrize("fault", [{"drop": "after"}, {"drop": "before"}, {"status": 500}])
def test_a_message_whose_answer_was_lost_is_not_sent_twice(
    talk: Talk, app: CometChat, fault: dict[str, Any]
) -> None:
    ferry = composing(talk)
    upload(ferry, text("1"))
    ferry.event("complete")
    app.faults.append(CometFault("message", **fault))
    assert ferry.error("batch/send", batchId="b").code == "ERR_PUBLISH_FAILED"
    for n in range(150):
        app.add("alice", text=f"{n}")
    [sent] = ferry.call("batch/send", batchId="b")["messages"]
    mine = [m for m in app.messages if m["sender"] == "alice"]
    assert [f"{BOB}:{m['id']}" for m in mine] == [sent["id"]]


@pytest.mark.parametrize("fault", [{"drop": "after"}, {"drop": "before"}, {"status": 503}])
def test_a_single_files_message_is_sent_once(
    talk: Talk, app: CometChat, fault: dict[str, Any]
) -> None:
    ferry = talk()
    app.faults.append(CometFault("message", **fault))
    sent = ferry.call("file/send", channel=BOB, name="n", text="x")
    assert [m["id"] for m in app.messages] == [sent["timetoken"]]
    assert len(app.requests("upload")) == 1


def test_a_message_that_is_refused_leaves_the_file(talk: Talk, app: CometChat) -> None:
    ferry = talk()
    body = {"error": {"code": "ERR_BLOCKED_RECEIVER", "message": "blocked"}}
    app.faults.append(CometFault("message", status=403, body=body))
    error = ferry.error("file/send", channel=BOB, name="n", text="x", transferId="t")
    assert error.code == "ERR_PUBLISH_FAILED" and error.data["fileUploaded"] is True
    assert "transfer/retry" in str(error) and "file/publish" not in str(error)
    assert error.data["cause"] == {"code": "ERR_PERMISSION_DENIED", "httpStatus": 403}
    ferry.event("failure", transferId="t")
    ferry.call("transfer/retry", transferId="t")
    ferry.event("uploaded", transferId="t")
    assert (len(app.requests("upload")), len(app.messages)) == (1, 1)


# Kills


def test_a_kill_in_the_middle(talk: Talk, app: CometChat) -> None:
    app.settings["file.count.max"] = 40
    first = composing(talk, 2)
    upload(first, text("done"))
    first.event("complete")
    first.call("batch/send", batchId="b")
    gate = threading.Event()
    app.faults.append(CometFault("upload", times=2, gate=gate))
    upload(first, *(text(f"{n}") for n in range(20)))
    app.wait("upload", 3)
    first.kill()
    gate.set()

    second = talk()
    make(second, channel=BOB, concurrency=2)
    left = second.call("batch/get", batchId="b", state="interrupted")["counts"]["interrupted"]
    assert left == 20
    assert second.call("batch/retry", batchId="b") == {"retried": left}
    assert second.event("complete", timeout=60)["counts"]["successful"] == 21
    messages = second.call("batch/send", batchId="b")["messages"]
    assert [id for m in messages for id in m["fileIds"]] == [f"{n}" for n in range(20)]
    shown = [name for message in app.messages for name in app.names(message)]
    assert shown == ["done.txt", *(f"{n}.txt" for n in range(20))], "each is shown once"


def test_a_kill_between_upload_and_message(talk: Talk, app: CometChat) -> None:
    first = talk()
    gate = threading.Event()
    app.faults.append(CometFault("message", gate=gate))
    first.start("file/send", channel=BOB, name="n", text="x", transferId="t")
    app.wait("message")
    first.kill()
    gate.set()
    second = talk()
    second.call("transfer/resume", transferId="t")
    sent = second.event("uploaded", transferId="t")["file"]
    assert [m["id"] for m in app.messages] == [sent["timetoken"]]
    assert len(app.requests("upload")) == 1


def test_nothing_secret_is_told(talk: Talk, app: CometChat) -> None:
    ferry = composing(talk)
    body = {"error": {"code": "ERR_X", "message": f"the token {app.token} is odd"}}
    app.faults.append(CometFault("presign", status=400, body=body))
    upload(ferry, text("1"))
    error = ferry.event("error", fileId="1")
    assert app.token not in str(error) and "(secret)" in str(error)
    old = app.token
    gate = threading.Event()
    app.faults.append(CometFault("presign", times=2, status=400, body=body, gate=gate))
    upload(ferry, text("2"))
    app.wait("presign", 2)
    ferry.call("remote/credentials", remote="talk", authToken="another")
    gate.set()
    error = ferry.event("error", fileId="2")
    assert old not in str(error) and "(secret)" in str(error), "it was under way with the old one"
