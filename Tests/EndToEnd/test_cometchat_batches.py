"""Batches on CometChat: what media messages show, and what they do not take."""

from __future__ import annotations

from typing import Any

import pytest
from batch_support import Item, entries, make, upload
from cometchat_support import BOB, CometChat, Talk
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
    for wrong in ("user:carol:5", "x", ""):
        error = ferry.error("batch/create", channel=BOB, parentMessageId=wrong)
        assert error.data["field"] == "/parentMessageId"


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
