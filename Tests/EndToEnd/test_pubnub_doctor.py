"""`ferry doctor` asks PubNub for the time, and tells on one line without secrets."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Callable

import pytest
from pubnub_support import Emulator, Fault

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def doctor(run: Run, emulator: Emulator, tmp_path: Path) -> Callable[..., tuple[int, str]]:
    """The exit code, and the line about the remote."""

    def examine(**more: Any) -> tuple[int, str]:
        remote = {
            "kind": "pubnub", "publishKey": "demo", "subscribeKey": "demo", "userId": "me",
            "secretKey": "hunter2-secret", "authToken": "hunter2-token", "origin": emulator.origin,
            "proxy": "none", "retries": 0, **more,
        }  # fmt: skip
        file = tmp_path / "config.yaml"
        file.write_text(json.dumps({"default": "chat", "remotes": {"chat": remote}}))
        file.chmod(0o600)
        done = run("doctor", str(file))
        assert done.stderr == "" and "hunter2" not in done.stdout
        [line] = [line for line in done.stdout.splitlines() if "remote chat" in line]
        return done.returncode, line

    return examine


def test_all_is_well(doctor: Any, emulator: Emulator) -> None:
    code, line = doctor()
    assert code == 0 and " ok " in line
    assert line.endswith(f"{emulator.origin}, answers (keys are not tried)")
    assert [seen.route for seen in emulator.seen] == ["time"]


def test_a_clock_that_is_off_is_told(doctor: Any, emulator: Emulator) -> None:
    emulator.channels.clock = 3600
    code, line = doctor()
    assert code == 0 and "s ahead of this machine's" in line
    assert 3590 < int(line.split("its clock is ")[1].split()[0]) < 3610


def test_what_is_wrong_is_told(doctor: Any, emulator: Emulator) -> None:
    emulator.faults.append(Fault("time", status=503, body={"message": "Service Unavailable"}))
    code, line = doctor()
    assert code == 1 and "FAIL" in line and "503 (Service Unavailable)" in line
    emulator.faults.append(Fault("time", status=200, body="<html>"))
    code, line = doctor()
    assert code == 1 and "FAIL" in line and "something between" in line
    emulator.leave()
    code, line = doctor()
    assert code == 1 and "FAIL" in line
