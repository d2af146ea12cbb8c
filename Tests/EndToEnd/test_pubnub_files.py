"""Files on PubNub's channels, through the emulator."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
import urllib.request
from pathlib import Path

import pytest
from files import content, sha256
from pubnub_support import Chat, Emulator, Fault
from sidecar import Sidecar

LARGEST = 5_242_880
FORMS = {
    "acrh": ({"cipherKey": "enigma"}, 5_242_847),
    "legacy": ({"cipherKey": "enigma", "module": "legacy"}, 5_242_863),
    "constant": ({"cipherKey": "enigma", "module": "legacy", "randomIV": False}, 5_242_879),
}


def inline(ferry: Sidecar, sent: dict, **more: object) -> bytes:
    got = ferry.call(
        "file/download",
        channel=sent["channel"],
        id=sent["id"],
        name=sent["name"],
        target={"inline": True},
        **more,
    )
    return base64.b64decode(got["data"])


def test_two_keys_and_a_user_are_enough(chat: Chat, emulator: Emulator) -> None:
    ferry = chat()
    sent = ferry.call(
        "file/send",
        channel="ch",
        name="a b é#?.txt",
        text="hello",
        message={"t": "hi + / ~"},
        meta={"k": "v v"},
        ttl=2,
        replicate=False,
        customMessageType="my-type",
        query={"seqn": 7},
    )
    assert sent["size"] == 5 and sent["sha256"] == sha256(b"hello")
    ferry.event("uploaded", transferId=sent["transferId"])
    [publish] = emulator.requests("publish")
    assert publish.params == {
        "meta": '{"k": "v v"}',
        "store": "1",
        "ttl": "2",
        "norep": "true",
        "custom_message_type": "my-type",
        "seqn": "7",
        "pnsdk": "Ferry/1",
        "uuid": "me",
    }
    [post] = emulator.storage.posts
    assert post.query == "" and "authorization" not in post.headers
    assert post.headers["content-length"] == str(len(post.body))
    assert "expect" not in post.headers
    names = re.findall(rb'; name="([^"]+)"', post.body)
    assert names == [
        *(b"tagging", b"key", b"Content-Type", b"X-Amz-Credential", b"X-Amz-Security-Token"),
        *(b"X-Amz-Algorithm", b"X-Amz-Date", b"Policy", b"X-Amz-Signature", b"file"),
    ]
    page = ferry.call("file/list", channel="ch")
    assert page["count"] == 1 and page["next"] is None
    assert page["files"][0] | {"created": ""} == {
        "id": sent["id"],
        "name": "a b é#?.txt",
        "size": 5,
        "created": "",
    }
    assert inline(ferry, sent) == b"hello"
    with urllib.request.urlopen(sent["url"], timeout=10) as answer:  # follows the redirect
        assert answer.read() == b"hello"
        assert answer.headers["Content-Type"] == "text/plain"
    ferry.call("file/delete", channel="ch", id=sent["id"], name=sent["name"])
    assert ferry.call("file/list", channel="ch")["files"] == []
    error = ferry.error("file/download", channel="ch", id=sent["id"], name=sent["name"])
    assert error.code == "ERR_NOT_FOUND" and error.data["serverCode"] == "NoSuchKey"


@pytest.mark.parametrize("size", [0, 1, 100_000, LARGEST])
def test_sizes(chat: Chat, emulator: Emulator, size: int) -> None:
    ferry = chat()
    data = content(size)
    (ferry.work / "a.bin").write_bytes(data)
    sent = ferry.call("file/send", channel="ch", path="a.bin")
    [blob] = emulator.storage.blobs.values()
    assert blob.body == data
    assert sent["contentType"] == blob.type == "application/octet-stream"
    got = ferry.call("file/download", channel="ch", id=sent["id"], name="a.bin", target="b.bin")
    assert Path(got["path"]).read_bytes() == data and got["sha256"] == sent["sha256"]


@pytest.mark.parametrize("source", ["path", "data", "text", "stream", "sized stream"])
def test_sources(chat: Chat, emulator: Emulator, source: str) -> None:
    ferry = chat()
    params: dict[str, object] = {"name": "n.txt"}
    if source == "path":
        (ferry.work / "n.txt").write_text("hello")
        params["path"] = "n.txt"
    elif source == "data":
        params["data"] = base64.b64encode(b"hello").decode()
    elif source == "text":
        params["text"] = "hello"
    else:
        params["stream"] = {"size": 5} if source == "sized stream" else {}
        params["transferId"] = "s"
    request = ferry.start("file/send", channel="ch", **params)
    if "stream" in source:
        ferry.call("stream/write", transferId="s", data=base64.b64encode(b"hello").decode())
        ferry.call("stream/close", transferId="s")
    ferry.result(request)
    [blob] = emulator.storage.blobs.values()
    assert blob.body == b"hello"


def test_targets(chat: Chat) -> None:
    ferry = chat()
    data = content(3_000_000)
    (ferry.work / "a").write_bytes(data)
    sent = ferry.call("file/send", channel="ch", path="a")
    key = {"channel": "ch", "id": sent["id"], "name": "a"}
    got = ferry.call("file/download", **key)
    assert got["temporary"] and Path(got["path"]).read_bytes() == data
    request = ferry.start("file/download", **key, target={"stream": True}, transferId="s")
    pieces = []
    while True:
        piece = ferry.call("stream/read", transferId="s")
        pieces.append(base64.b64decode(piece["data"]))
        if piece["eof"]:
            break
    assert b"".join(pieces) == data
    assert ferry.result(request)["sha256"] == sha256(data)
    by_message = ferry.call("file/download", messageId=f"ch:{sent['timetoken']}", target="m")
    assert Path(by_message["path"]).read_bytes() == data
    by_url = ferry.call("file/download", url=sent["url"], target="u")
    assert Path(by_url["path"]).read_bytes() == data
    assert ferry.error("file/download", url="http://x/y", target="v").code == "ERR_INVALID_ARGUMENT"


@pytest.mark.parametrize("form", list(FORMS))
def test_encryption(chat: Chat, emulator: Emulator, form: str) -> None:
    crypto, largest = FORMS[form]
    ferry = chat(crypto=crypto)
    for size in (1, 16, largest):
        data = content(size)
        (ferry.work / "a").write_bytes(data)
        sent = ferry.call("file/send", channel="ch", path="a", message="secret")
        assert sent["size"] == size and sent["sha256"] == sha256(data)
        blob = list(emulator.storage.blobs.values())[-1]
        assert len(blob.body) <= LARGEST and (size < 16 or data not in blob.body)
        assert blob.body.startswith(b"PNED\x01ACRH\x10") == (form == "acrh")
        assert isinstance(emulator.channels.messages[-1].payload, str)
        assert blob.type == "application/octet-stream"
        got = ferry.call(
            "file/download", channel="ch", id=sent["id"], name="a", target="b", overwrite=True
        )
        assert got["size"] == size and (ferry.work / "b").read_bytes() == data
    [*_, last] = ferry.call("channel/history", channel="ch")["messages"]
    assert last["message"] == "secret" and last["file"]["id"] == sent["id"] and "error" not in last
    (ferry.work / "a").write_bytes(content(largest + 1))
    asked = len(emulator.seen)
    error = ferry.error("file/send", channel="ch", path="a")
    assert error.code == "ERR_FILE_SIZE_EXCEEDED" and error.data["fileUploaded"] is False
    error = ferry.error("file/send", channel="ch", name="n", text="")
    assert error.code == "ERR_FILE_DATA_EMPTY"
    assert len(emulator.seen) == asked
    assert not list((ferry.home / ".local/state/ferry/tmp").iterdir())


def test_encrypted_streams_and_replies(chat: Chat) -> None:
    ferry = chat(crypto={"cipherKey": "enigma"})
    data = content(2_500_000)
    request = ferry.start("file/send", channel="ch", name="n", stream={}, transferId="s")
    for start in range(0, len(data), 500_000):
        piece = base64.b64encode(data[start : start + 500_000]).decode()
        ferry.call("stream/write", transferId="s", data=piece)
    ferry.call("stream/close", transferId="s")
    sent = ferry.result(request)
    assert sent["sha256"] == sha256(data)
    small = ferry.call("file/send", channel="ch", name="n", text="hello")
    assert inline(ferry, small) == b"hello"


@pytest.mark.parametrize("damage", ["cut", "changed", "other key", "empty", "unknown"])
def test_nothing_is_left_of_what_cannot_be_decrypted(
    chat: Chat, emulator: Emulator, damage: str
) -> None:
    ferry = chat(crypto={"cipherKey": "enigma"})
    (ferry.work / "a").write_bytes(content(2_000_000))
    sent = ferry.call("file/send", channel="ch", path="a")
    [blob] = emulator.storage.blobs.values()
    # The last block decides the padding, and 8 of its bits are as good as any others.
    blob.body = {
        "cut": blob.body[:-1],
        "changed": blob.body[:-16] + bytes(16),
        "other key": blob.body,
        "empty": b"",
        "unknown": b"PNED\x01ACRB\x10" + blob.body[10:],
    }[damage]
    if damage == "other key":
        emulator.storage.blobs[next(iter(emulator.storage.blobs))].body = b"x" * 32
    error = ferry.error("file/download", channel="ch", id=sent["id"], name="a", target="b")
    assert error.code == "ERR_DECRYPTION_FAILED" and not error.data["retryable"]
    assert sorted(p.name for p in ferry.work.iterdir()) == ["a"]


def test_a_key_of_one_request(chat: Chat, emulator: Emulator, home: Path) -> None:
    ferry = chat()
    key = "hunter2-and-more"
    sent = ferry.call("file/send", channel="ch", name="n", text="hello", cipherKey=key)
    [blob] = emulator.storage.blobs.values()
    assert len(blob.body) == 32 and not blob.body.startswith(b"PNED")
    assert inline(ferry, sent, cipherKey=key) == b"hello"
    [message] = ferry.call("channel/history", channel="ch", cipherKey=key)["messages"]
    assert message["file"]["id"] == sent["id"]
    [sealed] = ferry.call("channel/history", channel="ch")["messages"]
    assert "error" in sealed and "file" not in sealed
    for file in home.rglob("*"):
        if file.is_file() and "config" not in file.name:
            assert key.encode() not in file.read_bytes(), file


def test_local_remotes_refuse_what_only_pubnub_can(chat: Chat, home: Path) -> None:
    ferry = chat(remotes={"disk": {"kind": "local", "root": str(home / "disk")}})
    send = {"channel": "ch", "name": "n", "text": "x", "remote": "disk"}
    assert ferry.error("file/send", **send, cipherKey="k").data["field"] == "/cipherKey"
    error = ferry.error("channel/subscribe", channels=["ch"], groups=["g"], remote="disk")
    assert error.data["field"] == "/groups"
    error = ferry.error("channel/subscribe", channels=["ch"], filter="a == 1", remote="disk")
    assert error.data["field"] == "/filter"
    assert ferry.error("object/list", ref="a").code == "ERR_UNSUPPORTED"
    assert ferry.error("object/put", ref="a", text="x").code == "ERR_UNSUPPORTED"


@pytest.mark.parametrize(
    "change, field",
    [
        ({"channel": "a b"}, "/channel"),
        ({"customMessageType": "ts"}, "/customMessageType"),
        ({"message": "x" * 33_000}, "/message"),
        ({"query": {"uuid": "x"}}, "/query"),
        ({"query": {"a": []}}, "/query/a"),
    ],
)
def test_what_cannot_work_is_refused_before_the_first_byte(
    chat: Chat, emulator: Emulator, change: dict, field: str
) -> None:
    ferry = chat()
    error = ferry.error("file/send", **{"channel": "ch", "name": "n", "text": "x", **change})
    assert error.code == "ERR_INVALID_ARGUMENT" and error.data["field"] == field
    assert emulator.seen == []


def test_push_payloads_pass_and_are_not_encrypted(chat: Chat, emulator: Emulator) -> None:
    ferry = chat(remotes={"sealed": {"crypto": {"cipherKey": "enigma"}}})
    message = {
        "pn_apns": {"aps": {"alert": "x"}, "pn_push": [{"targets": [{"excluded_devices": ["d"]}]}]},
        "pn_fcm": {"data": {"a": "b"}},
    }
    ferry.call("file/send", channel="ch", name="n", text="x", message=message)
    assert emulator.channels.messages[-1].payload["message"] == message
    error = ferry.error(
        "file/send", channel="ch", name="n", text="x", message=message, remote="sealed"
    )
    assert error.data["field"] == "/message/pn_apns"


def test_the_name_that_is_kept_is_used_from_then_on(chat: Chat, emulator: Emulator) -> None:
    emulator.faults.append(Fault("slot", rename="kept_name.txt"))
    ferry = chat()
    sent = ferry.call("file/send", channel="ch", name="my name.txt", text="hello")
    assert sent["name"] == "kept_name.txt"
    assert emulator.channels.messages[-1].payload["file"]["name"] == "kept_name.txt"
    assert inline(ferry, sent) == b"hello"


def test_paging(chat: Chat) -> None:
    ferry = chat()
    sent = [ferry.call("file/send", channel="ch", name=f"{i}", text="x")["id"] for i in range(5)]
    found: list[str] = []
    page = ferry.call("file/list", channel="ch", limit=2)
    while True:
        found += [file["id"] for file in page["files"]]
        if page["next"] is None:
            break
        page = ferry.call("file/list", channel="ch", limit=2, next=page["next"])
    assert found == sent
    newest = ferry.call("channel/history", channel="ch", limit=2)
    assert [m["file"]["id"] for m in newest["messages"]] == sent[3:]
    older = ferry.call("channel/history", channel="ch", limit=2, start=newest["more"]["start"])
    assert [m["file"]["id"] for m in older["messages"]] == sent[1:3]
    assert ferry.call("file/list", channel="never-used")["files"] == []
    assert ferry.call("channel/history", channel="never-used")["messages"] == []


def test_messages_one_by_one(chat: Chat) -> None:
    ferry = chat()
    one = ferry.call("file/send", channel="ch", name="1", text="x", message=1)
    two = ferry.call("file/send", channel="ch", name="2", text="x", message=2)
    got = ferry.call("message/get", messageId=f"ch:{one['timetoken']}")
    assert got["message"] == 1 and got["file"]["id"] == one["id"] and got["publisher"] == "me"
    ferry.call("message/delete", messageId=f"ch:{one['timetoken']}")
    assert ferry.error("message/get", messageId=f"ch:{one['timetoken']}").code == "ERR_NOT_FOUND"
    [left] = ferry.call("channel/history", channel="ch")["messages"]
    assert left["file"]["id"] == two["id"]
    again = ferry.call("file/publish", channel="ch", id=one["id"], name="1", message=3, store=False)
    assert int(again["timetoken"]) > int(two["timetoken"])
    assert len(ferry.call("channel/history", channel="ch")["messages"]) == 1


def test_signatures(chat: Chat, emulator: Emulator) -> None:
    emulator.access.secret_key = "sec"
    emulator.access.tokens = {}
    ferry = chat(secretKey="sec", userId="u~1 é")
    sent = ferry.call(
        "file/send", channel="ch~é", name="a ~b.txt", text="x", meta={"a": "b ~c"}, message="~"
    )
    assert inline(ferry, sent) == b"x"
    assert ferry.call("channel/history", channel="ch~é")["messages"][0]["meta"] == {"a": "b ~c"}
    with urllib.request.urlopen(sent["url"], timeout=10) as answer:
        assert answer.read() == b"x"
    ferry.call("file/delete", channel="ch~é", id=sent["id"], name=sent["name"])
    assert all("signature" in s.params for s in emulator.seen if s.route not in ("upload", "blob"))
    other = chat(secretKey="wrong")
    error = other.error("file/list", channel="ch")
    assert error.code == "ERR_UNAUTHENTICATED" and error.data["httpStatus"] == 403


def test_a_clock_that_is_off(chat: Chat, emulator: Emulator) -> None:
    emulator.access.secret_key = "sec"
    emulator.access.clock = 3600.0
    emulator.faults.append(
        Fault("slot", status=400, headers={"Date": http_date(3600)}, body={"error": True})
    )
    ferry = chat(secretKey="sec")
    ferry.call("file/send", channel="ch", name="n", text="x")
    assert [s.route for s in emulator.seen] == ["slot", "slot", "upload", "publish"]


def http_date(ahead: float) -> str:
    import email.utils
    import time

    return email.utils.formatdate(time.time() + ahead, usegmt=True)


def test_tokens_and_their_replacement(chat: Chat, emulator: Emulator) -> None:
    emulator.access.tokens = {"t-old": {"ch": "rwd"}, "t-new": {"*": "rwd"}}
    ferry = chat(authToken="t-old")
    sent = ferry.call("file/send", channel="ch", name="n", text="x")
    with urllib.request.urlopen(sent["url"], timeout=10) as answer:  # carries the token
        assert answer.read() == b"x"
    error = ferry.error("file/send", channel="other", name="n", text="x")
    assert error.code == "ERR_PERMISSION_DENIED"
    emulator.access.expired.add("t-old")
    error = ferry.error("file/send", channel="ch", name="n", text="x", transferId="again")
    assert error.code == "ERR_UNAUTHENTICATED" and error.data["httpStatus"] == 403
    assert error.data["serverMessage"] == "Token is expired"
    ferry.call("remote/credentials", remote="chat", authToken="t-new")
    ferry.call("transfer/retry", transferId="again")
    ferry.event("uploaded", transferId="again")
    assert ferry.error("remote/credentials", remote="chat", idToken="x").code == (
        "ERR_INVALID_ARGUMENT"
    )
    text = json.dumps(ferry.received)
    urls = sum(text.count(f'"url": "{emulator.origin}') for _ in (0,))
    assert text.count("t-old") + text.count("t-new") <= urls  # in URLs that are asked for, alone


def test_a_wrong_subscribe_key(chat: Chat) -> None:
    error = chat(subscribeKey="other").error("file/list", channel="ch")
    assert error.code == "ERR_CONFIG" and error.data["serverMessage"] == "Invalid Subscribe Key"
    assert error.data["phase"] == "list"


def test_hash_of_channels_is_the_services(emulator: Emulator) -> None:
    """The emulator's own keys, against recordings of the service."""
    assert emulator.storage.key("files_asyncio_ch", "i", "n").split("/")[1] == (
        "0MR1-z2w0nSJYxwEy74p5QjV85TmgNBKPrV71t55NT0"
    )
    assert hashlib.sha256(b"files_asyncio_ch").digest()


def test_a_key_per_request_is_kept_while_a_long_queue_waits(chat: Chat, emulator: Emulator) -> None:
    ferry = chat()
    emulator.faults.append(Fault("slot", times=4, delay=0.5))
    sends = [
        ferry.start("file/send", channel="c", name=f"{n}.txt", text=f"hello {n}", cipherKey="own")
        for n in range(120)
    ]
    for send in sends:
        ferry.result(send)
    blobs = emulator.storage.blobs.values()
    assert len(blobs) == 120
    assert not any(b"hello" in blob.body for blob in blobs)


def test_a_refusal_leaves_the_time_of_signatures_alone(chat: Chat, emulator: Emulator) -> None:
    emulator.access.secret_key = "sec"
    emulator.access.tokens = {}
    ferry = chat(secretKey="sec")
    sent = ferry.call("file/send", channel="ch", name="n", text="x")
    gate = threading.Event()
    emulator.faults.append(Fault("history", gate=gate))
    call = ferry.start("channel/history", channel="ch")
    emulator.wait("history")
    error = ferry.error("file/publish", channel="ch", id=sent["id"], name="n", message="m" * 40000)
    assert error.data["field"] == "/message"
    gate.set()
    [message] = ferry.result(call)["messages"]
    with urllib.request.urlopen(message["file"]["url"]) as answer:
        assert answer.read() == b"x"


@pytest.mark.parametrize(("of_a_moment", "to_a_page"), [(1, 3), (2, 2)])
def test_a_page_of_long_messages_is_cut_between_moments_and_not_asked_for_again(
    chat: Chat, emulator: Emulator, of_a_moment: int, to_a_page: int
) -> None:
    ferry = chat()
    for n in range(30):
        emulator.publish("ch", {"n": n, "x": "y" * 15_000})
    for n, message in enumerate(emulator.channels.messages):
        message.tt = emulator.channels.messages[n - n % of_a_moment].tt
    times = [str(message.tt) for message in emulator.channels.messages]
    seen: list[str] = []
    start: dict[str, str] = {}
    while True:
        page = ferry.call("channel/history", channel="ch", limit=100, **start)
        seen = [m["timetoken"] for m in page["messages"]] + seen
        if "more" not in page:
            break
        assert len(page["messages"]) == to_a_page
        start = page["more"]
    assert seen == times
    assert len(emulator.requests("history")) == 30 // to_a_page


def test_names_with_slashes(chat: Chat) -> None:
    ferry = chat()
    assert inline(ferry, ferry.call("file/send", channel="ch", name="a/b.txt", text="x")) == b"x"
