"""The clients run one list of scenarios, and what they write fits the schema."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import traffic
from contract import ROOT, contract
from sidecar import BINARY

CLIENTS = ROOT / "clients"
LIST = json.loads((CLIENTS / "scenarios.json").read_text())
NAMES = [f"{s['name']} ({k})" for s in LIST["scenarios"] for k in s.get("sidecars", ["fake"])]
THEMES = {
    "spawn", "send", "pause and resume", "cancel", "rejected", "failed", "retry", "server death",
    "oversized line", "slow reader", "missing binary", "wrong version", "batch",
}  # fmt: skip


def test_the_list_has_every_theme() -> None:
    names = [scenario["name"] for scenario in LIST["scenarios"]]
    assert len(names) == len(set(names))
    assert not [t for t in THEMES if not any(name.startswith(t) for name in names)]


def test_the_python_client_runs_every_scenario() -> None:
    collected = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "test_scenarios.py"],
        cwd=CLIENTS / "python" / "tests",
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert re.findall(r"::test_scenario\[(.*)\]$", collected.stdout, re.MULTILINE) == NAMES


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What the Node client's scenarios printed, and the folder that has their traffic."""
    folder = tmp_path_factory.mktemp("traffic")
    ran = subprocess.run(
        ["node", "--test", "--test-reporter=tap", "test/scenarios.test.js"],
        cwd=CLIENTS / "node",
        env={**os.environ, "FERRY_BIN": str(BINARY), "FERRY_TRAFFIC": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stdout
    return ran.stdout, folder


def test_the_node_client_runs_every_scenario(node: tuple[str, Path]) -> None:
    assert re.findall(r"^ *ok \d+ - (.* \((?:fake|real)\))$", node[0], re.MULTILINE) == NAMES


def test_what_the_node_client_writes_fits_the_schema(node: tuple[str, Path]) -> None:
    files = sorted(node[1].iterdir())
    assert len(files) > len(THEMES)
    for file in files:
        lines = [json.loads(line) for line in file.read_text().split("\n")[:-1]]
        sent = [message for direction, message in lines if direction == "out"]
        for message in sent:
            if message["method"] != "initialize":  # unknown members are allowed there
                contract().check_params(message["method"], message["params"])
        traffic.check(sent, [m for direction, m in lines if direction == "in"], all_answered=False)


def test_the_transcripts_no_client_speaks_are_the_same_few() -> None:
    folder = {p.name for p in (ROOT / "schema" / "transcripts").glob("*.txt")}
    assert set(LIST["unspokenTranscripts"]) < folder
    assert all(LIST["unspokenTranscripts"].values())
