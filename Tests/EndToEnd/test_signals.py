"""Signals, dead parents, siblings that hold the pipes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable

import pytest
from files import parts, slow_upload, wait_gone
from sidecar import BINARY, TIMEOUT, Sidecar, environment

Spawn = Callable[..., Sidecar]
LIMIT = 1.5


def exit_after(ferry: Sidecar, number: int) -> tuple[int, float]:
    """Sends a signal; the exit code and how long it took."""
    begun = time.monotonic()
    ferry.signal(number)
    code = ferry.wait_exit(10)
    ferry.expected_code, ferry.quiet = code, False
    return code, time.monotonic() - begun


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_an_idle_process(ferry: Sidecar, number: signal.Signals) -> None:
    ferry.call("ping")
    code, seconds = exit_after(ferry, number)
    assert code == 128 + number
    assert seconds < LIMIT


def test_a_signal_suspends_what_runs_and_says_so(ferry: Sidecar, spawn: Spawn) -> None:
    request = slow_upload(ferry)
    code, seconds = exit_after(ferry, signal.SIGTERM)
    assert (code, seconds < LIMIT) == (143, True)
    assert ferry.event("cancelled", transferId="big")["resumable"] is True
    error = ferry.reply(request)["error"]
    assert error["code"] == -32800 and error["data"]["resumable"] is True
    again = spawn()
    assert again.call("transfer/get", transferId="big")["state"] == "interrupted"
    assert again.call("transfer/cancel", transferId="big")["state"] == "cancelled"
    again.event("cancelled", transferId="big")
    assert parts(again.home) == []


def fill_stdout(ferry: Sidecar) -> None:
    """Leaves more output than a pipe holds; the host reads nothing."""
    for _ in range(40):
        ferry.start("rpc.discover")
    ferry.wait_readable()


def test_a_signal_works_with_stdout_full(spawn: Spawn) -> None:
    ferry = spawn(reading=False)
    ferry.all_answered, ferry.may_be_torn = False, True
    fill_stdout(ferry)
    code, seconds = exit_after(ferry, signal.SIGTERM)
    assert (code, seconds < LIMIT) == (143, True)


def test_a_second_signal_ends_it_at_once(spawn: Spawn) -> None:
    ferry = spawn(reading=False)
    ferry.all_answered, ferry.may_be_torn = False, True
    fill_stdout(ferry)
    ferry.signal(signal.SIGTERM)
    code, seconds = exit_after(ferry, signal.SIGTERM)
    assert (code, seconds < 1) == (143, True)


HOST = Path(__file__).with_name("host.py")


@pytest.mark.parametrize(
    ("mode", "limit"), [("pipe", 2), ("socketpair", 2), ("sibling-stdin", 4), ("sibling-both", 15)]
)
def test_it_ends_when_its_host_is_killed(home: Path, mode: str, limit: float) -> None:
    """Mid-upload, whoever else holds the pipes; with the reader of stdout still held, ferry gives
    the host's heirs ten seconds to say something."""
    with (home / "stderr-host.log").open("wb") as stderr:
        host = subprocess.Popen(
            [sys.executable, str(HOST), mode, str(BINARY), str(home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=environment(home),
        )
    sibling = ferry = 0
    try:
        assert host.stdout
        sibling, ferry = map(int, host.stdout.readline().split())
        host.kill()
        host.wait()
        assert wait_gone(ferry, limit), f"still there {limit} s after its host"
        assert parts(home) == []
    finally:
        host.kill()
        for pid in filter(None, (sibling, ferry)):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


def by_argument(spawn: Spawn, pid: int) -> Sidecar:
    return spawn("--parent-pid", str(pid))


def by_initialize(spawn: Spawn, pid: int) -> Sidecar:
    ferry = spawn()
    ferry.call("initialize", processId=pid)
    return ferry


WATCHES = [by_argument, by_initialize]


@pytest.mark.parametrize("watch", WATCHES)
def test_it_ends_with_the_process_it_was_told_to_watch(
    spawn: Spawn, watch: Callable[[Spawn, int], Sidecar]
) -> None:
    parent = subprocess.Popen(["sleep", "60"])
    ferry = watch(spawn, parent.pid)
    ferry.expected_code, ferry.quiet = None, False
    request = slow_upload(ferry, size=64 * (1 << 20), rate=1 << 20)
    parent.kill()
    parent.wait()
    assert ferry.reply(request, timeout=5)["error"]["code"] == -32800
    ferry.wait_exit(5)


@pytest.mark.parametrize("watch", WATCHES)
def test_a_process_it_cannot_see_at_the_start_is_not_watched(
    spawn: Spawn, watch: Callable[[Spawn, int], Sidecar]
) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait(TIMEOUT)
    ferry = watch(spawn, gone.pid)
    # Two and a half seconds of work: it looks once a second.
    ferry.result(slow_upload(ferry, size=5 << 20, rate=2 << 20))
