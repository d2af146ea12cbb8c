"""Whose transfers a process takes up: those of its `stateKey` whose owner is dead, no others."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Callable

from durable import everything, forget_all, leftovers, process, settle, state_of
from files import MIB, parts, slow_upload, write_file
from sidecar import Sidecar

Spawn = Callable[..., Sidecar]


def keyed(spawn: Spawn, key: str) -> Sidecar:
    ferry = spawn()
    ferry.call("initialize", stateKey=key)
    return ferry


def test_two_keys_do_not_see_each_other(spawn: Spawn) -> None:
    keys = ["a", "b", "A", " ", "../a", "ä" * 200, "default"]
    for key in keys:
        owner = keyed(spawn, key)
        slow_upload(owner, size=4 * MIB, rate=MIB, ref=f"r{keys.index(key)}", transferId="same-id")
        owner.kill()
    for key in keys:
        heir = keyed(spawn, key)
        found = everything(heir)
        assert [(t["transferId"], t["ref"]) for t in found] == [("same-id", f"r{keys.index(key)}")]
        heir.call("transfer/cancel", transferId="same-id")
        heir.event("cancelled", transferId="same-id")
        forget_all(heir)
        heir.finish()
    assert parts(spawn().home) == []


def test_the_name_of_the_client_is_the_key_where_there_is_none(spawn: Spawn) -> None:
    owner = spawn()
    owner.call("initialize", clientInfo={"name": "editor"})
    slow_upload(owner)
    owner.kill()
    assert everything(spawn()) == []
    heir = keyed(spawn, "editor")
    assert state_of(heir, "big") == "interrupted"


def test_living_processes_of_one_key_leave_each_other_alone(spawn: Spawn) -> None:
    first, second = keyed(spawn, "k"), keyed(spawn, "k")
    slow_upload(first, ref="first", transferId="of-first")
    slow_upload(second, ref="second", path="2.bin", transferId="of-second")
    assert [t["transferId"] for t in everything(first)] == ["of-first"]
    assert [t["transferId"] for t in everything(second)] == ["of-second"]
    third = keyed(spawn, "k")
    assert everything(third) == []
    first.kill()
    second.kill()
    heir = keyed(spawn, "k")
    states = {t["transferId"]: t["state"] for t in everything(heir)}
    assert states == {"of-first": "interrupted", "of-second": "interrupted"}
    assert everything(third) == []
    for name in ("first", "second"):
        heir.call("transfer/resume", transferId=f"of-{name}")
    for name in ("first", "second"):
        assert settle(heir, f"of-{name}")["state"] == "succeeded"
        assert heir.call("object/metadata", ref=name)["metadata"]["size"] == 32 * MIB


def test_an_id_that_a_living_process_has_is_refused_retryably_within_two_seconds(
    spawn: Spawn,
) -> None:
    owner, other = keyed(spawn, "k"), keyed(spawn, "k")
    slow_upload(owner)
    begun = time.monotonic()
    error = other.error("object/put", ref="big", path="big.bin", transferId="big")
    seconds = time.monotonic() - begun
    assert error.code == "ERR_DUPLICATE_TRANSFER" and error.data["retryable"]
    assert "stateKey" in str(error) and 1.5 < seconds < 4, (seconds, str(error))
    assert agree_on(owner, "big") == "running"
    owner.call("limits/set", uploadRate=None)
    assert settle(owner, "big")["state"] == "succeeded"


def agree_on(ferry: Sidecar, transfer_id: str) -> Any:
    return ferry.call("transfer/get", transferId=transfer_id)["state"]


def test_a_request_waits_for_the_process_that_is_dying_and_goes_on(spawn: Spawn) -> None:
    owner, other = keyed(spawn, "k"), keyed(spawn, "k")
    slow_upload(owner)
    slow_upload(owner, ref="rest", path="rest.bin", transferId="rest")
    request = other.start("object/put", ref="big", path="big.bin", transferId="big")
    assert agree_on(other, "big") == "queued"
    owner.kill()
    assert other.result(request)["metadata"]["size"] == 32 * MIB
    assert other.event("started", transferId="big")["attempt"] == 2
    # What else the dead one had is there as well.
    assert state_of(other, "rest") == "interrupted"
    other.call("transfer/cancel", transferId="rest")
    other.event("cancelled", transferId="rest")
    assert parts(other.home) == []


def test_a_request_waits_and_gets_what_the_dying_process_had_done(spawn: Spawn) -> None:
    owner, other = keyed(spawn, "k"), keyed(spawn, "k")
    sent = owner.call("file/send", channel="c", name="n", text="once", transferId="t")
    request = other.start("file/send", channel="c", name="n", text="once", transferId="t")
    assert agree_on(other, "t") == "queued"
    owner.kill()
    assert other.result(request) == sent
    assert len(other.call("channel/history", channel="c")["messages"]) == 1
    assert state_of(other, "t") == "succeeded"


def test_what_is_adopted_beside_a_long_queue_is_told_once(spawn: Spawn) -> None:
    owner, other = keyed(spawn, "k"), keyed(spawn, "k")
    write_file(owner.work / "source.bin", 100_000)
    everything(other)  # it knows that there was nothing when it started
    names = []
    for ferry, name in ((owner, "owner"), (other, "other")):
        ferry.call("limits/set", uploadRate=1)
        for number in range(150):
            names.append(f"{name}-{number}")
            put = {"ref": names[-1], "path": "source.bin", "transferId": names[-1]}
            ferry.call("object/put", detach=True, **put)
    request = other.start("object/put", ref="owner-99", path="source.bin", transferId="owner-99")
    assert agree_on(other, "owner-99") == "queued"
    owner.kill()
    while (found := everything(other))[-1]["state"] != "interrupted":
        assert found[-1]["transferId"] in ("other-149", "owner-99")
    assert sorted(t["transferId"] for t in found) == sorted(names)
    interrupted = [t["transferId"] for t in found if t["state"] == "interrupted"]
    assert sorted(interrupted) == sorted(f"owner-{n}" for n in range(150) if n != 99)
    other.call("limits/set", uploadRate=None)
    other.result(request)
    for number in range(150):
        other.event("uploaded", transferId=f"other-{number}")


def test_another_request_of_a_dying_process_s_id_is_refused_and_its_transfer_kept(
    spawn: Spawn,
) -> None:
    owner, other = keyed(spawn, "k"), keyed(spawn, "k")
    slow_upload(owner)
    request = other.start("object/put", ref="else", text="x", transferId="big")
    assert agree_on(other, "big") == "queued"
    owner.kill()
    assert other.reply(request)["error"]["data"]["code"] == "ERR_DUPLICATE_TRANSFER"
    assert state_of(other, "big") == "interrupted"
    other.call("transfer/resume", transferId="big")
    assert settle(other, "big")["state"] == "succeeded"
    assert other.call("object/metadata", ref="big")["metadata"]["size"] == 32 * MIB


def test_a_request_that_waits_may_be_cancelled(home: Path, spawn: Spawn) -> None:
    owner, other = keyed(spawn, "k"), keyed(spawn, "k")
    slow_upload(owner)
    request = other.start("object/put", ref="big", path="big.bin", transferId="big")
    other.call("transfer/cancel", transferId="big")
    assert other.reply(request)["error"]["data"]["code"] == "ERR_CANCELLED"
    assert agree_on(owner, "big") == "running"
    owner.call("limits/set", uploadRate=None)
    assert settle(owner, "big")["state"] == "succeeded"


def test_one_that_waits_for_another_may_be_killed_too(home: Path) -> None:
    with process(home) as owner:
        owner.call("initialize", stateKey="k")
        slow_upload(owner)
        with process(home) as waiting:
            waiting.call("initialize", stateKey="k")
            waiting.start("object/put", ref="big", path="big.bin", transferId="big")
            assert agree_on(waiting, "big") == "queued"
            waiting.kill()
        owner.kill()
    with process(home) as heir:
        heir.call("initialize", stateKey="k")
        assert [t["transferId"] for t in everything(heir)] == ["big"]
        heir.call("object/put", ref="big", path="big.bin", transferId="big")
        forget_all(heir)
    assert leftovers(home) == []


def test_many_deaths_leave_one_list_in_order(home: Path) -> None:
    for number in range(12):
        with process(home) as ferry:
            ferry.call("object/put", ref="a", text="x", transferId=f"a{number:02}")
            slow_upload(ferry, size=2 * MIB, rate=MIB, ref=f"b{number}", transferId=f"b{number:02}")
            ferry.kill()
    with process(home) as heir:
        found = [t["transferId"] for t in everything(heir)]
        assert found == [f"{kind}{number:02}" for number in range(12) for kind in "ab"]
        pages, following = [], {}
        while following is not None:
            page = heir.call("transfer/list", limit=5, **following)
            pages += [t["transferId"] for t in page["transfers"]]
            following = {"next": page["next"]} if page["next"] else None
        assert pages == found
        assert len(list((home / ".local/state/ferry/journal/default").glob("*.db"))) <= 2
        for number in range(12):
            heir.call("transfer/cancel", transferId=f"b{number:02}")
        for number in range(12):
            heir.event("cancelled", transferId=f"b{number:02}")
        forget_all(heir)
    assert leftovers(home) == []


def test_temporary_downloads_leave_each_others_parts_alone(spawn: Spawn, home: Path) -> None:
    first = spawn()
    digest = write_file(first.work / "f", 4 * MIB)
    first.call("object/put", ref="a", path="f")
    first.call("object/put", ref="b", text="b")
    first.call("limits/set", downloadRate=MIB)
    for name in ("x", "y"):
        first.start("object/get", ref="a", transferId=name)
        first.event("progress", transferId=name)
        first.call("transfer/pause", transferId=name)
        first.event("paused", transferId=name)
    before = parts(home)
    assert len(before) == 2
    yesterday = time.time() - 25 * 3600
    os.utime(home / before[0], (yesterday, yesterday))
    keyed(spawn, "another").call("object/get", ref="b")
    assert parts(home) == before  # whose owner lives, however old
    os.utime(home / before[0])
    first.kill()
    heir = spawn()
    heir.call("object/get", ref="b")
    assert parts(home) == before  # which somebody may go on with
    for name in ("x", "y"):
        heir.call("transfer/resume", transferId=name)
        assert heir.event("downloaded", transferId=name)["sha256"] == digest
    assert parts(home) == []
