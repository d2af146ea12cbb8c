"""The examples, and the snippets of the README, do what they say."""

from __future__ import annotations

import hashlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable

import pytest
from contract import ROOT
from sidecar import BINARY, TIMEOUT, environment

EXAMPLES = ROOT / "examples"
COMPOSERS = {
    "python": [sys.executable, str(EXAMPLES / "composer.py")],
    "node": ["node", str(EXAMPLES / "composer.mjs")],
}
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def settings(home: Path) -> dict[str, str]:
    return {**environment(home), "FERRY_BIN": str(BINARY)}


@pytest.fixture
def example(home: Path) -> Run:
    """Runs a command in HOME with its output as text."""

    def start(*words: str, **more: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, capture_output=True, text=True, timeout=TIMEOUT, cwd=home,
            env={**settings(home), **more},
        )  # fmt: skip

    return start


@pytest.fixture(params=COMPOSERS, ids=str)
def composer(request: pytest.FixtureRequest) -> list[str]:
    return COMPOSERS[request.param]


def listed(example: Run, channel: str) -> list[str]:
    ask = {"jsonrpc": "2.0", "id": 1, "method": "file/list", "params": {"channel": channel}}
    reply = example("sh", "-c", f"echo '{json.dumps(ask)}' | \"$FERRY_BIN\" serve").stdout
    return [file["name"] for file in json.loads(reply)["result"]["files"]]


def test_a_composer_sends_all_and_says_what_happened(
    composer: list[str], example: Run, home: Path
) -> None:
    for name, size in {"a.bin": 10, "ü \u2028.bin": 3_000_000, "c.bin": 0}.items():
        (home / name).write_bytes(b"x" * size)
    ran = example(*composer, "trip", "a.bin", "none.bin", "ü \u2028.bin", "c.bin")
    assert (ran.returncode, ran.stderr) == (1, "")
    assert re.fullmatch(
        "a.bin: sent as [0-9a-f]+, 10 bytes\n"
        "none.bin: not sent: Cannot open .*: there is no such file; check the path.\n"
        "ü \u2028.bin: sent as [0-9a-f]+, 3000000 bytes\n"
        "c.bin: sent as [0-9a-f]+, 0 bytes\n",
        ran.stdout,
    )
    assert sorted(listed(example, "trip")) == ["a.bin", "c.bin", "ü \u2028.bin"]
    assert example(*composer, "trip", "a.bin").returncode == 0
    assert example(*composer).returncode == 1


def test_a_composer_draws_bars_on_a_terminal_and_ctrl_c_cancels(
    composer: list[str], example: Run, home: Path
) -> None:
    (home / "slow.bin").write_bytes(b"x" * 3_000_000)
    (home / "slow.yaml").write_text("limits: { uploadRate: 100000 }\n")
    near, far = pty.openpty()
    process = subprocess.Popen(
        [*composer, "trip", "slow.bin"],
        cwd=home, stdin=far, stdout=far, stderr=far, start_new_session=True,
        env={**settings(home), "FERRY_CONFIG": str(home / "slow.yaml")},
    )  # fmt: skip
    os.close(far)
    seen = b""
    deadline = time.monotonic() + TIMEOUT
    try:
        while "█".encode() not in seen:
            assert time.monotonic() < deadline, seen
            seen += os.read(near, 4096)
        process.send_signal(signal.SIGINT)
        while True:
            try:
                seen += os.read(near, 4096)
            except OSError:  # the other side is closed
                break
        assert process.wait(TIMEOUT) == 1
    finally:
        process.kill()
        process.wait()
        os.close(near)
    text = seen.decode()
    assert "slow.bin                       █░" in text
    assert "running" in text
    assert text.endswith("slow.bin: cancelled\r\n")
    assert listed(example, "trip") == []


def test_the_shell_script_shares_a_file(example: Run, home: Path) -> None:
    (home / 'a "b".txt').write_text("hello")
    ran = example(str(EXAMPLES / "share.sh"), "trip", 'a "b".txt')
    digest = hashlib.sha256(b"hello").hexdigest()
    assert (ran.returncode, ran.stderr) == (0, "")
    sent, *files = ran.stdout.splitlines()
    assert sent == f'sent a "b".txt, 5 bytes, sha256 {digest}'
    assert [line.split("  ")[1:] for line in files] == [["5", 'a "b".txt']]
    missing = example(str(EXAMPLES / "share.sh"), "trip", "none")
    assert missing.returncode != 0
    assert "there is no such file" in missing.stderr
    assert example(str(EXAMPLES / "share.sh")).returncode == 1


def test_the_first_host_of_the_documentation_runs(example: Run, home: Path) -> None:
    page = (ROOT / "docs" / "hosts.md").read_text()
    [block] = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (home / "host.py").write_text(block)
    ran = example(sys.executable, str(home / "host.py"))
    assert (ran.returncode, ran.stderr) == (0, "")
    said = ["event started", "event uploaded", "event started", "event downloaded"]
    assert ran.stdout.splitlines() == [*said, "SGVsbG8=", "code 0"]


@pytest.mark.parametrize("language", ["python", "js"])
def test_the_composers_of_the_documentation_run(language: str, example: Run, home: Path) -> None:
    for name in ("photo.jpg", "clip.mp4"):
        (home / name).write_bytes(b"x" * 100_000)
    page = (ROOT / "docs" / "batches.md").read_text()
    [block] = re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    ran = run_snippet(block, language, example, home)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert sorted(listed(example, "room")) == ["note.txt", "photo.jpg"]


def run_snippet(block: str, language: str, example: Run, home: Path) -> Any:
    """Runs a snippet as a host would that has installed the package."""
    modules = home / "node_modules"
    modules.mkdir(exist_ok=True)
    if not (modules / "ferry-sidecar").exists():
        (modules / "ferry-sidecar").symlink_to(ROOT / "clients" / "node")
    file = home / f"snippet.{'py' if language == 'python' else 'mjs'}"
    file.write_text(block)
    runner = sys.executable if language == "python" else "node"
    return example(runner, str(file), PYTHONPATH=str(ROOT / "clients" / "python"))


@pytest.mark.parametrize("language", ["python", "js"])
def test_the_snippets_of_the_readme_run(language: str, example: Run, home: Path) -> None:
    (home / "photo.jpg").write_bytes(b"x" * 100_000)
    readme = (ROOT / "README.md").read_text()
    blocks = re.findall(rf"^```{language}\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        ran = run_snippet(block, language, example, home)
        assert (ran.returncode, ran.stderr) == (0, "")
        assert "False" not in ran.stdout and "false" not in ran.stdout
        assert "rue" in ran.stdout or "uploaded" in ran.stdout
