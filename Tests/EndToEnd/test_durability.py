"""Pause, resume, cancel and retry at every moment of a transfer, and what restarts keep of it."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Any, Callable

import pytest
from durable import (
    KINDS,
    SETTLED,
    Kind,
    Scene,
    everything,
    forget_all,
    leftovers,
    process,
    seeded,
    settle,
    state_of,
)
from files import MIB, content, parts, slow_upload
from sidecar import Sidecar

Spawn = Callable[..., Sidecar]
ENDS = {"uploaded", "downloaded", "error", "failure", "cancelled"}


def events(ferry: Sidecar, transfer_id: str) -> list[str]:
    """The names of a transfer's notifications so far, without progress."""
    found = [m for m in ferry.received if m.get("params", {}).get("transferId") == transfer_id]
    return [m["method"] for m in found if m["method"] != "progress"]


def agree(ferry: Sidecar, transfer_id: str) -> dict[str, Any]:
    """The transfer's snapshot, which the list and the list of its state must have too."""
    snapshot = ferry.call("transfer/get", transferId=transfer_id)
    for listed in (everything(ferry), everything(ferry, state=snapshot["state"])):
        if ferry.call("transfer/get", transferId=transfer_id)["state"] == snapshot["state"]:
            assert transfer_id in [t["transferId"] for t in listed], snapshot
    return dict(snapshot)


class TestMoments:
    """Random commands at random moments; the harness checks the order of all notifications."""

    @pytest.mark.parametrize(
        "kind", [k for k in KINDS if not k.stream], ids=lambda k: k.name.replace(" ", "-")
    )
    def test_commands_at_any_moment_lead_to_one_right_end(self, home: Path, kind: Kind) -> None:
        chance = seeded(kind.name)
        scene = Scene(home, kind)
        with process(home) as ferry:
            begun = time.monotonic()
            ferry.result(scene.begin(ferry, -1))
            whole = time.monotonic() - begun
            for number in range(12):
                concurrency = chance.choice([1, 2, 4])
                ferry.call("limits/set", concurrency=concurrency)
                others = [scene.begin(ferry, 1000 + 3 * number + i) for i in range(3)]
                request = scene.begin(ferry, number)
                asked = []
                for _ in range(chance.randrange(1, 8)):
                    let_pass(ferry, whole * chance.random() / 2)
                    command = chance.choice(["pause", "pause", "resume", "resume", "cancel"])
                    state = ferry.call(f"transfer/{command}", transferId=scene.id(number))["state"]
                    asked.append((command, state))
                    assert is_right(command, state), asked
                    agree(ferry, scene.id(number))
                ferry.call("transfer/resume", transferId=scene.id(number))
                ferry.reply(request)  # the end was told
                end = settle(ferry, scene.id(number))
                names = events(ferry, scene.id(number))
                assert len([n for n in names if n in ENDS]) == 1, (asked, names)
                assert names.count("paused") >= names.count("resumed"), (asked, names)
                assert end["state"] in ("succeeded", "cancelled"), (asked, end)
                if end["state"] == "cancelled":
                    assert ("cancel", "cancelled") in asked
                if kind.announces:
                    count = 1 if end["state"] == "succeeded" else 0
                    assert scene.messages(ferry, number) == count
                    files = ferry.call("file/list", channel=f"c{number}")["files"]
                    assert len(files) == count, asked
                if end["state"] == "succeeded":
                    scene.check(ferry, number, end)
                for other in others:
                    ferry.result(other)
            forget_all(ferry)
        assert leftovers(home) == []


def let_pass(ferry: Sidecar, delay: float) -> None:
    """Lets a little time pass, less if anything happens."""
    before = len(ferry.received)
    with contextlib.suppress(AssertionError):
        ferry.wait(lambda _: len(ferry.received) > before + 50, "much", timeout=delay)


def is_right(command: str, state: str) -> bool:
    """Whether a command may be answered by this state."""
    wanted = {
        "pause": {"paused"} | SETTLED,
        "resume": {"queued", "running"} | SETTLED,
        "cancel": SETTLED,
    }
    return state in wanted[command]


def test_the_first_and_last_slices_may_be_paused_and_cancelled(ferry: Sidecar) -> None:
    """At each boundary: paused means no further byte, resumed goes on, cancelled leaves nothing."""
    size = 8 * MIB
    for number, wanted in enumerate([1, size // 2, size - 1]):
        name = f"t{number}"
        rate = 16 * MIB
        (ferry.work / "f").write_bytes(content(size))
        ferry.call("limits/set", uploadRate=rate)
        request = ferry.start("object/put", ref=name, path="f", transferId=name)
        at = ferry.wait(
            lambda m, n=name, w=wanted: m.get("method") == "progress"
            and m["params"]["transferId"] == n
            and m["params"]["loaded"] >= min(w, size - 2 * MIB),
            "progress",
        )
        assert ferry.call("transfer/pause", transferId=name)["state"] == "paused"
        loaded = ferry.event("paused", transferId=name)["loaded"]
        assert loaded >= at["params"]["loaded"]
        assert agree(ferry, name)["loaded"] == loaded
        ferry.call("object/put", ref="other", text="x")  # other work does not wake it
        assert agree(ferry, name)["loaded"] == loaded
        ferry.call("limits/set", uploadRate=None)
        ferry.call("transfer/resume", transferId=name)
        assert ferry.event("resumed", transferId=name)["loaded"] == loaded
        assert ferry.result(request)["metadata"]["size"] == size
        assert events(ferry, name) == ["started", "paused", "resumed", "uploaded"]


def test_a_paused_transfer_frees_its_slot_and_stays_paused_over_other_work(ferry: Sidecar) -> None:
    ferry.call("limits/set", concurrency=1)
    big = slow_upload(ferry, size=16 * MIB)
    waiting = [
        ferry.start("object/put", ref=f"w{i}", text="x", transferId=f"w{i}") for i in range(5)
    ]
    assert agree(ferry, "w4")["state"] == "queued"
    assert ferry.call("transfer/pause", transferId="w2")["state"] == "paused"
    ferry.call("transfer/pause", transferId="big")
    for number in (0, 1, 3, 4):
        ferry.result(waiting[number])
    assert {t["transferId"] for t in everything(ferry, state="paused")} == {"big", "w2"}
    assert events(ferry, "w2") == ["paused"]
    ferry.call("limits/set", uploadRate=None)
    ferry.call("transfer/cancel", transferId="w2")
    ferry.call("transfer/resume", transferId="big")
    ferry.result(big)
    assert ferry.reply(waiting[2])["error"]["data"]["code"] == "ERR_CANCELLED"
    assert events(ferry, "w2") == ["paused", "cancelled"]


def test_commands_that_have_no_effect_say_the_state_and_cause_no_event(ferry: Sidecar) -> None:
    ferry.call("object/put", ref="a", text="x", transferId="done")
    assert ferry.error("object/put", ref="a", text="y", transferId="bad", ifNoneMatch="*")
    ferry.error("object/put", ref="a", path="missing", transferId="refused")
    states = {"done": "succeeded", "bad": "failed", "refused": "rejected"}
    before = {name: events(ferry, name) for name in states}
    for name, state in states.items():
        for command in ("pause", "resume", "cancel"):
            assert ferry.call(f"transfer/{command}", transferId=name)["state"] == state
    for name in ("done", "refused"):
        assert ferry.call("transfer/retry", transferId=name)["state"] == states[name]
    assert {name: events(ferry, name) for name in states} == before
    for command in ("pause", "resume", "cancel", "retry", "forget", "get"):
        assert ferry.error(f"transfer/{command}", transferId="nobody").code == "ERR_UNKNOWN_ID"


class TestRestarts:
    def test_ends_are_kept_until_they_are_forgotten(self, home: Path) -> None:
        with process(home) as first:
            first.call("object/put", ref="a", text="x" * 10, transferId="done")
            first.error("object/put", ref="a", text="y", transferId="bad", ifNoneMatch="*")
            first.error("object/put", ref="a", path="missing", transferId="refused")
            sent = first.call("file/send", channel="c", name="n", text="hi", transferId="sent")
            first.call("limits/set", uploadRate=1)
            first.start("object/put", ref="b", text="x" * 100, transferId="gone")
            first.event("started", transferId="gone")
            first.call("transfer/cancel", transferId="gone")
            first.event("cancelled", transferId="gone")
            before = everything(first)
        states = ["succeeded", "failed", "rejected", "succeeded", "cancelled"]
        assert [t["state"] for t in before] == states
        for _ in range(2):
            with process(home) as again:
                assert everything(again) == before
                assert agree(again, "sent")["file"]["id"] == sent["id"]
        with process(home) as last:
            assert last.call("object/put", ref="a", text="x" * 10, transferId="done")["transferId"]
            assert [e for e in events(last, "done") if e == "started"] == []
            last.call("object/delete", ref="a")
            last.call("transfer/retry", transferId="bad")
            assert last.event("started", transferId="bad")["attempt"] == 2
            last.event("uploaded", transferId="bad")
            last.call("transfer/forget", transferId="sent")
            forget_all(last)
        with process(home) as empty:
            assert everything(empty) == []
        assert leftovers(home) == []

    def test_the_last_thousand_ends_are_kept(self, home: Path) -> None:
        count = 2500
        with process(home) as first:
            for start in range(0, count, 250):  # few enough that unread output refuses none
                requests = [
                    first.start("object/put", ref="a", path="missing", transferId=f"t{i}")
                    for i in range(start, start + 250)
                ]
                for request in requests:
                    assert first.reply(request)["error"]["data"]["code"] == "ERR_FILE_NOT_FOUND"
        with process(home) as second:
            kept = [t["transferId"] for t in everything(second)]
            assert 1000 <= len(kept) <= 1400
            assert kept == [f"t{i}" for i in range(count - len(kept), count)]

    def test_a_paused_and_a_queued_one_are_interrupted_after_every_kind_of_end(
        self, home: Path
    ) -> None:
        for end in ("kill", "eof", "shutdown", "signal"):
            with process(home) as first:
                first.call("limits/set", concurrency=1)
                slow_upload(first, size=8 * MIB, ref=end, transferId=f"paused-{end}")
                first.call("transfer/pause", transferId=f"paused-{end}")
                first.event("paused", transferId=f"paused-{end}")
                if end != "eof":
                    first.call("limits/set", uploadRate=MIB)
                    slow = {"path": "big.bin", "detach": True}
                    first.call("object/put", ref=f"r{end}", transferId=f"running-{end}", **slow)
                    first.call("object/put", ref=f"q{end}", transferId=f"queued-{end}", **slow)
                    first.event("started", transferId=f"running-{end}")
                if end == "kill":
                    first.kill()
                elif end == "shutdown":
                    assert first.call("shutdown", mode="now")["resumable"] == 3
                elif end == "signal":
                    first.signal(15)
                    first.expected_code = 128 + 15
                    first.wait_exit()
            with process(home) as second:
                names = ["paused"] if end == "eof" else ["paused", "running", "queued"]
                for name in names:
                    assert state_of(second, f"{name}-{end}") == "interrupted"
                    agree(second, f"{name}-{end}")
                    state = second.call("transfer/resume", transferId=f"{name}-{end}")["state"]
                    assert state in ("queued", "running")
                for name in names:
                    started = second.event("started", transferId=f"{name}-{end}")
                    assert started["attempt"] == 2
                    assert second.event("uploaded", transferId=f"{name}-{end}")
                forget_all(second)
        assert leftovers(home) == []

    def test_an_interrupted_one_may_be_cancelled_and_leaves_nothing(self, home: Path) -> None:
        with process(home) as first:
            slow_upload(first)
            first.kill()
        with process(home) as second:
            assert parts(home) != []
            assert second.call("transfer/cancel", transferId="big")["state"] == "cancelled"
            second.event("cancelled", transferId="big")
            assert parts(home) == []
            assert agree(second, "big")["state"] == "cancelled"
        with process(home) as third:
            assert state_of(third, "big") == "cancelled"
            forget_all(third)
        assert leftovers(home) == []

    def test_what_is_there_already_is_not_moved_again(self, home: Path) -> None:
        with process(home) as first:
            slow_upload(first, size=32 * MIB, rate=64 * MIB)
            first.kill()
        [part] = parts(home)
        before = (home / part).stat().st_size
        inode = (home / part).stat().st_ino
        with process(home) as second:
            second.call("limits/set", uploadRate=4 * MIB)
            second.call("transfer/resume", transferId="big")
            first_seen = second.event("progress", transferId="big")["loaded"]
            assert first_seen >= before > 0
            second.call("limits/set", uploadRate=None)
            second.event("uploaded", transferId="big")
            etag = second.call("object/metadata", ref="big")["metadata"]["etag"]
            found = home / ".local/share/ferry/content" / etag[:2] / etag
            assert found.stat().st_ino == inode

    def test_a_source_that_changed_meanwhile_fails(self, home: Path) -> None:
        with process(home) as first:
            slow_upload(first)
            first.kill()
        with process(home) as second:
            (second.work / "big.bin").write_bytes(b"other")
            second.call("transfer/resume", transferId="big")
            # The earlier process had moved bytes; trying again can help once the file is back.
            error = second.event("failure", transferId="big")["error"]
            assert error["data"]["code"] == "ERR_FILE_CHANGED"
            assert parts(home) == []

    def test_another_request_of_the_same_id_is_refused_after_a_restart(self, home: Path) -> None:
        with process(home) as first:
            slow_upload(first)
            first.kill()
        with process(home) as second:
            error = second.error("object/put", ref="other", path="big.bin", transferId="big")
            assert error.code == "ERR_DUPLICATE_TRANSFER"
            assert state_of(second, "big") == "interrupted"
            second.call("object/put", ref="big", path="big.bin", transferId="big")
