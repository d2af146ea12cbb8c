"""Several processes on one `local` remote: seen at once, once, in order; one winner; no half-made
files after a kill."""

from __future__ import annotations

import base64
import time
from statistics import median
from typing import Any, Callable

from files import MIB, content, parts, slow_upload
from sidecar import RpcError, Sidecar

Spawn = Callable[..., Sidecar]


def test_another_process_sees_a_message_within_100_ms(spawn: Spawn) -> None:
    watcher, sender = spawn(), spawn()
    watcher.call("channel/subscribe", channels=["c"])
    delays = []
    for i in range(25):
        request = sender.start("file/send", channel="c", text=str(i), name="n", transferId=f"t{i}")
        sender.event("uploaded", transferId=f"t{i}")
        begun = time.monotonic()
        watcher.event("message", channel="c")
        delays.append(time.monotonic() - begun)
        sender.result(request)
    assert median(delays) < 0.1 and max(delays) < 1, delays


def test_every_subscriber_gets_every_message_once_and_in_order(spawn: Spawn) -> None:
    watchers = [spawn() for _ in range(3)]
    senders = [spawn() for _ in range(3)]
    for watcher in watchers:
        watcher.call("channel/subscribe", channels=["a", "b"])
    requests: list[tuple[Sidecar, int]] = []
    for i in range(60):
        for number, sender in enumerate(senders):
            params: dict[str, Any] = {"channel": "ab"[i % 2], "text": "x", "message": [number, i]}
            requests.append((sender, sender.start("file/send", name="n", **params)))
    sent = [sender.result(request)["timetoken"] for sender, request in requests]
    assert len(set(sent)) == len(sent) == 180
    for watcher in watchers:
        got = [watcher.event("message")["timetoken"] for _ in sent]
        assert got == sorted(sent)
        assert watcher.call("ping") == {}
        assert sum(m.get("method") == "message" for m in watcher.received) == 180
    for number, _ in enumerate(senders):  # what one host sent one after the other stays in order
        own = [
            m["params"]["message"][1]
            for m in watchers[0].received
            if m.get("method") == "message" and m["params"]["message"][0] == number
        ]
        assert sorted(own) == list(range(60))
    history = watchers[0].call("channel/history", channel="a", limit=1000)["messages"]
    assert all(len(m["timetoken"]) == 17 for m in history)


def test_since_brings_what_was_missed_first(spawn: Spawn) -> None:
    sender, watcher = spawn(), spawn()
    sent = [
        sender.call("file/send", channel="c", text="x", name="n")["timetoken"] for _ in range(150)
    ]
    watcher.call("channel/subscribe", channels=["c"], since=sent[19])
    sent.append(sender.call("file/send", channel="c", text="x", name="n")["timetoken"])
    assert [watcher.event("message")["timetoken"] for _ in sent[20:]] == sent[20:]


def test_unsubscribed_channels_are_silent(spawn: Spawn) -> None:
    sender, watcher = spawn(), spawn()
    watcher.call("channel/subscribe", channels=["a"])
    watcher.call("channel/subscribe", channels=["b"])
    watcher.call("channel/unsubscribe", channels=["a", "never"])
    for channel in "acb":
        sender.call("file/send", channel=channel, text="x", name="n")
    assert watcher.event("message")["channel"] == "b"
    watcher.call("channel/unsubscribe")
    sender.call("file/send", channel="b", text="x", name="n")
    watcher.call("channel/history", channel="b")
    assert sum(m.get("method") == "message" for m in watcher.received) == 1


def test_announcements_that_are_not_stored_are_delivered_all_the_same(spawn: Spawn) -> None:
    sender, watcher = spawn(), spawn()
    watcher.call("channel/subscribe", channels=["c"])
    sender.call("file/send", channel="c", text="x", name="n", store=False, message="live")
    assert watcher.event("message")["message"] == "live"
    assert watcher.call("channel/history", channel="c")["messages"] == []
    assert watcher.call("file/list", channel="c")["count"] == 1


def test_history_pages_backwards_without_gaps(ferry: Sidecar) -> None:
    sent = [
        ferry.call("file/send", channel="c", text="x", name="n", message="m" * 2000)["timetoken"]
        for _ in range(130)
    ]
    seen: list[str] = []
    params: dict[str, Any] = {"channel": "c", "limit": 100}
    while True:
        page = ferry.call("channel/history", **params)
        seen = [m["timetoken"] for m in page["messages"]] + seen
        if "more" not in page:
            break
        params["start"] = page["more"]["start"]
    assert seen == sent


def test_a_message_too_long_for_a_line_is_announced_truncated(spawn: Spawn) -> None:
    sender, watcher = spawn(), spawn()
    watcher.call("channel/subscribe", channels=["c"])
    long = "long" * 20_000
    sent = sender.call("file/send", channel="c", text="x", name="n", message=long)
    message = watcher.event("message", timetoken=sent["timetoken"])
    assert message["truncated"] is True and "message" not in message
    assert message["file"]["id"] == sent["id"]
    patient = spawn()
    patient.call("initialize", maxOutLineBytes=MIB)
    assert patient.call("channel/history", channel="c")["messages"][0]["message"] == long


def test_one_of_several_conditional_puts_wins(spawn: Spawn) -> None:
    hosts = [spawn() for _ in range(4)]
    for i in range(25):
        requests = [
            (host, host.start("object/put", ref=f"r{i}", text=f"{n}" * 100, ifNoneMatch="*"))
            for n, host in enumerate(hosts)
        ]
        outcomes = []
        for host, request in requests:
            try:
                host.result(request)
                outcomes.append("")
            except RpcError as error:
                outcomes.append(error.code)
        assert sorted(outcomes) == ["", *["ERR_PRECONDITION_FAILED"] * 3]
        winner = outcomes.index("")
        got = hosts[i % 4].call("object/get", ref=f"r{i}", target={"inline": True})
        assert base64.b64decode(got["data"]) == f"{winner}".encode() * 100


def test_updates_by_etag_never_lose_one(spawn: Spawn) -> None:
    hosts = [spawn() for _ in range(3)]
    first = hosts[0].call("object/put", ref="count", text="")["metadata"]
    etag, generations = first["etag"], [int(first["generation"])]
    wins = 0
    while wins < 15:
        requests = [
            (host, host.start("object/put", ref="count", text="x" * (wins + 1), ifMatch=etag))
            for host in hosts
        ]
        results = [host.reply(request) for host, request in requests]
        [winner] = [r["result"] for r in results if "result" in r]
        etag = winner["metadata"]["etag"]
        generations.append(int(winner["metadata"]["generation"]))
        wins += 1
    metadata = hosts[0].call("object/metadata", ref="count")["metadata"]
    assert (metadata["size"], metadata["etag"]) == (15, etag)
    assert generations == sorted(set(generations))


def test_a_reader_keeps_the_content_it_began_with(spawn: Spawn) -> None:
    reader, writer = spawn(), spawn()
    old = content(4 * MIB)
    (writer.work / "old").write_bytes(old)
    writer.call("object/put", ref="a", path="old")
    request = reader.start("object/get", ref="a", target={"stream": True}, transferId="t")
    data = base64.b64decode(reader.call("stream/read", transferId="t")["data"])
    writer.call("object/put", ref="a", text="new")
    writer.call("object/delete", ref="a")
    while True:
        piece = reader.call("stream/read", transferId="t")
        data += base64.b64decode(piece["data"])
        if piece["eof"]:
            break
    assert data == old and reader.result(request)["size"] == len(old)


def test_a_killed_process_leaves_nothing_half_made(spawn: Spawn) -> None:
    victim, witness = spawn(), spawn()
    slow_upload(victim)
    victim.kill()
    assert witness.error("object/metadata", ref="big").code == "ERR_NOT_FOUND"
    heir = spawn()
    heir.call("object/put", ref="other", text="x")
    heir.close_stdin()
    heir.wait_exit()
    assert parts(heir.home) == []


def test_processes_may_be_killed_at_any_moment(spawn: Spawn) -> None:
    """What was answered is there, whole; what was not is there whole or not at all."""
    answered = {}
    for round_number in range(8):
        victim = spawn()
        requests = {
            f"{round_number}-{i}": victim.start(
                "object/put", ref=f"{round_number}-{i}", text=f"{i}" * 5000, progress=False
            )
            for i in range(60)
        }
        for ref in list(requests)[: round_number * 8]:
            answered[ref] = victim.result(requests[ref])["metadata"]["sha256"]
        victim.kill()
    witness = spawn()
    found = {}
    page: dict[str, Any] = {"next": ""}
    while page["next"] is not None:
        more = {"next": page["next"]} if page["next"] else {}
        page = witness.call("object/list", limit=1000, **more)
        for item in page["items"]:
            ref = item["ref"]
            got = witness.call("object/get", ref=ref, target={"inline": True}, progress=False)
            found[ref] = got["sha256"]
            assert got["sha256"] == got["metadata"]["sha256"] and got["size"] == item["size"]
    assert {ref: found.get(ref) for ref in answered} == answered
