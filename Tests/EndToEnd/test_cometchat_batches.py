"""Batches on CometChat: what media messages show, and what they do not take."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from batch_support import Item, entries, make, upload
from cometchat_support import BOB, CometChat, CometFault, Talk
from sidecar import Sidecar


def item(name: str, body: str = "x", **more: Any) -> Item:
    """A file whose id is its name without what follows the dot."""
    return {"fileId": name.partition(".")[0], "text": body, "name": name, **more}


def filled(talk: Talk, *names: str, **params: Any) -> Sidecar:
    """With batch `b`, whose files are uploaded."""
    ferry = talk()
    make(ferry, channel=params.pop("channel", BOB), **params)
    upload(ferry, *map(item, names))
    assert ferry.event("complete")["counts"]["successful"] == len(names)
    return ferry


def send(ferry: Sidecar, **params: Any) -> list[dict[str, Any]]:
    return list(ferry.call("batch/send", batchId="b", **params)["messages"])


def test_one_message_per_kind(talk: Talk, app: CometChat) -> None:
    ferry = filled(talk, "1.txt", "2.png", "3.mp4", "4.mp3", "5.jpg")
    assert app.messages == []
    sent = send(ferry, caption="look", tags=["a", "b"], metadata={"mine": 1})
    told = [(m["type"], m["fileIds"]) for m in sent]
    assert told == [("image", ["2", "5"]), ("video", ["3"]), ("audio", ["4"]), ("file", ["1"])]
    assert [f"{BOB}:{m['id']}" for m in app.messages] == [m["id"] for m in sent]
    assert [m["type"] for m in app.messages] == ["image", "video", "audio", "file"]
    assert [m["data"].get("text") for m in app.messages] == ["look", None, None, None]
    for message in app.messages:
        assert message["data"]["metadata"] == {"batchId": "b", "mine": 1}
        assert message["tags"] == ["a", "b"] and message["receiver"] == "bob"
    muids = [m["muid"] for m in app.messages]
    assert len(set(muids)) == 4 and muids == [m["muid"] for m in sent]
    assert all(entry["sent"] for entry in entries(ferry))
    assert ferry.error("batch/send", batchId="b").code == "ERR_INVALID_ARGUMENT"


def test_one_message_for_all_and_a_given_muid(talk: Talk, app: CometChat) -> None:
    app.settings["file.count.max"] = 3
    ferry = talk()
    make(ferry, channel=BOB)
    upload(ferry, item("1.txt"), item("2.png"), item("3.mp4"))
    ferry.event("complete")
    sent = send(ferry, split="none", muid="m")
    assert [(m["type"], m["fileIds"], m["muid"]) for m in sent] == [("file", ["1", "2", "3"], "m")]


def test_files_of_one_kind(talk: Talk, app: CometChat) -> None:
    ferry = filled(talk, "1.txt", "2.png")
    assert [m["fileIds"] for m in send(ferry, type="image")] == [["2"]]
    assert ferry.error("batch/send", batchId="b", type="image").code == "ERR_INVALID_ARGUMENT"
    assert [m["fileIds"] for m in send(ferry)] == [["1"]]


def test_messages_are_cut_by_count(talk: Talk, app: CometChat) -> None:
    app.settings["file.count.max"] = 5
    ferry = filled(talk, *(f"{n}.png" for n in range(5)))
    app.settings["file.count.max"] = 2  # of another day: what is configured, or was read, holds
    ferry.finish()
    second = talk(limits={"maxFileCount": 2})
    sent = send(second, muid="m")
    assert [(m["fileIds"], m["muid"]) for m in sent] == [
        (["0", "1"], "m"), (["2", "3"], "m-2"), (["4"], "m-3"),
    ]  # fmt: skip


def test_messages_are_cut_by_length(talk: Talk, app: CometChat) -> None:
    ferry = talk()
    make(ferry, channel=BOB)
    upload(ferry, *({**item(f"{n}.png"), "name": f"{n}" * 900 + ".png"} for n in range(10)))
    assert ferry.event("complete")["counts"]["successful"] == 10
    sent = send(ferry, caption="c" * 1000)
    assert len(sent) >= 3
    assert sum((m["fileIds"] for m in sent), []) == [str(n) for n in range(10)]


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"caption": "c" * 11_000}, "/caption"),
        ({"metadata": {"m": "c" * 11_000}}, "/metadata"),
        ({"tags": ["t"] * 26}, "/tags"),
        ({"tags": ["t" * 101]}, "/tags"),
        ({"muid": "m" * 101}, "/muid"),
        ({"meta": {"a": 1}}, "/meta"),
        ({"ttl": 1}, "/ttl"),
        ({"store": False}, "/store"),
        ({"customMessageType": "abc"}, "/customMessageType"),
    ],
)
def test_what_a_message_does_not_take(
    talk: Talk, app: CometChat, params: dict[str, Any], field: str
) -> None:
    ferry = filled(talk, "1.txt", "2.png")
    error = ferry.error("batch/send", batchId="b", **params)
    assert error.data["field"] == field
    assert app.requests("message") == []
    assert len(send(ferry)) == 2


def test_a_thread(talk: Talk, app: CometChat) -> None:
    parent = app.add("alice", text="a question")
    ferry = filled(talk, "1.txt", parentMessageId=f"{BOB}:{parent}")
    send(ferry)
    assert app.messages[-1]["parentId"] == parent
    assert app.requests("message")[0].request.path == f"/v3.0/messages/{parent}/thread"
    other = app.add("alice", text="another")
    ferry.call("batch/configure", batchId="b", parentMessageId=str(other))
    upload(ferry, item("2.txt"))
    ferry.event("complete")
    send(ferry)
    assert app.messages[-1]["parentId"] == other
    ferry.call("batch/configure", batchId="b", parentMessageId=None)
    upload(ferry, item("3.txt"))
    ferry.event("uploaded", fileId="3")
    send(ferry)
    assert "parentId" not in app.messages[-1]
    for wrong in ("user:carol:5", "x", ""):
        error = ferry.error("batch/create", channel=BOB, parentMessageId=wrong)
        assert error.data["field"] == "/parentMessageId"


def test_a_channel_is_looked_at_when_the_batch_is_made(talk: Talk, app: CometChat) -> None:
    ferry = talk()
    for wrong in ("bob", "user:", "team:x", "user:b b", "user:a:b"):
        error = ferry.error("batch/create", channel=wrong)
        assert error.code == "ERR_INVALID_ARGUMENT" and error.data["field"] == "/channel"
    assert app.requests("presign") == []
    parent = app.add("alice", text="a question")
    thread = {"parentMessageId": f"user:BoB:{parent}"}
    make(ferry, channel="user:BOB", **thread)
    make(ferry, channel=BOB, **thread)  # the same
    upload(ferry, item("1.txt"))
    ferry.event("complete")
    [sent] = send(ferry)
    assert sent["id"].startswith(BOB + ":")


def test_a_group(talk: Talk, app: CometChat) -> None:
    ferry = filled(talk, "1.txt", channel="group:team")
    send(ferry)
    assert app.messages[-1]["receiverType"] == "group"
    make(ferry, "foreign", channel="group:others")
    upload(ferry, item("1.txt"), batch="foreign")
    error = ferry.event("error", batchId="foreign")["error"]
    assert error["data"]["code"] == "ERR_PRESIGNED_URL_FAILED"
    assert error["data"]["serverCode"] == "ERR_NOT_A_MEMBER" and not error["data"]["retryable"]


def test_a_server_acts_for_a_user(talk: Talk, app: CometChat) -> None:
    ferry = talk(
        authToken=None, clientBaseUrl=None, apiKey=app.api_key, onBehalfOf="Alice",
        apiBaseUrl=app.origin + "/v3",
    )  # fmt: skip
    make(ferry, channel=BOB)
    upload(ferry, item("1.txt"))
    ferry.event("complete")
    assert send(ferry)[0]["fileIds"] == ["1"]


@pytest.mark.parametrize("how", ["remove", "clear"])
def test_what_is_taken_out_while_it_is_sent_is_not_shown(
    talk: Talk, app: CometChat, how: str
) -> None:
    ferry = filled(talk, "1.png", "2.png", "3.mp4", "4.mp4")
    gate = threading.Event()
    app.faults.append(CometFault("message", gate=gate))
    sending = ferry.start("batch/send", batchId="b")
    app.wait("message")
    if how == "remove":
        assert ferry.call("batch/remove", batchId="b", fileId="3") == {"removed": True}
    else:
        ferry.call("batch/clear", batchId="b")
    gate.set()
    told = [m["fileIds"] for m in ferry.result(sending)["messages"]]
    assert told == [["1", "2"], ["4"]][: 1 + (how == "remove")]
    assert [len(m["data"]["attachments"]) for m in app.messages] == [len(ids) for ids in told]


def test_another_pick_is_no_going_on(talk: Talk, app: CometChat) -> None:
    ferry = filled(talk, "1.png", "2.mp4")
    app.faults.append(CometFault("message", after=1, status=503))
    error = ferry.error("batch/send", batchId="b", caption="cap", muid="m")
    assert error.data["retryable"]
    ferry.call("batch/remove", batchId="b", fileId="2")
    upload(ferry, item("3.png"))
    ferry.event("uploaded", fileId="3")
    assert [m["muid"] for m in send(ferry, caption="cap", muid="n")] == ["n"]
    assert [m["data"].get("text") for m in app.messages] == ["cap", "cap"]


def test_a_refusal_that_is_final_is_told_as_such(talk: Talk, app: CometChat) -> None:
    ferry = filled(talk, "1.png")
    body = {"error": {"code": "ERR_BLOCKED_RECEIVER", "message": "no"}}
    app.faults.append(CometFault("message", status=403, body=body))
    error = ferry.error("batch/send", batchId="b")
    assert error.code == "ERR_PUBLISH_FAILED" and not error.data["retryable"]
    assert error.data["serverCode"] == "ERR_BLOCKED_RECEIVER"


@pytest.mark.parametrize("name", ["naïve 100%.png", "a#b?c&d.png", "é.png", "e\u0301 🙂.png"])
def test_any_name_can_be_shown(talk: Talk, app: CometChat, name: str) -> None:
    ferry = filled(talk, name)
    send(ferry)
    [attachment] = app.messages[0]["data"]["attachments"]
    assert attachment["name"] == name
