"""Single files, messages and downloads on CometChat."""

from __future__ import annotations

from typing import Any

import pytest
from cometchat_support import BOB, CometChat, CometFault, Talk
from files import MIB, content, sha256, write_file


def test_a_file_is_sent_and_fetched(talk: Talk, app: CometChat) -> None:
    ferry = talk()
    data = content(3 * MIB)
    (ferry.work / "a b.png").write_bytes(data)
    sent = ferry.call(
        "file/send", channel="user:Bob", path="a b.png", message="look", meta={"k": 1}
    )
    [told] = app.messages
    assert (told["type"], told["data"]["text"]) == ("image", "look")
    assert told["data"]["metadata"] == {"k": 1}
    assert told["receiver"] == "bob" and sent["timetoken"] == told["id"]
    assert (sent["name"], sent["size"], sent["sha256"]) == ("a b.png", 3 * MIB, sha256(data))
    assert [s.route for s in app.seen] == ["settings", "presign", "upload", "message"]
    message = f"{BOB}:{sent['timetoken']}"
    (ferry.work / "got").mkdir()
    got = ferry.call("file/download", messageId=message, target="got/")
    assert got["sha256"] == sha256(data) and got["path"].endswith("/got/a b.png")
    by_url = ferry.call("file/download", url=sent["url"], target="copy")
    assert by_url["sha256"] == sha256(data)
    shown = ferry.call("message/get", messageId=message)
    assert shown["file"]["name"] == "a b.png" and shown["publisher"] == "alice"
    assert shown["message"] == {"text": "look"} and shown["meta"] == {"k": 1}
    assert shown["sentAt"] == told["sentAt"] * 1000
    assert "attachments" not in shown


def test_history_is_paged(talk: Talk, app: CometChat) -> None:
    ids = [app.add("alice", text=f"{n}") for n in range(25)]
    app.add("team", "group", text="elsewhere")
    app.messages[3]["deletedAt"] = 1
    ferry = talk()
    seen: list[str] = []
    params: dict[str, Any] = {}
    while True:
        page = ferry.call("channel/history", channel=BOB, limit=10, **params)
        seen = [m["timetoken"] for m in page["messages"]] + seen
        if "more" not in page:
            break
        params = {"start": page["more"]["start"]}
    assert seen == [str(n) for n in ids if n != ids[3]]
    page = ferry.call("channel/history", channel=BOB, start=str(ids[9]), end=str(ids[7]))
    assert [m["timetoken"] for m in page["messages"]] == [str(ids[7]), str(ids[8])]
    assert [m["type"] for m in page["messages"]] == ["message", "message"]
    assert ferry.call("channel/history", channel="group:team")["messages"][0]["publisher"] == "bob"


def test_messages_are_found_and_deleted_in_their_conversation_only(
    talk: Talk, app: CometChat
) -> None:
    ferry = talk()
    mine = ferry.call("file/send", channel=BOB, name="n", text="x")["timetoken"]
    theirs = app.add("alice", text="of bob")
    for wrong in (f"user:carol:{mine}", f"group:team:{mine}", f"{BOB}:1"):
        assert ferry.error("message/get", messageId=wrong).code == "ERR_NOT_FOUND"
        assert ferry.error("message/delete", messageId=wrong).code == "ERR_NOT_FOUND"
    assert ferry.call("message/delete", messageId=f"{BOB}:{mine}") == {}
    assert ferry.error("message/get", messageId=f"{BOB}:{mine}").code == "ERR_NOT_FOUND"
    refused = ferry.error("message/delete", messageId=f"{BOB}:{theirs}")
    assert refused.code == "ERR_PERMISSION_DENIED"
    assert refused.data["serverCode"] == "ERR_MESSAGE_NOT_A_SENDER"


def test_an_address_that_expired_is_renewed_through_its_message(talk: Talk, app: CometChat) -> None:
    ferry = talk()
    path = ferry.work / "large"
    digest = write_file(path, 20 * MIB)
    sent = ferry.call("file/send", channel=BOB, path="large", name="large.bin")
    app.faults.append(CometFault("media", after=2, expire=True))
    got = ferry.call("file/download", messageId=f"{BOB}:{sent['timetoken']}", target="got")
    assert got["sha256"] == digest
    assert len(app.requests("get")) == 2
    app.faults.append(CometFault("media", times=9, expire=True))
    error = ferry.error("file/download", url=sent["url"])
    assert error.code == "ERR_PRESIGNED_URL_EXPIRED" and not error.data["retryable"]
    error = ferry.error("file/download", messageId=f"{BOB}:{sent['timetoken']}")
    assert error.code == "ERR_PRESIGNED_URL_EXPIRED" and error.data["retryable"]


def test_a_file_of_several(talk: Talk, app: CometChat) -> None:
    ferry = talk()
    ferry.call("batch/create", channel=BOB, batchId="b")
    items = [{"fileId": f"{n}", "text": f"{n}", "name": f"{n}.txt"} for n in range(3)]
    ferry.call("batch/upload", batchId="b", items=items)
    ferry.event("complete")
    [sent] = ferry.call("batch/send", batchId="b")["messages"]
    shown = ferry.call("message/get", messageId=sent["id"])
    assert [a["name"] for a in shown["attachments"]] == ["0.txt", "1.txt", "2.txt"]
    assert shown["file"]["name"] == "0.txt"
    inline = {"messageId": sent["id"], "target": {"inline": True}}
    assert ferry.call("file/download", **inline)["size"] == 1
    chosen = ferry.call("file/download", **inline, id=shown["attachments"][2]["id"])
    assert chosen["sha256"] == sha256(b"2")
    assert ferry.error("file/download", **inline, id="none").data["field"] == "/id"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("channel/subscribe", {"channels": [BOB]}),
        ("file/list", {"channel": BOB}),
        ("file/url", {"channel": BOB, "id": "i", "name": "n"}),
        ("file/delete", {"channel": BOB, "id": "i", "name": "n"}),
        ("file/publish", {"channel": BOB, "id": "i", "name": "n"}),
        ("file/download", {"channel": BOB, "id": "i", "name": "n"}),
        ("object/put", {"ref": "a", "text": "x"}),
        ("object/get", {"ref": "a"}),
        ("object/list", {}),
        ("object/delete", {"ref": "a"}),
        ("object/metadata", {"ref": "a"}),
        ("object/url", {"ref": "a"}),
        ("batch/create", {"prefix": "p"}),
    ],
)
def test_what_cometchat_has_not(talk: Talk, method: str, params: dict[str, Any]) -> None:
    assert talk().error(method, **params).code == "ERR_UNSUPPORTED"


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"channel": "bob"}, "/channel"),
        ({"channel": "user:"}, "/channel"),
        ({"channel": "user:b b"}, "/channel"),
        ({"message": {"a": 1}}, "/message"),
        ({"message": 5}, "/message"),
        ({"meta": "text"}, "/meta"),
        ({"ttl": 2}, "/ttl"),
        ({"store": False}, "/store"),
        ({"customMessageType": "abc"}, "/customMessageType"),
        ({"cipherKey": "k"}, "/cipherKey"),
        ({"message": "c" * 11_000}, "/caption"),
    ],
)
def test_what_a_message_does_not_take_is_found_before_the_upload(
    talk: Talk, app: CometChat, params: dict[str, Any], field: str
) -> None:
    error = talk().error("file/send", **{"channel": BOB, "name": "n", "text": "x", **params})
    assert error.data["field"] == field
    assert app.requests("upload") == []


def test_new_credentials(talk: Talk, app: CometChat) -> None:
    ferry = talk(authToken="old-token")
    error = ferry.error("file/send", channel=BOB, name="n", text="x", transferId="t")
    assert error.code == "ERR_UNAUTHENTICATED" and "old-token" not in str(error)
    ferry.call("remote/credentials", remote="talk", authToken=app.token)
    ferry.event("failure", transferId="t")
    ferry.call("transfer/retry", transferId="t")
    ferry.event("uploaded", transferId="t")
    wrong = ferry.error("remote/credentials", remote="talk", idToken="x")
    assert wrong.code == "ERR_INVALID_ARGUMENT"


def test_what_initialize_says(talk: Talk) -> None:
    ferry = talk()
    [remote] = ferry.call("initialize")["remotes"]
    assert remote["capabilities"] == ["files", "channels", "batches"]


def test_a_download_goes_on_after_a_kill(talk: Talk, app: CometChat) -> None:
    first = talk()
    digest = write_file(first.work / "large", 24 * MIB)
    sent = first.call("file/send", channel=BOB, path="large", name="large.bin")
    first.call("limits/set", downloadRate=8 * MIB)
    ask = {"messageId": f"{BOB}:{sent['timetoken']}", "target": "got", "transferId": "get"}
    first.start("file/download", **ask)
    app.wait("media", 3)
    first.kill()
    before = len(app.requests("media"))
    second = talk()
    assert second.call("file/download", **ask)["sha256"] == digest
    ranges = [s.request.headers["range"] for s in app.requests("media")[before:]]
    assert not any(r.startswith("bytes=0-") for r in ranges)


def test_doctor(talk: Talk, app: CometChat, run: Any) -> None:
    ferry = talk()
    [config] = ferry.home.glob("config-*.yaml")
    app.settings["file.count.max"] = 7
    done = run("doctor", str(config))
    assert done.returncode == 0 and "7 in a message" in done.stdout
    app.token = "another"
    done = run("doctor", str(config))
    assert done.returncode == 1 and "alice-token" not in done.stdout
    checked = run("check-config", str(config))
    assert "talk (cometchat, default): app app1 at http://127.0.0.1" in checked.stdout
