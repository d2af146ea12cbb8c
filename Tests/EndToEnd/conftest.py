"""Fixtures: a scratch home, and processes whose whole output is checked when the test ends."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest
from cometchat_support import app, talk  # noqa: F401 (fixtures)
from pubnub_support import chat, emulator  # noqa: F401 (fixtures)
from sidecar import BINARY, TIMEOUT, Sidecar, environment

sys.path.insert(0, str(Path(__file__).parent.parent / "Emulators"))

Spawn = Callable[..., Sidecar]


def pytest_configure(config: pytest.Config) -> None:
    if not BINARY.exists():
        raise pytest.UsageError(f"{BINARY} does not exist: run `make build`, or set FERRY_BIN")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def spawn(home: Path) -> Iterator[Spawn]:
    """Starts processes that share one HOME, hence one `local` remote; checks each at the end."""
    started: list[Sidecar] = []

    def start(*args: str, **options: Any) -> Sidecar:
        sidecar = Sidecar(options.pop("home", home), *args, **options)
        started.append(sidecar)
        return sidecar

    try:
        yield start
        for sidecar in started:
            sidecar.finish()
    finally:
        for sidecar in started:
            sidecar.dispose()


@pytest.fixture
def ferry(spawn: Spawn) -> Sidecar:
    """One process with default arguments."""
    return spawn()


@pytest.fixture
def run(home: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs `ferry ARGS` to its end, with stdin empty or `input`."""

    def command(
        *args: str, input: str = "", env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(BINARY), *args],
            input=input,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            cwd=home,
            env={**environment(home), **(env or {})},
        )

    return command
