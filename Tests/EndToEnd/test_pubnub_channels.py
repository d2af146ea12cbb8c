"""Listening to PubNub's channels, through the emulator."""

from __future__ import annotations

import threading
import time
import urllib.error
import urllib.request

import pytest
from pubnub_support import Chat, Emulator, Fault
from sidecar import Sidecar

FILE = {"message": {"t": "hi"}, "file": {"id": "ID", "name": "a b.txt"}}


def polling(emulator: Emulator, names: str | None = None) -> None:
    """Waits until the service holds a poll (for these channels)."""
    emulator.wait_until(
        lambda seen: seen.route == "subscribe"
        and seen.params["tt"] != "0"
        and names in (None, seen.request.path.split("/")[4])
    )


def messages(ferry: Sidecar, count: int) -> list[dict]:
    return [ferry.event("message") for _ in range(count)]


def test_events_come_with_all_they_tell(chat: Chat, emulator: Emulator) -> None:
    ferry = chat()
    start = ferry.call("channel/subscribe", channels=["ch"])["timetoken"]
    assert ferry.event("status")["state"] == "connected"
    tt = emulator.publish("ch", FILE, 4, meta={"k": "v"}, custom_type="my-type")
    event = ferry.event("message")
    assert event == {
        "seq": event["seq"],
        "remote": "chat",
        "channel": "ch",
        "publisher": "other",
        "timetoken": str(tt),
        "type": "file",
        "customMessageType": "my-type",
        "meta": {"k": "v"},
        "message": {"t": "hi"},
        "file": {
            "id": "ID",
            "name": "a b.txt",
            "url": f"{emulator.origin}/v1/files/demo/channels/ch/files/ID/a%20b.txt"
            "?pnsdk=Ferry%2F1&uuid=me",
        },
    }
    assert int(start) < tt
    emulator.publish("ch", "plain text")
    assert ferry.event("message")["type"] == "message"
    sent = ferry.call("file/send", channel="ch", name="n", text="x")
    assert ferry.event("message")["file"]["id"] == sent["id"]
    ferry.call("channel/unsubscribe")
    assert ferry.event("status")["state"] == "disconnected"


def test_many_channels_share_a_connection(chat: Chat, emulator: Emulator) -> None:
    ferry = chat()
    ferry.call("channel/subscribe", channels=["b", "a"])
    ferry.call("channel/subscribe", channels=["c"])
    polling(emulator, "a,b,c")
    for name in ("a", "b", "c", "d"):
        emulator.publish(name, name)
    assert [m["channel"] for m in messages(ferry, 3)] == ["a", "b", "c"]
    ferry.call("channel/unsubscribe", channels=["b"])
    polling(emulator, "a,c")
    for name in ("b", "c"):
        emulator.publish(name, name)
    assert [m["channel"] for m in messages(ferry, 1)] == ["c"]


def test_channels_come_and_go_without_loss(chat: Chat, emulator: Emulator) -> None:
    ferry = chat()
    ferry.call("channel/subscribe", channels=["steady"])
    got: list[int] = []
    for number in range(40):
        emulator.publish("steady", number)
        if number % 2:
            ferry.call("channel/subscribe", channels=[f"x{number}"])
        if number % 4 == 3:
            ferry.call("channel/unsubscribe", channels=[f"x{number - 2}"])
    while len(got) < 40:
        got.append(ferry.event("message", channel="steady")["message"])
    assert got == list(range(40))


def test_groups_and_wildcards(chat: Chat, emulator: Emulator) -> None:
    emulator.channels.groups["g"] = ["in1", "in2"]
    ferry = chat()
    ferry.call("channel/subscribe", groups=["g"])
    ferry.call("channel/subscribe", channels=["w.*"])
    polling(emulator, "w.%2A")
    emulator.publish("in2", FILE, 4)
    emulator.publish("w.x", FILE, 4)
    first, second = messages(ferry, 2)
    assert (first["channel"], first["subscription"]) == ("in2", "g")
    assert (second["channel"], second["subscription"]) == ("w.x", "w.*")
    ferry.call("channel/unsubscribe", channels=["w.*"])
    polling(emulator, ",")
    ferry.call("channel/unsubscribe", groups=["g"])
    ferry.event("status", state="disconnected")
    error = ferry.error("channel/subscribe", groups=["unknown"])
    assert error.code == "ERR_PERMISSION_DENIED"
    assert error.data["phase"] == "subscribe"


def test_filters_are_the_services(chat: Chat, emulator: Emulator) -> None:
    ferry = chat()
    ferry.call("channel/subscribe", channels=["ch"], filter="k == 'yes' && n > 1")
    polling(emulator)
    emulator.publish("ch", 1, meta={"k": "no", "n": 2})
    emulator.publish("ch", 2, meta={"k": "yes", "n": 2})
    assert ferry.event("message")["message"] == 2
    error = ferry.error("channel/subscribe", channels=["ch"], filter="k =")
    assert error.code == "ERR_INVALID_ARGUMENT" and error.data["httpStatus"] == 481


def test_since_brings_what_was_missed(chat: Chat, emulator: Emulator) -> None:
    ferry = chat()
    first = emulator.publish("ch", 1)
    emulator.publish("ch", 2)
    ferry.call("channel/subscribe", channels=["other"])
    polling(emulator)
    emulator.publish("other", 3)
    assert ferry.event("message")["message"] == 3
    reply = ferry.call("channel/subscribe", channels=["ch"], since=str(first))
    assert reply["timetoken"] == str(first)
    emulator.publish("other", 4)
    assert [m["message"] for m in messages(ferry, 2)] == [2, 4]


@pytest.mark.parametrize(
    "fault", [{"status": 500}, {"drop": "before"}, {"drop": "after"}, {"status": 200, "body": "<"}]
)
def test_it_reconnects_without_a_gap(chat: Chat, emulator: Emulator, fault: dict) -> None:
    ferry = chat()
    ferry.call("channel/subscribe", channels=["ch"])
    ferry.event("status", state="connected")
    polling(emulator)
    emulator.faults.append(Fault("subscribe", times=3, **fault))
    for number in range(3):
        emulator.publish("ch", number)
    assert ferry.event("status")["state"] == "reconnecting"
    for number in range(3, 6):
        emulator.publish("ch", number)
    assert ferry.event("status")["state"] == "connected"
    assert [m["message"] for m in messages(ferry, 6)] == list(range(6))


def test_polls_that_fail_are_asked_ever_less_often(chat: Chat, emulator: Emulator) -> None:
    ferry = chat()
    ferry.call("channel/subscribe", channels=["ch"])
    polling(emulator)
    # Polls fail, and the questions between them, whether all is in order, do not.
    emulator.faults.append(Fault("subscribe", status=500))
    emulator.faults += [Fault("subscribe", after=1, status=500) for _ in range(3)]
    start = time.monotonic()
    emulator.publish("ch", 1)
    assert ferry.event("message")["message"] == 1
    emulator.wait("subscribe", 2 + 2 * 4 + 1)
    # At least a quarter of 1, 2, 4 and 8 seconds; without backing off at most 4 halves.
    assert time.monotonic() - start >= 3.75
    emulator.publish("ch", 2)
    assert ferry.event("message")["message"] == 2


def test_the_server_restarts(chat: Chat, emulator: Emulator) -> None:
    ferry = chat()
    ferry.call("channel/subscribe", channels=["ch"])
    polling(emulator)
    emulator.hang_up()
    emulator.publish("ch", 1)
    assert ferry.event("message")["message"] == 1


def test_the_server_goes_away_and_comes_back(chat: Chat, emulator: Emulator) -> None:
    ferry = chat()
    ferry.call("channel/subscribe", channels=["ch"])
    ferry.event("status", state="connected")
    polling(emulator)
    emulator.leave()
    assert ferry.event("status")["state"] == "reconnecting"
    emulator.publish("ch", 1)
    emulator.come_back()
    assert ferry.event("status")["state"] == "connected"
    assert ferry.event("message")["message"] == 1


def test_idle_polls_are_asked_again(chat: Chat, emulator: Emulator) -> None:
    emulator.hold = 0.2
    ferry = chat()
    ferry.call("channel/subscribe", channels=["ch"])
    emulator.wait("subscribe", 5)
    emulator.publish("ch", 1)
    assert ferry.event("message")["message"] == 1
    assert [s["params"]["state"] for s in ferry.received if s.get("method") == "status"] == [
        "connected"
    ]


def test_denied_until_there_are_credentials(chat: Chat, emulator: Emulator) -> None:
    emulator.access.tokens = {"t1": {"*": "r"}, "t2": {"*": "r"}}
    ferry = chat(authToken="t1")
    ferry.call("channel/subscribe", channels=["ch"])
    ferry.event("status", state="connected")
    polling(emulator)
    emulator.access.expired.add("t1")
    emulator.publish("ch", 1)
    assert ferry.event("message")["message"] == 1  # the poll was let in before
    status = ferry.event("status")
    assert status["state"] == "denied"
    assert status["error"]["data"]["code"] == "ERR_UNAUTHENTICATED"
    asked = len(emulator.requests("subscribe"))
    emulator.publish("ch", 2)
    assert len(emulator.requests("subscribe")) == asked  # nobody asks in vain
    ferry.call("remote/credentials", remote="chat", authToken="t2")
    assert ferry.event("status")["state"] == "connected"
    assert ferry.event("message")["message"] == 2
    assert emulator.requests("subscribe")[-1].params["auth"] == "t2"


def test_a_new_token_is_used_at_once(chat: Chat, emulator: Emulator) -> None:
    emulator.access.tokens = {"t1": {"*": "r"}, "t2": {"*": "r"}}
    ferry = chat(authToken="t1")
    ferry.call("channel/subscribe", channels=["ch"])
    polling(emulator)
    ferry.call("remote/credentials", remote="chat", authToken="t2")
    emulator.wait("subscribe", auth="t2")
    emulator.publish("ch", 1)
    assert ferry.event("message")["message"] == 1


def test_not_allowed_at_all(chat: Chat, emulator: Emulator) -> None:
    emulator.access.tokens = {}
    error = chat(authToken="none").error("channel/subscribe", channels=["ch"])
    assert error.code == "ERR_PERMISSION_DENIED" and error.data["phase"] == "subscribe"


def test_what_cannot_be_read_is_told_and_the_rest_goes_on(chat: Chat, emulator: Emulator) -> None:
    ferry = chat(crypto={"cipherKey": "enigma"})
    ferry.call("channel/subscribe", channels=["ch"])
    polling(emulator)
    emulator.publish("ch", "garbage", 4)
    emulator.publish("ch", FILE, 4)
    emulator.publish("ch", {"no": "file"}, 4)
    emulator.publish("ch", "garbage")
    sealed, plain, malformed, text = messages(ferry, 4)
    assert sealed["message"] == "garbage" and "file" not in sealed
    assert plain["file"]["id"] == "ID"
    for event in (sealed, plain, malformed, text):
        assert event["error"]["data"]["code"] == "ERR_DECRYPTION_FAILED"
    sent = ferry.call("file/send", channel="ch", name="n", text="x", message="sealed")
    event = ferry.event("message")
    assert event["message"] == "sealed" and "error" not in event
    assert event["file"]["id"] == sent["id"]


def test_messages_that_are_no_json_block_nothing(chat: Chat, emulator: Emulator) -> None:
    ferry = chat()
    ferry.call("channel/subscribe", channels=["ch"])
    polling(emulator)
    odd = [r'"\ud800"', "[" * 500 + "]" * 500, '"\x00"', '"sound"']
    fault = Fault("subscribe", status=200, gate=threading.Event())
    emulator.faults.append(fault)
    tt = emulator.publish("ch", "first")
    entries = [
        f'{{"c":"ch","p":{{"t":"{tt + n}"}},"d":{text}}}' for n, text in enumerate(odd, start=1)
    ]
    fault.body = f'{{"t":{{"t":"{tt + 9}","r":12}},"m":[{",".join(entries)}]}}'
    fault.gate.set()
    emulator.wait("subscribe", tt=str(tt + 9))
    emulator.publish("ch", "last")
    heard = messages(ferry, 6)
    assert [m.get("message") for m in heard] == ["first", None, None, None, "sound", "last"]
    assert ["error" in m for m in heard] == [False, True, True, True, False, False]
    assert "no JSON" in heard[1]["error"]["message"]
    entries = [f'{{"timetoken":"{tt + n}","message":{text}}}' for n, text in enumerate(odd)]
    body = f'{{"error":false,"channels":{{"ch":[{",".join(entries)}]}}}}'
    emulator.faults.append(Fault("history", status=200, body=body))
    page = ferry.call("channel/history", channel="ch")["messages"]
    assert ["error" in m for m in page] == [True, True, True, False]


@pytest.mark.parametrize("name", ["since", "start", "end"])
def test_moments_are_digits(chat: Chat, emulator: Emulator, name: str) -> None:
    ferry = chat()
    first = emulator.publish("ch", "first")
    where = {"channels": ["ch"]} if name == "since" else {"channel": "ch"}
    method = "channel/subscribe" if name == "since" else "channel/history"
    for wrong in ("-5", "x", "", "99999999999999999999", -5, 0):
        error = ferry.error(method, **where, **{name: wrong})
        assert error.code == "ERR_INVALID_ARGUMENT" and error.data["field"] == f"/{name}"
    reply = ferry.call(method, **where, **{name: "0"})
    if name == "since":
        assert ferry.event("message")["timetoken"] == str(first)
    else:
        assert len(reply["messages"]) == (1 if name == "end" else 0)


def test_an_announcement_without_message(chat: Chat, emulator: Emulator) -> None:
    ferry = chat()
    ferry.call("channel/subscribe", channels=["ch"])
    polling(emulator)
    emulator.publish("ch", {"file": {"id": "I", "name": "n"}}, 4)
    emulator.publish("ch", {"message": None, "file": {"id": "J", "name": "n"}}, 4)
    for event in messages(ferry, 2):
        assert event["type"] == "file" and "message" not in event


def test_a_burst_comes_whole_and_in_order(chat: Chat, emulator: Emulator) -> None:
    ferry = chat()
    ferry.call("channel/subscribe", channels=["ch"])
    polling(emulator)
    for number in range(2000):
        emulator.publish("ch", {"message": number, "file": {"id": "I", "name": "n"}}, 4)
    assert [m["message"] for m in messages(ferry, 2000)] == list(range(2000))


def test_channels_beyond_a_urls_length_are_refused_alone(chat: Chat, emulator: Emulator) -> None:
    def names(first: str) -> list[str]:
        return [first + "漢" * 88 + f"{i}" for i in range(30)]

    ferry = chat()
    ferry.call("channel/subscribe", channels=["live"])
    assert ferry.event("status")["state"] == "connected"
    ferry.call("channel/subscribe", channels=names("b"))
    error = ferry.error("channel/subscribe", channels=names("c"))
    assert error.code == "ERR_INVALID_ARGUMENT" and error.data["field"] == "/channels"
    for channel in ("live", names("b")[7]):
        emulator.publish(channel, 1)
        assert ferry.event("message")["channel"] == channel


def test_channels_added_at_once_are_refused_where_they_are_too_many(
    chat: Chat, emulator: Emulator
) -> None:
    ferry = chat()
    ferry.call("channel/subscribe", channels=["live"])
    polling(emulator)
    gate = threading.Event()
    emulator.faults.append(Fault("subscribe", times=2, gate=gate))
    calls = [
        ferry.start("channel/subscribe", channels=[p + "漢" * 88 + f"{i}" for i in range(30)])
        for p in "bc"
    ]
    emulator.wait("subscribe", 3, tt="0")
    gate.set()
    replies = [ferry.reply(call) for call in calls]
    assert sorted("error" in reply for reply in replies) == [False, True]
    emulator.publish("live", 1)
    assert ferry.event("message")["channel"] == "live"


@pytest.mark.parametrize("size", [40_000, 65_500, 500_000])
def test_the_emulator_says_that_a_url_is_too_long(emulator: Emulator, size: int) -> None:
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(f"{emulator.origin}/v2/subscribe/demo/{'a' * size}/0?uuid=u&tt=0")
    assert error.value.code == 414


@pytest.mark.parametrize(
    ("first", "second", "channel"),
    [
        ({"channels": ["a.*"]}, {"channels": ["a.b"]}, "a.b"),
        ({"channels": ["a.b"]}, {"channels": ["a.*"]}, "a.b"),
        ({"groups": ["g1"]}, {"groups": ["g2"]}, "x"),
    ],
)
def test_another_name_of_a_channel_loses_nothing(
    chat: Chat, emulator: Emulator, first: dict, second: dict, channel: str
) -> None:
    emulator.channels.groups.update({"g1": ["x"], "g2": ["x"]})
    ferry = chat()
    ferry.call("channel/subscribe", **first)
    assert ferry.event("status")["state"] == "connected"
    polling(emulator)
    emulator.faults.append(Fault("subscribe", status=503, headers={"Retry-After": "60"}))
    emulator.publish(channel, 0)  # ends the poll that is held
    assert ferry.event("message")["message"] == 0
    assert ferry.event("status")["state"] == "reconnecting"
    emulator.publish(channel, 1)
    ferry.call("channel/subscribe", **second)
    emulator.publish(channel, 2)
    assert [m["message"] for m in messages(ferry, 2)] == [1, 2]


def test_a_url_that_is_too_long_all_the_same_ends_it(chat: Chat, emulator: Emulator) -> None:
    ferry = chat()
    ferry.call("channel/subscribe", channels=["ch"])
    assert ferry.event("status")["state"] == "connected"
    polling(emulator)
    body = {"message": "Request URI Too Long", "error": True, "service": "Balancer", "status": 414}
    emulator.faults.append(Fault("subscribe", times=9, status=414, body=body))
    emulator.publish("ch", 1)  # ends the poll that is held
    status = ferry.event("status")
    assert status["state"] == "disconnected" and status["error"]["data"]["httpStatus"] == 414
    # Nothing more is asked, and what is short enough can be subscribed to anew.
    emulator.faults.clear()
    ferry.call("channel/subscribe", channels=["ch"])
    assert [s.params["tt"] == "0" for s in emulator.requests("subscribe")[:4]] == [
        True,
        False,
        False,
        True,
    ]
