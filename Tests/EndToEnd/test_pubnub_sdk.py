"""Ferry and PubNub's own Python SDK on one keyset, in both directions."""

from __future__ import annotations

import base64

import pytest
from files import content
from pubnub_peer import FORMS, Peer
from pubnub_support import Chat, Emulator

# Without a form nothing is encrypted.
ALL = [None, *FORMS]
# As ferry is configured for what the SDK does.
CRYPTO = {
    None: None,
    "acrh": {"cipherKey": "enigma"},
    "legacy": {"cipherKey": "enigma", "module": "legacy"},
    "constant": {"cipherKey": "enigma", "module": "legacy", "randomIV": False},
}
LARGEST = {None: 5_242_880, "acrh": 5_242_847, "legacy": 5_242_863, "constant": 5_242_879}
NAMES = ["plain.txt", "with space.txt", "ünï 私 🙃.bin"]


@pytest.mark.parametrize("form", ALL)
def test_ferry_sends_and_the_sdk_receives(chat: Chat, emulator: Emulator, form: str | None) -> None:
    ferry = chat(crypto=CRYPTO[form])
    peer = Peer(emulator.origin, form)
    sizes = [1, 16, 70_000, LARGEST[form]] + ([] if form else [0])
    for number, size in enumerate(sizes):
        name = NAMES[number % len(NAMES)]
        (ferry.work / "a").write_bytes(content(size))
        message = {"n": number}
        sent = ferry.call("file/send", channel="ch", path="a", name=name, message=message)
        assert peer.download("ch", sent["id"], name) == content(size)
        entry = peer.history("ch")[-1]
        file = {"id": sent["id"], "name": name}
        assert entry.message == {"message": message, "file": file}
        assert str(entry.message_type) in ("4", "PNMessageType.FILE") and entry.uuid == "me"
    assert {file["name"] for file in peer.list("ch")} == set(NAMES)


@pytest.mark.parametrize("form", ALL)
def test_the_sdk_sends_and_ferry_receives(chat: Chat, emulator: Emulator, form: str | None) -> None:
    ferry = chat(crypto=CRYPTO[form])
    peer = Peer(emulator.origin, form)
    ferry.call("channel/subscribe", channels=["ch"])
    for number, size in enumerate([1, 16, 70_000, LARGEST[form]]):
        name = NAMES[number % len(NAMES)]
        sent = peer.send("ch", name, content(size), {"n": number}, meta={"k": "v v"})
        event = ferry.event("message")
        assert event["file"]["id"] == sent.file_id and event["file"]["name"] == name
        assert event["message"] == {"n": number} and event["meta"] == {"k": "v v"}
        assert event["publisher"] == "peer" and "error" not in event
        ferry.call(
            "file/download",
            channel="ch",
            id=sent.file_id,
            name=name,
            target="b",
            overwrite=True,
        )
        assert (ferry.work / "b").read_bytes() == content(size)
    history = ferry.call("channel/history", channel="ch")["messages"]
    assert [m["message"]["n"] for m in history] == [0, 1, 2, 3]
    listed = ferry.call("file/list", channel="ch")["files"]
    assert [file["id"] for file in listed] == [m["file"]["id"] for m in history]


@pytest.mark.parametrize("form", [None, "acrh", "legacy"])
def test_the_sdk_listens(chat: Chat, emulator: Emulator, form: str | None) -> None:
    ferry = chat(crypto=CRYPTO[form])
    peer = Peer(emulator.origin, form)
    try:
        events = peer.listen("ch")
        for number in range(3):
            sent = ferry.call("file/send", channel="ch", name="n.txt", text="x", message=number)
            event = events.get(timeout=20)
            assert event.file_id == sent["id"] and event.file_name == "n.txt"
            assert event.message == number and event.publisher == "me"
    finally:
        peer.stop()


def test_both_forms_are_read_whatever_is_written(chat: Chat, emulator: Emulator) -> None:
    ferry = chat(crypto=CRYPTO["acrh"])
    for form in ("acrh", "legacy"):
        sent = Peer(emulator.origin, form).send("ch", "n", b"hello", form)
        got = ferry.call(
            "file/download", channel="ch", id=sent.file_id, name="n", target={"inline": True}
        )
        assert base64.b64decode(got["data"]) == b"hello"
    history = ferry.call("channel/history", channel="ch")["messages"]
    assert [m["message"] for m in history] == ["acrh", "legacy"]


def test_a_key_of_one_request_is_the_sdks_old_form(chat: Chat, emulator: Emulator) -> None:
    ferry = chat()
    sent = ferry.call("file/send", channel="ch", name="n", text="hello", cipherKey="enigma")
    assert Peer(emulator.origin, "legacy").download("ch", sent["id"], "n") == b"hello"


def test_signatures_of_both(chat: Chat, emulator: Emulator) -> None:
    emulator.access.secret_key = "sec"
    emulator.access.tokens = {}
    ferry = chat(secretKey="sec")
    peer = Peer(emulator.origin, secret_key="sec")
    sent = peer.send("ch", "a b.txt", b"x", "m", meta={"a": "b c"}, custom_message_type="my-type")
    [entry] = ferry.call("channel/history", channel="ch")["messages"]
    assert entry["meta"] == {"a": "b c"} and entry["customMessageType"] == "my-type"
    ferry.call("file/delete", channel="ch", id=sent.file_id, name="a b.txt")
    assert peer.list("ch") == []
