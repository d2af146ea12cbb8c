"""What goes wrong on the way to CometChat, and what must not happen then."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from batch_support import entries, make, states, text, upload
from cometchat_support import CometChat, CometFault, Talk
from files import MIB, write_file
from sidecar import Sidecar, few

BOB = "user:bob"


def composing(talk: Talk, concurrency: int = 1, **keys: Any) -> Sidecar:
    """With an empty batch `b`."""
    ferry = talk(**keys)
    make(ferry, channel=BOB, concurrency=concurrency)
    return ferry


def failure(ferry: Sidecar, file_id: str, event: str = "failure") -> dict[str, Any]:
    return dict(ferry.event(event, fileId=file_id)["error"]["data"])


def names(app: CometChat) -> list[str]:
    return sorted(key.rpartition("_")[2] for key in app.media.blobs)


# Slots


@pytest.mark.parametrize("phase", ["presign", "upload"])
def test_removing_the_active_file_starts_the_next(talk: Talk, app: CometChat, phase: str) -> None:
    ferry = composing(talk)
    gate = threading.Event()
    app.faults.append(CometFault(phase, gate=gate))
    upload(ferry, text("1"), text("2"), text("3"))
    app.wait(phase)
    assert ferry.call("batch/remove", batchId="b", fileId="1") == {"removed": True}
    assert ferry.event("complete")["counts"] == {"successful": 2, "rejected": 0, "failed": 0}
    gate.set()
    assert states(ferry) == {"2": "succeeded", "3": "succeeded"}
    assert len(app.requests("upload")) == (2 if phase == "presign" else 3)
    ended = [m for m in ferry.received if m.get("params", {}).get("fileId") == "1"]
    assert {m["method"] for m in ended} <= {"started"}, "a removal is silent"


def test_removing_in_every_other_state(talk: Talk, app: CometChat) -> None:
    ferry = composing(talk)
    gate = threading.Event()
    app.refuse = lambda file: ("ERR_PERMISSION_DENIED", "no") if file["name"] == "r.txt" else None
    app.faults.append(CometFault("upload", status=500))
    app.faults.append(CometFault("upload", after=1, gate=gate))
    upload(ferry, text("failed"), text("r"), text("done"), text("held"), text("queued"))
    ferry.event("uploaded", fileId="done")
    ferry.event("started", fileId="held")
    for file_id in ("queued", "failed", "r", "done"):
        assert ferry.call("batch/remove", batchId="b", fileId=file_id)["removed"]
    gate.set()
    assert ferry.event("complete")["counts"] == {"successful": 1, "rejected": 0, "failed": 0}
    assert [m["fileIds"] for m in ferry.call("batch/send", batchId="b")["messages"]] == [["held"]]
    assert app.names(app.messages[0]) == ["held.txt"]


def test_each_removal_gives_its_slot_back(talk: Talk, app: CometChat) -> None:
    app.settings["file.count.max"] = 20
    ferry = composing(talk, concurrency=2)
    gate = threading.Event()
    app.faults.append(CometFault("upload", times=100, gate=gate))
    upload(ferry, *(text(f"{n}") for n in range(20)))
    for n in range(10):
        ferry.event("started", fileId=f"{n}")
        app.wait_until(lambda s, n=n: s.route == "upload" and f"{n}.txt".encode() in s.request.body)
        ferry.call("batch/remove", batchId="b", fileId=f"{n}")
    started = {m["params"]["fileId"] for m in ferry.received if m.get("method") == "started"}
    assert len(started) <= 12
    gate.set()
    assert ferry.event("complete")["counts"]["successful"] == 10
    assert [e["fileId"] for e in entries(ferry)] == [f"{n}" for n in range(10, 20)]


def test_one_of_many_that_failed_is_tried_again(talk: Talk, app: CometChat) -> None:
    ferry = composing(talk)
    app.faults.append(CometFault("upload", times=5, drop="before"))
    upload(ferry, *(text(f"{n}") for n in range(5)))
    assert ferry.event("complete")["counts"]["failed"] == 5
    assert ferry.call("batch/retry", batchId="b", fileId="2") == {"retried": 1}
    assert ferry.event("complete")["counts"] == {"successful": 1, "rejected": 0, "failed": 4}
    assert ferry.call("batch/get", batchId="b")["status"] == "idle"


def test_a_retry_while_others_move(talk: Talk, app: CometChat) -> None:
    ferry = composing(talk)
    gate = threading.Event()
    app.faults += [CometFault("upload", status=500), CometFault("upload", gate=gate)]
    upload(ferry, text("1"), text("2"), text("3"))
    assert failure(ferry, "1")["code"] == "ERR_S3_UPLOAD_FAILED"
    app.wait("upload", 2)
    ferry.call("batch/retry", batchId="b", fileId="1")
    gate.set()
    assert ferry.event("complete")["counts"]["successful"] == 3
    assert [e["fileId"] for e in entries(ferry)] == ["1", "2", "3"]
    assert len([m for m in ferry.received if m.get("method") == "complete"]) == 1


def test_concurrency_is_raised_and_lowered_while_files_move(talk: Talk, app: CometChat) -> None:
    ferry = composing(talk, limits={"maxFileCount": 60})
    ferry.call("limits/set", concurrency=8)
    gate = threading.Event()
    app.faults.append(CometFault("upload", times=5, gate=gate))
    upload(ferry, *(text(f"{n}") for n in range(40)))
    app.wait("upload")
    ferry.call("batch/configure", batchId="b", concurrency=5)
    app.wait("upload", 5)
    assert app.active == 5
    ferry.call("batch/configure", batchId="b", concurrency=1)
    app.most_active = 0
    gate.set()
    assert ferry.event("complete", timeout=60)["counts"]["successful"] == 40
    assert app.most_active <= 5


def test_clearing_with_a_hundred_under_way(talk: Talk, app: CometChat) -> None:
    ferry = composing(talk, 16, limits={"maxFileCount": 100})
    ferry.call("limits/set", concurrency=16)
    gate = threading.Event()
    app.faults.append(CometFault("upload", times=200, gate=gate))
    upload(ferry, *(text(f"{n}") for n in range(100)))
    app.wait("upload", 8)
    ferry.call("batch/clear", batchId="b")
    told = len(ferry.received)
    gate.set()
    make(ferry, channel=BOB)
    upload(ferry, text("0"))
    assert ferry.event("complete")["counts"] == {"successful": 1, "rejected": 0, "failed": 0}
    later = [m for m in ferry.received[told:] if m.get("params", {}).get("fileId", "0") != "0"]
    assert later == []
    assert app.messages == []


def test_two_batches_never_cross(talk: Talk, app: CometChat) -> None:
    ferry = talk()
    for batch, channel in (("one", BOB), ("two", "group:team")):
        make(ferry, batch, channel=channel, concurrency=2)
    for n in range(10):
        for batch in ("one", "two"):
            upload(ferry, {"fileId": f"{n}", "text": batch, "name": f"{batch}{n}"}, batch=batch)
    for batch in ("one", "two"):
        while ferry.event("complete", batchId=batch)["counts"]["successful"] < 10:
            pass
    for batch, receiver in (("one", "bob"), ("two", "team")):
        [sent] = ferry.call("batch/send", batchId=batch)["messages"]
        assert sent["fileIds"] == [f"{n}" for n in range(10)]
        assert app.messages[-1]["receiver"] == receiver
        assert app.names(app.messages[-1]) == [f"{batch}{n}" for n in range(10)]
        assert app.messages[-1]["data"]["metadata"] == {"batchId": batch}


def test_a_thousand_files_with_refusals_and_failures(talk: Talk, app: CometChat) -> None:
    count = few(1000)
    app.settings["file.count.max"] = count
    ferry = composing(talk, 4)
    refused = {f"{n}" for n in range(count) if n % 7 == 0}
    failing = {f"{n}.txt" for n in range(count) if n % 11 == 0}
    once = set(failing)

    def refuse(file: dict[str, Any]) -> tuple[str, str] | None:
        return ("ERR_PERMISSION_DENIED", "no") if file["fileId"] in refused else None

    app.refuse = refuse
    take = app.media.upload

    def fail_once(request: Any) -> Any:
        found = {name for name in once if f'filename="{name}"'.encode() in request.body}
        if not found:
            return take(request)
        once.difference_update(found)
        return CometChat.broken()

    app.media.upload = fail_once  # type: ignore[method-assign]
    failing = {name.removesuffix(".txt") for name in failing} - refused
    for start in range(0, count, 250):
        upload(ferry, *(text(f"{n}") for n in range(start, min(count, start + 250))))
    while True:
        done = ferry.event("complete", timeout=120)
        if sum(done["counts"].values()) == count:
            break
    good = count - len(refused) - len(failing)
    assert done["counts"] == {"successful": good, "rejected": len(refused), "failed": len(failing)}
    assert {e["fileId"] for e in entries(ferry, state="rejected", limit=1000)} == refused
    assert ferry.call("batch/retry", batchId="b") == {"retried": len(failing)}
    done = ferry.event("complete", timeout=120)
    assert done["counts"]["successful"] == count - len(refused)
    assert [e["fileId"] for e in entries(ferry, limit=1000)] == [f"{n}" for n in range(count)]
    assert len(app.requests("presign")) == count + len(failing), "each just before its bytes go"
    sent = ferry.call("batch/send", batchId="b")["messages"]
    shown = [name for message in app.messages for name in app.names(message)]
    assert shown == [f"{n}.txt" for n in range(count) if f"{n}" not in refused]
    assert len(sent) == len(app.messages)


# Places


def test_no_place_expires_in_the_queue(talk: Talk, app: CometChat) -> None:
    app.media.slot_seconds = 1.5
    ferry = composing(talk)
    gate = threading.Event()
    app.faults.append(CometFault("upload", gate=gate))
    upload(ferry, *(text(f"{n}") for n in range(6)))
    app.wait("upload")
    assert len(app.requests("presign")) == 1
    threading.Timer(2, gate.set).start()
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


# Limits


def test_limits_are_read_once(talk: Talk, app: CometChat) -> None:
    app.settings = {"file.size.max": 4, "file.count.max": "2"}
    ferry = composing(talk)
    assert ferry.call("limits/get")["maxFileSize"] == 4
    upload(ferry, text("1", "abcde"), text("2", "abcd"), text("3"), text("4"))
    assert failure(ferry, "1", "error")["code"] == "ERR_FILE_SIZE_EXCEEDED"
    assert failure(ferry, "4", "error")["code"] == "ERR_FILE_COUNT_EXCEEDED"
    assert ferry.event("complete")["counts"] == {"successful": 2, "rejected": 2, "failed": 0}
    assert len(app.requests("settings")) == 1


def test_limits_where_the_settings_say_none(talk: Talk, app: CometChat) -> None:
    app.settings = {}
    ferry = talk()
    limits = ferry.call("limits/get")
    assert (limits["maxFileSize"], limits["maxFileCount"]) == (104_857_600, 10)
    make(ferry, channel=BOB)
    upload(ferry, *(text(f"{n}") for n in range(11)))
    done = ferry.event("complete")
    assert done["counts"] == {"successful": 10, "rejected": 1, "failed": 0}


def test_limits_where_the_settings_cannot_be_read(talk: Talk, app: CometChat) -> None:
    app.faults.append(CometFault("settings", status=500))
    assert talk().call("limits/get")["maxFileCount"] == 10


def test_the_configuration_overrides_the_settings(talk: Talk, app: CometChat) -> None:
    ferry = talk(
        limits={"maxFileSize": 5, "maxFileCount": 20, "blockedTypes": ["*.EXE", " video/*"]}
    )
    limits = ferry.call("limits/get")
    assert (limits["maxFileSize"], limits["maxFileCount"]) == (5, 20)
    make(ferry, channel=BOB)
    upload(
        ferry,
        {"fileId": "1", "text": "x", "name": "a.Exe"},
        {"fileId": "2", "text": "x", "name": "a.mp4"},
    )
    for file_id in ("1", "2"):
        assert failure(ferry, file_id, "error")["code"] == "ERR_FILE_TYPE_BLOCKED"


@pytest.mark.parametrize("limit", [2_147_483_647, 2_147_483_648, 2_147_483_649])
def test_sizes_beyond_31_bits(talk: Talk, app: CometChat, limit: int) -> None:
    app.settings["file.size.max"] = limit
    app.refuse = lambda file: ("ERR_STOP", str(file["size"]))
    ferry = composing(talk)
    assert ferry.call("limits/get")["maxFileSize"] == limit
    for size in (limit, limit + 1):
        with (ferry.work / f"{size}").open("wb") as file:
            file.truncate(size)
        upload(ferry, {"fileId": f"{size}", "path": f"{size}"})
    # Equal to the limit is asked for, in all its digits; more is not.
    assert failure(ferry, f"{limit}", "error")["serverMessage"] == str(limit)
    assert failure(ferry, f"{limit + 1}", "error")["code"] == "ERR_FILE_SIZE_EXCEEDED"


def test_who_comes_in(talk: Talk, app: CometChat) -> None:
    app.settings = {"file.size.max": 3, "file.count.max": 1}
    ferry = composing(talk, limits={"blockedTypes": ["exe"]})
    upload(
        ferry, text("empty", ""), {"fileId": "type", "text": "", "name": "a.exe"},
        {"fileId": "none", "path": "missing"}, text("1"), text("both", "long enough"), text("1"),
    )  # fmt: skip
    assert failure(ferry, "empty", "error")["code"] == "ERR_FILE_DATA_EMPTY"
    assert failure(ferry, "type", "error")["code"] == "ERR_FILE_DATA_EMPTY"
    assert failure(ferry, "none", "error")["code"] == "ERR_FILE_NOT_FOUND"
    assert failure(ferry, "both", "error")["code"] == "ERR_FILE_COUNT_EXCEEDED"
    assert ferry.event("error", fileId="1")["duplicate"] is True
    assert ferry.event("complete")["counts"]["successful"] == 1


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
