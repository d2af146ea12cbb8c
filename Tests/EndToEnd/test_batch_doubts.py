"""Messages of batches whose answer was lost: none is made twice."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from batch_support import entries, make, text, upload
from cometchat_support import BOB, CometChat, CometFault, Talk, composing
from pubnub_support import Chat, Emulator, Fault
from sidecar import Sidecar


def told(messages: list[dict[str, Any]]) -> list[tuple[list[str], str]]:
    return [(message["fileIds"], message["muid"]) for message in messages]


@pytest.mark.parametrize("how", ["same process", "killed after", "killed while"])
def test_another_file_does_not_show_the_first_again(talk: Talk, app: CometChat, how: str) -> None:
    ferry = composing(talk)
    upload(ferry, text("1"))
    ferry.event("complete")
    asked = {"batchId": "b", "caption": "c", "muid": "m"}
    if how == "killed while":
        gate = threading.Event()
        app.faults.append(CometFault("message", gate=gate))
        ferry.start("batch/send", **asked)
        app.wait("message")
    else:
        app.faults.append(CometFault("message", drop="after"))
        error = ferry.error("batch/send", **asked)
        assert error.code == "ERR_PUBLISH_FAILED" and error.data["retryable"]
        assert (error.data["messages"], error.data["count"]) == ([], 0)
        assert [entry.get("inDoubt") for entry in entries(ferry)] == [True]
    if how != "same process":
        ferry.kill()
        ferry = talk()
    if how == "killed while":
        gate.set()
        while not app.messages:
            app.call(asyncio.sleep(0))
    upload(ferry, text("2"))
    ferry.event("uploaded", fileId="2")
    sent = ferry.call("batch/send", **asked)
    assert told(sent["messages"]) == [(["1"], "m"), (["2"], "m-2")] and sent["count"] == 2
    assert [m["muid"] for m in app.messages] == ["m", "m-2"]
    assert [m["data"].get("text") for m in app.messages] == ["c", None]
    shown = [(entry["sent"], entry["messageId"]) for entry in entries(ferry)]
    assert shown == [(True, f"{BOB}:{m['id']}") for m in app.messages]


@pytest.mark.parametrize("is_killed", [False, True])
def test_other_words_are_a_message_of_their_own(
    talk: Talk, app: CometChat, is_killed: bool
) -> None:
    ferry = composing(talk)
    upload(ferry, text("1"))
    ferry.event("complete")
    app.faults.append(CometFault("message", drop="after"))
    ferry.error("batch/send", batchId="b", caption="c", muid="m")
    if is_killed:
        ferry.kill()
        ferry = talk()
    sent = ferry.call("batch/send", batchId="b", caption="another", muid="n")
    assert told(sent["messages"]) == [(["1"], "m")], "it is shown already"
    assert [m["data"]["text"] for m in app.messages] == ["c"]


def test_what_was_not_made_is_sent(talk: Talk, app: CometChat) -> None:
    ferry = composing(talk)
    upload(ferry, text("1"))
    ferry.event("complete")
    app.faults.append(CometFault("message", drop="before"))
    ferry.error("batch/send", batchId="b", caption="c", muid="m")
    ferry.kill()
    ferry = talk()
    app.faults.append(CometFault("history", status=503, times=9))
    error = ferry.error("batch/send", batchId="b", caption="c", muid="m")
    assert error.code == "ERR_PUBLISH_FAILED" and error.data["retryable"]
    assert len(app.requests("message")) == 1, "nothing is sent unseen"
    app.faults.clear()
    sent = ferry.call("batch/send", batchId="b", caption="other", muid="n")
    assert told(sent["messages"]) == [(["1"], "n")]
    assert [m["data"]["text"] for m in app.messages] == ["other"]


def test_a_partial_send_goes_on_after_a_restart(talk: Talk, app: CometChat) -> None:
    ferry = composing(talk)
    upload(ferry, text("1"), {"fileId": "2", "text": "x", "name": "2.png"})
    ferry.event("complete")
    app.faults.append(CometFault("message", after=1, status=400, body={"error": {"code": "ERR_X"}}))
    error = ferry.error("batch/send", batchId="b", caption="c", muid="m")
    assert told(error.data["messages"]) == [(["2"], "m")]
    ferry.kill()
    ferry = talk()
    sent = ferry.call("batch/send", batchId="b", caption="c", muid="m")
    assert told(sent["messages"]) == [(["1"], "m-2")]
    assert [m["data"].get("text") for m in app.messages] == ["c", None]


def test_what_lies_too_far_back_is_in_doubt(talk: Talk, app: CometChat) -> None:
    ferry = composing(talk)
    upload(ferry, text("1"))
    ferry.event("complete")
    app.faults.append(CometFault("message", drop="after"))
    asked = {"batchId": "b", "caption": "c", "muid": "m"}
    ferry.error("batch/send", **asked)
    for n in range(1000):
        app.add("alice", text=f"{n}")
    upload(ferry, text("2"))
    ferry.event("uploaded", fileId="2")
    error = ferry.error("batch/send", **asked)
    assert error.code == "ERR_PUBLISH_FAILED" and not error.data["retryable"]
    assert "batch/remove" in str(error)
    assert told(error.data["messages"]) == [(["2"], "m-2")]
    assert app.messages[-1]["data"].get("text") is None, "the first may have had the caption"
    assert [entry.get("inDoubt") for entry in entries(ferry)] == [True, None]
    upload(ferry, {"fileId": "3", "text": "x", "name": "3.png"})
    ferry.event("uploaded", fileId="3")
    images = ferry.call("batch/send", batchId="b", type="image")
    assert [m["fileIds"] for m in images["messages"]] == [["3"]], "no image is in doubt"
    again = ferry.call("batch/send", batchId="b", fileIds=["1"])
    assert [m["fileIds"] for m in again["messages"]] == [["1"]]


def uploaded(chat: Chat) -> Sidecar:
    ferry = chat()
    make(ferry, channel="ch")
    upload(ferry, text("1"), text("2"))
    ferry.event("complete")
    return ferry


@pytest.mark.parametrize("is_killed", [False, True])
def test_an_announcement_is_looked_for(chat: Chat, emulator: Emulator, is_killed: bool) -> None:
    ferry = uploaded(chat)
    emulator.faults.append(Fault("publish", drop="after"))
    assert ferry.error("batch/send", batchId="b").data["retryable"]
    if is_killed:
        ferry.kill()
        ferry = chat()
    upload(ferry, text("3"))
    ferry.event("uploaded", fileId="3")
    sent = ferry.call("batch/send", batchId="b", caption="other")["messages"]
    assert [m["fileIds"] for m in sent] == [["1"], ["2"], ["3"]]
    moments = [f"ch:{m.tt}" for m in emulator.channels.messages]
    assert [m["id"] for m in sent] == moments
    assert [entry["messageId"] for entry in entries(ferry)] == moments


@pytest.mark.parametrize("why", ["not stored", "not to be read"])
def test_where_nobody_can_tell_it_is_said(chat: Chat, emulator: Emulator, why: str) -> None:
    ferry = uploaded(chat)
    more = {"store": False} if why == "not stored" else {}
    if why == "not to be read":
        emulator.faults.append(Fault("history", status=403, times=9))
    emulator.faults.append(Fault("publish", drop="after"))
    ferry.error("batch/send", batchId="b", **more)
    error = ferry.error("batch/send", batchId="b", **more)
    assert error.code == "ERR_PUBLISH_FAILED" and not error.data["retryable"]
    assert [m["fileIds"] for m in error.data["messages"]] == [["2"]]
    assert len(emulator.requests("publish")) == 2, "the first is not announced again"
    emulator.faults.append(Fault("publish", status=403, times=9))
    ferry.error("batch/send", batchId="b", fileIds=["1"], **more)
    assert entries(ferry)[0]["inDoubt"], "a refusal says nothing of the first"
    emulator.faults.clear()
    again = ferry.call("batch/send", batchId="b", fileIds=["1"], **more)
    assert [m["fileIds"] for m in again["messages"]] == [["1"]]
    assert not any(entry.get("inDoubt") for entry in entries(ferry))


def test_what_was_found_is_told_where_the_rest_cannot_be(chat: Chat, emulator: Emulator) -> None:
    ferry = uploaded(chat)
    emulator.faults.append(Fault("publish", drop="after"))
    ferry.error("batch/send", batchId="b")
    error = ferry.error("batch/send", batchId="b", fileIds=["none"])
    assert error.code == "ERR_UNKNOWN_ID"
    assert [m["fileIds"] for m in error.data["messages"]] == [["1"]]


def test_a_long_list_says_that_it_is_cut(spawn: Any) -> None:
    ferry = spawn()
    make(ferry, concurrency=8)
    ids = [f"{n:03}-{'x' * 100}" for n in range(500)]
    upload(ferry, *({"fileId": id, "text": "x", "name": "n"} for id in ids))
    ferry.event("complete")
    sent = ferry.call("batch/send", batchId="b")
    assert sent["count"] == 500 and sent["truncated"] and 0 < len(sent["messages"]) < 500
    assert len({entry["messageId"] for entry in entries(ferry)}) == 500
