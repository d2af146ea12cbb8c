"""Batches on CometChat while files come and go: slots, many files, limits."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from batch_support import entries, make, states, text, upload
from cometchat_support import BOB, CometChat, CometFault, Talk, composing, failure
from sidecar import few

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


def test_no_place_is_asked_for_before_its_form_can_go(talk: Talk, app: CometChat) -> None:
    app.settings["file.count.max"] = 50
    ferry = composing(talk, 64)
    ferry.call("limits/set", concurrency=64)
    gate = threading.Event()
    app.faults.append(CometFault("upload", times=100, gate=gate))
    upload(ferry, *(text(f"{n}") for n in range(50)))
    app.wait("upload", 16)
    assert len(app.requests("presign")) == len(app.requests("upload")) == 16
    gate.set()
    assert ferry.event("complete")["counts"]["successful"] == 50


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


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 500}, {"status": 403}, {"status": 200, "body": "<html>"},
        {"status": 200, "body": {"data": []}}, {"drop": "before"},
    ],
)  # fmt: skip
def test_settings_that_cannot_be_read_are_asked_for_again(
    talk: Talk, app: CometChat, fault: dict[str, Any]
) -> None:
    app.faults.append(CometFault("settings", times=2, **fault))
    app.settings["file.count.max"] = 3
    ferry = talk()
    first = limits = ferry.call("limits/get")
    calls = 1
    while limits["maxFileCount"] == 10:
        limits = ferry.call("limits/get")
        calls += 1
    assert first["error"]["message"] and "error" not in limits
    assert limits["maxFileCount"] == 3
    # Each that fails is followed by a pause.
    assert 2 < len(app.requests("settings")) < calls


def test_a_limit_that_was_not_read_says_so(talk: Talk, app: CometChat) -> None:
    app.faults.append(CometFault("settings", times=999, status=403))
    ferry = composing(talk)
    upload(ferry, *(text(f"{n}") for n in range(11)))
    error = ferry.event("error", fileId="10")["error"]
    assert error["data"]["code"] == "ERR_FILE_COUNT_EXCEEDED"
    assert "limits could not be read: CometChat refused" in error["message"]


def test_new_credentials_ask_for_the_settings_at_once(talk: Talk, app: CometChat) -> None:
    app.settings["file.count.max"] = 3
    ferry = talk(authToken="old")
    assert ferry.call("limits/get")["error"]["data"]["code"] == "ERR_UNAUTHENTICATED"
    ferry.call("remote/credentials", remote="talk", authToken=app.token)
    assert ferry.call("limits/get")["maxFileCount"] == 3


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
