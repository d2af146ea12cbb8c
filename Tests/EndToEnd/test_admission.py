"""Who may run, and when: concurrency, fairness, rates."""

from __future__ import annotations

import time
from typing import Any, Callable

import pytest
from files import MIB, slow_upload, write_file
from sidecar import Sidecar


def running(ferry: Sidecar) -> list[int]:
    """How many transfers ran at once, after each notification."""
    alive: set[str] = set()
    counts = []
    for message in ferry.received:
        if message.get("method") in ("started", "resumed"):
            alive.add(message["params"]["transferId"])
        elif message.get("method") in ("uploaded", "downloaded", "failure", "cancelled", "paused"):
            alive.discard(message["params"]["transferId"])
        counts.append(len(alive))
    return counts


def order(ferry: Sidecar, method: str) -> list[str]:
    return [m["params"]["transferId"] for m in ferry.received if m.get("method") == method]


@pytest.mark.parametrize(("slots", "most"), [(1, 1), (2, 2 + 64)])
def test_no_more_run_than_allowed_and_they_start_in_order(
    ferry: Sidecar, slots: int, most: int
) -> None:
    """With several slots, up to 64 more may wait for the remote's confirmation."""
    ferry.call("limits/set", concurrency=slots)
    puts = [
        ferry.start("object/put", ref=f"r{i}", text="x" * 1000, transferId=f"t{i:02}")
        for i in range(40)
    ]
    for put in puts:
        ferry.result(put)
    assert max(running(ferry)) <= most
    assert order(ferry, "started") == sorted(order(ferry, "started"))


def test_small_files_do_not_wait_for_queued_large_ones(ferry: Sidecar) -> None:
    write_file(ferry.work / "big.bin", 64 * MIB)
    ferry.call("limits/set", concurrency=2, uploadRate=4 * MIB)
    big = []
    for i in range(4):
        big.append(ferry.start("object/put", ref="r", path="big.bin", transferId=f"big{i}"))
        if i < 2:
            ferry.event("started", transferId=f"big{i}")
    small = [
        ferry.start("object/put", ref=f"s{i}", text="x", transferId=f"s{i}", detach=True)
        for i in range(30)
    ]
    for put in small:
        ferry.result(put)  # it is in the queue now
    ferry.call("transfer/cancel", transferId="big0")
    for i in range(30):
        ferry.event("uploaded", transferId=f"s{i}")
    started = order(ferry, "started")
    last_small = max(started.index(f"s{i}") for i in range(30))
    assert not {"big2", "big3"} & set(started[:last_small])
    ferry.call("limits/set", uploadRate=None)
    for put in big:
        ferry.reply(put)


def test_a_higher_concurrency_acts_at_once(ferry: Sidecar) -> None:
    ferry.call("limits/set", concurrency=1)
    write_file(ferry.work / "a.bin", 2 * MIB)
    first = slow_upload(ferry)
    others = [
        ferry.start("object/put", ref=f"r{i}", path="a.bin", transferId=f"t{i}") for i in range(6)
    ]
    assert ferry.call("server/stats")["transfers"]["queued"] == 6
    assert ferry.call("limits/set", concurrency=8)["concurrency"] == 8
    for i in range(6):
        ferry.event("started", transferId=f"t{i}")
    # All slots but the one that large files leave to small ones.
    assert ferry.call("server/stats")["transfers"]["running"] == 7
    ferry.call("limits/set", uploadRate=None)
    for request in [first, *others]:
        ferry.result(request)


def test_streams_do_not_hold_the_slots_of_files(ferry: Sidecar) -> None:
    ferry.call("limits/set", concurrency=1)
    streams = [
        ferry.start("object/put", ref=f"s{i}", stream={}, transferId=f"s{i}") for i in range(20)
    ]
    for i in range(20):
        ferry.event("started", transferId=f"s{i}")
    ferry.call("object/put", ref="a", text="x")
    for i, request in enumerate(streams):
        ferry.call("stream/close", transferId=f"s{i}")
        ferry.result(request)


def test_a_rate_is_kept_over_all_transfers(ferry: Sidecar) -> None:
    write_file(ferry.work / "a.bin", 2 * MIB)
    ferry.call("limits/set", uploadRate=4 * MIB)
    begun = time.monotonic()
    puts = [ferry.start("object/put", ref=f"r{i}", path="a.bin") for i in range(4)]
    for put in puts:
        ferry.result(put)
    seconds = time.monotonic() - begun
    assert 1.2 < seconds < 6, f"8 MiB at 4 MiB/s took {seconds:.1f} s"


def test_remotes_have_limits_of_their_own(ferry: Sidecar) -> None:
    config: dict[str, Any] = {
        "remotes": {
            "a": {"kind": "local", "root": str(ferry.home / "a"), "limits": {"maxFileSize": 1}},
            "b": {"kind": "local", "root": str(ferry.home / "b")},
        },
        "default": "a",
        "limits": {"maxFileSize": "2 KiB"},
    }
    result = ferry.call("initialize", config=config)
    assert {r["name"] for r in result["remotes"]} >= {"a", "b"}
    assert ferry.call("limits/get")["maxFileSize"] == 1
    assert ferry.call("limits/get", remote="b")["maxFileSize"] == 2048
    assert ferry.error("object/put", ref="r", text="xx").code == "ERR_FILE_SIZE_EXCEEDED"
    ferry.call("object/put", ref="r", text="xx", remote="b", transferId="t")
    assert ferry.call("object/list")["items"] == []
    assert ferry.call("transfer/list", remote="b")["transfers"][0]["transferId"] == "t"
    assert ferry.call("transfer/list", remote="a", state="succeeded")["transfers"] == []


def test_stats_count(ferry: Sidecar, spawn: Callable[..., Sidecar]) -> None:
    ferry.call("object/put", ref="a", text="x" * 10)
    ferry.call("object/get", ref="a")
    ferry.error("object/put", ref="a", path="missing")
    ferry.error("object/get", ref="missing")
    stats = ferry.call("server/stats")
    assert stats["transfers"] == {
        "queued": 0, "running": 0, "paused": 0, "succeeded": 2, "failed": 0, "rejected": 2,
        "cancelled": 0,
    }  # fmt: skip
    assert stats["requests"]["received"] == 5 and stats["requests"]["inFlight"] == 1
    assert stats["remotes"]["local"]["bytesUp"] == stats["remotes"]["local"]["bytesDown"] == 10
