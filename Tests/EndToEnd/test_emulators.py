"""The services of this machine alone, as a user starts them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Callable

import pytest
from contract import ROOT
from sidecar import TIMEOUT, Sidecar

EMULATORS = ROOT / "Tests" / "Emulators"


@pytest.mark.parametrize(
    ("service", "channel", "key"),
    [("pubnub", "room", "origin:"), ("cometchat", "user:bob", "clientBaseUrl:")],
)
def test_what_it_prints_is_a_configuration_and_a_taken_port_is_one_line(
    spawn: Callable[..., Sidecar], home: Path, service: str, channel: str, key: str
) -> None:
    command = [sys.executable, str(EMULATORS / service), "--port"]
    running = subprocess.Popen([*command, "0"], stdout=subprocess.PIPE, text=True)
    try:
        assert running.stdout
        said: list[str] = []
        while not said or "kind: local" not in said[-1]:
            line = running.stdout.readline()
            assert line, said
            said.append(line)
        config = home / "config.yaml"
        config.write_text("".join(said[said.index("\n") :]))
        ferry = spawn("--config", str(config))
        sent = ferry.call("file/send", channel=channel, name="n", text="Hello")
        assert sent["size"] == 5
        origin = json.loads(next(line for line in said if key in line).split(": ")[1])
        port = origin.rpartition(":")[2].partition("/")[0]
        taken = subprocess.run([*command, port], capture_output=True, text=True, timeout=TIMEOUT)
        assert (taken.returncode, taken.stdout, taken.stderr.count("\n")) == (1, "", 1)
        assert port in taken.stderr
        assert "--port" in taken.stderr
    finally:
        running.kill()
        running.wait()
