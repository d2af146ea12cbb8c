"""A host that does not read costs a bounded few MiB and loses nothing."""

from __future__ import annotations

import json
import threading
from typing import Any, Callable

import pytest
from files import MIB, write_file
from sidecar import TIMEOUT, Sidecar, few

Spawn = Callable[..., Sidecar]


def flood(ferry: Sidecar, method: str, count: int, **params: Any) -> list[str]:
    """Sends requests from a thread of its own, since ferry may stop reading; returns their ids."""
    names = [f"flood-{i}" for i in range(count)]
    lines = b"".join(
        json.dumps({"jsonrpc": "2.0", "id": n, "method": method, "params": params}).encode() + b"\n"
        for n in names
    )
    writer = threading.Thread(target=ferry.send_raw, args=(lines,), daemon=True)
    writer.start()
    writer.join(TIMEOUT / 20)  # it ends, or ferry has stopped reading; both are right
    return names


def fill(ferry: Sidecar, names: int = 250) -> None:
    """Makes the reply to object/list about 40 KiB long."""
    puts = [
        ferry.start("object/put", ref=f"{'x' * 50}{i:04}", text="", progress=False)
        for i in range(names)
    ]
    for put in puts:
        ferry.result(put)


@pytest.mark.parametrize(
    ("method", "count", "params"),
    [
        ("object/resolve", 10_000, {"ref": "x" * 1000}),
        ("object/list", 10_000, {}),
        ("rpc.discover", 1_000, {}),
        ("ping", 40_000, {}),
    ],
)
def test_a_host_that_never_reads(
    spawn: Spawn, method: str, count: int, params: dict[str, Any]
) -> None:
    count = few(count)
    fill(spawn())
    ferry = spawn(reading=False)
    ferry.quiet = False
    before = ferry.resident
    names = flood(ferry, method, count, **params)
    grown = ferry.resident - before
    assert grown < 32 * MIB, f"{grown >> 20} MiB more"
    ferry.start_reading()
    replies = [ferry.reply(name) for name in names]
    refused = [r["error"] for r in replies if "error" in r]
    assert all(e["data"]["code"] == "ERR_OVERLOADED" for e in refused)
    assert all(e["data"]["retryAfterMs"] > 0 and e["data"]["retryable"] for e in refused)
    if method == "object/resolve":
        assert 0 < len(refused) < count
    assert len(ferry.stderr.splitlines()) <= 1
    # Everything was read, so everything works again.
    assert ferry.call("object/list")["items"]
    assert ferry.call("server/stats")["requests"]["refused"] >= len(refused)


def test_running_transfers_finish_while_the_host_does_not_read(spawn: Spawn) -> None:
    watcher = spawn()
    watcher.call("channel/subscribe", channels=["c"])
    fill(watcher)
    ferry = spawn(reading=False)
    ferry.quiet = False
    digest = write_file(ferry.work / "big.bin", 64 * MIB)
    ferry.start("limits/set", uploadRate=48 * MIB)
    request = ferry.start("file/send", channel="c", path="big.bin", transferId="big")
    names = flood(ferry, "object/list", few(3_000))
    message = watcher.event("message", channel="c")
    assert message["file"]["size"] == 64 * MIB
    ferry.start_reading()
    assert ferry.result(request)["sha256"] == digest
    for name in names:
        ferry.reply(name)


def test_progress_is_dropped_rather_than_queued(spawn: Spawn) -> None:
    watcher = spawn()
    watcher.call("channel/subscribe", channels=["c"])
    fill(watcher)
    ferry = spawn(reading=False)
    ferry.quiet = False
    write_file(ferry.work / "a.bin", 2 * MIB)
    ferry.start("limits/set", uploadRate=MIB)
    send = ferry.start("file/send", channel="c", path="a.bin", transferId="t")
    lists = [ferry.start("object/list") for _ in range(100)]
    watcher.event("message", channel="c")  # two seconds later
    ferry.start_reading()
    for request in [send, *lists]:
        ferry.reply(request)
    progress = [m for m in ferry.received if m.get("method") == "progress"]
    assert ferry.call("server/stats")["output"]["droppedProgress"] > 0
    assert len(progress) < 15


@pytest.mark.parametrize(
    ("method", "count", "params"),
    [("object/resolve", 5_000, {"ref": "x" * 1000}), ("object/list", 200, {})],
)
def test_a_host_that_reads_slowly_is_not_refused(
    spawn: Spawn, method: str, count: int, params: dict[str, Any]
) -> None:
    fill(spawn())
    ferry = spawn()
    # Far more than may lie unread, written as fast as ferry takes it, and read by the same core.
    for name in flood(ferry, method, few(count), **params):
        assert "result" in ferry.reply(name)
    assert ferry.call("server/stats")["requests"]["refused"] == 0


def test_progress_is_throttled_and_can_be_turned_off(spawn: Spawn) -> None:
    ferry = spawn()
    ferry.call("initialize", progress={"intervalMs": 500}, optOutNotifications=["started"])
    write_file(ferry.work / "a.bin", 4 * MIB)
    ferry.call("limits/set", uploadRate=2 * MIB)
    ferry.call("object/put", ref="loud", path="a.bin", transferId="loud")
    ferry.call("object/put", ref="silent", path="a.bin", transferId="silent", progress=False)
    names = [(m["method"], m["params"]["transferId"]) for m in ferry.received if "method" in m]
    assert ("started", "loud") not in names and ("uploaded", "loud") in names
    # Two seconds at two a second, the first and the last ones included.
    assert 1 <= names.count(("progress", "loud")) <= 7
    assert ("progress", "silent") not in names


def test_thousands_of_small_files_do_not_flood(spawn: Spawn) -> None:
    ferry = spawn()
    count = 1_000
    puts = [ferry.start("object/put", ref=f"s/{i}", text="x") for i in range(count)]
    for put in puts:
        ferry.result(put)
    progress = sum(m.get("method") == "progress" for m in ferry.received)
    assert progress <= count


@pytest.mark.parametrize("detach", [False, True])
def test_a_long_queue_costs_little_and_loses_nothing(spawn: Spawn, detach: bool) -> None:
    ferry = spawn()
    write_file(ferry.work / "big.bin", 4 * MIB)
    ferry.call("limits/set", uploadRate=1 << 16, concurrency=1)
    ferry.call("object/put", ref="big", path="big.bin", transferId="big", detach=True)
    before = ferry.resident
    count = 3_000
    puts = [
        ferry.start(
            "object/put", ref=f"q/{i}", text=f"{i:04}" * 900, transferId=f"{i}", detach=detach
        )
        for i in range(count)
    ]
    # One file runs, so all of them wait.
    assert ferry.call("server/stats")["transfers"]["queued"] == count
    assert ferry.call("transfer/get", transferId="2000")["state"] == "queued"
    listed = ferry.call("transfer/list", state="queued", limit=20, next=None)
    assert [t["transferId"] for t in listed["transfers"]] == [f"{i}" for i in range(20)]
    grown = ferry.resident - before
    assert grown < 8 * MIB, f"{grown >> 10} KiB more"
    assert ferry.call("transfer/cancel", transferId="2001")["state"] == "cancelled"
    assert ferry.call("transfer/pause", transferId="2002")["state"] == "paused"
    ferry.notify("$/cancelRequest", id=puts[2003])
    assert ferry.error("object/put", ref="q/2004", text="other", transferId="2004").code == (
        "ERR_DUPLICATE_TRANSFER"
    )
    again = ferry.start("object/put", ref="q/2005", text="2005" * 900, transferId="2005")
    ferry.call("limits/set", uploadRate=None, concurrency=4)
    assert ferry.result(again)["metadata"]["size"] == 3600
    cancelled = {2001} if detach else {2001, 2003}
    for i in range(count):
        if i == 2002:
            ferry.call("transfer/resume", transferId="2002")
        if detach:
            assert ferry.result(puts[i])["transferId"] == f"{i}"
        elif i in cancelled:
            assert ferry.reply(puts[i])["error"]["data"]["code"] == "ERR_CANCELLED"
        else:
            assert ferry.result(puts[i])["metadata"]["size"] == 3600
    # Nothing is left when the reply comes, and every end was told before it.
    summary = ferry.call("shutdown")
    ends = {
        m["params"]["transferId"]: m["method"]
        for m in ferry.received
        if m.get("method") in ("uploaded", "cancelled")
    }
    assert len(ends) == count + 1, summary
    assert {int(i) for i, end in ends.items() if end == "cancelled"} == cancelled
