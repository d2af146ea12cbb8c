"""A process may be killed at any moment of any transfer: the next one goes on, and nothing
half-made is seen or left.

FERRY_KILLS sets the number of moments of each kind (default 50); FERRY_TEST_SEED repeats a run.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

import pytest
from durable import (
    KINDS,
    Kind,
    Scene,
    forget_all,
    leftovers,
    process,
    seeded,
    settle,
    state_of,
    watched,
)
from sidecar import RpcError, Sidecar

KILLS = int(os.environ.get("FERRY_KILLS", "13"))
AT_ONCE = 4  # transfers that one kill hits, each at a moment of its own


def start_all(scene: Scene, ferry: Sidecar, numbers: range) -> dict[int, int]:
    """Starts transfers; their requests by number."""
    return {number: scene.begin(ferry, number) for number in numbers}


def lasts(scene: Scene) -> float:
    """How long the transfers of one kill take when nobody disturbs them, in seconds."""
    with process(scene.home) as ferry:
        times = []
        for first in (-AT_ONCE, -2 * AT_ONCE, -3 * AT_ONCE):
            begun = time.monotonic()
            for request in start_all(scene, ferry, range(first, first + AT_ONCE)).values():
                ferry.result(request)
            times.append(time.monotonic() - begun)
        forget_all(ferry)
    return sorted(times)[1]


def answered_within(ferry: Sidecar, requests: dict[int, int], delay: float) -> set[int]:
    """Waits for replies until the delay is over; whose had come."""
    end = time.monotonic() + delay
    answered = set()
    for number, request in requests.items():
        with contextlib.suppress(AssertionError):
            ferry.result(request, timeout=max(0, end - time.monotonic()))
            answered.add(number)
    return answered


def die_going_on(scene: Scene, numbers: range, delay: float) -> None:
    """Has a process take up what is interrupted, and kills it too."""
    with process(scene.home) as ferry:
        for number in numbers:
            if state_of(ferry, scene.id(number)) == "interrupted":
                ferry.call("transfer/resume", transferId=scene.id(number))
        with contextlib.suppress(AssertionError):
            ferry.wait(lambda _: False, "the delay to be over", timeout=delay)
        ferry.kill()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name.replace(" ", "-"))
def test_transfers_survive_a_kill_at_any_moment(home: Path, kind: Kind) -> None:
    chance = seeded(kind.name)
    scene = Scene(home, kind)
    whole = lasts(scene)
    with watched(scene):
        victim = Sidecar(home)
        for kill in range(KILLS):
            numbers = range(kill * AT_ONCE, (kill + 1) * AT_ONCE)
            span = whole * 1.1
            if chance.random() < 0.3 and kind.size > 1 << 20:
                rate = int(AT_ONCE * kind.size / (whole + 0.05))
                victim.call("limits/set", uploadRate=rate, downloadRate=rate)
                span += whole + 0.1
            requests = start_all(scene, victim, numbers)
            delay = span * chance.random()
            answered = answered_within(victim, requests, delay)
            victim.kill()
            victim.finish()
            if not kind.stream:
                for _ in range(chance.choice([0, 0, 1, 2])):
                    die_going_on(scene, numbers, whole * chance.random())
            heir = Sidecar(home)
            try:
                for number in numbers:
                    way = chance.choice(["resume", "again", "again", "cancel"])
                    where = f"kill {kill} after {delay * 1000:.1f} ms, {way} of {number}"
                    go_on(scene, heir, number, way, number in answered)
                forget_all(heir)
            except (AssertionError, RpcError) as error:
                heir.dispose()
                raise AssertionError(where) from error
            victim = heir
        victim.finish()
    with process(home) as last:
        last.call("object/list")
    assert leftovers(home) == []


def go_on(scene: Scene, heir: Sidecar, number: int, way: str, was_answered: bool) -> None:
    """Takes up what the killed process left in one of three ways, and checks how that ends."""
    transfer_id, kind = scene.id(number), scene.kind
    found = state_of(heir, transfer_id)
    assert found in ("interrupted", "succeeded", None), found
    if was_answered:
        assert found is not None, "the reply had come, and the transfer is not known"
    if found is None or way == "again":
        if found == "succeeded" and kind.stream:
            return
        heir.result(scene.begin(heir, number))
    elif way == "cancel":
        heir.call("transfer/cancel", transferId=transfer_id)
        if found == "interrupted":
            heir.event("cancelled", transferId=transfer_id)  # what was left of it is gone
        end = settle(heir, transfer_id)
        assert end["state"] == ("cancelled" if found == "interrupted" else found)
    elif found == "interrupted":
        assert heir.call("transfer/resume", transferId=transfer_id)["state"] != "interrupted"
    end = settle(heir, transfer_id)
    if end["state"] == "failed":
        # Only the host of a stream has its bytes.
        assert way == "resume" and kind.stream, end
        assert end["error"]["data"]["code"] == "ERR_FILE_CHANGED"
    elif end["state"] == "succeeded":
        scene.check(heir, number, end)
    if kind.announces:
        files = heir.call("file/list", channel=f"c{number}")["files"]
        assert scene.messages(heir, number) == len(files)
        assert len(files) == 1 if end["state"] == "succeeded" else len(files) <= 1
