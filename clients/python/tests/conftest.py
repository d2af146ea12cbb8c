"""Sidecars to test against: the fake, and the real program where it is built."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

import pytest
import traffic
from places import REAL

import ferry

FAST = ferry.CloseGrace(drain=5, now=1, eof=0.2, term=0.2)


@pytest.fixture
def fake_program(tmp_path: Path) -> Path:
    """An executable that runs the fake."""
    shim = tmp_path / "fake-ferry"
    fake = Path(__file__).with_name("fake_sidecar.py")
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{fake}" "$@"\n')
    shim.chmod(shim.stat().st_mode | stat.S_IXUSR)
    return shim


class Recorder:
    """Keeps all traffic of the clients of a test, each checked against the contract at its end."""

    def __init__(self) -> None:
        self.conversations: List[List[Tuple[str, Any]]] = []

    def tracer(self) -> Callable[[str, bytes], None]:
        lines: List[Tuple[str, Any]] = []
        self.conversations.append(lines)
        return lambda direction, line: lines.append((direction, line))

    def sent(self, method: str) -> List[Dict[str, Any]]:
        """The params of all requests and notifications of a method."""
        parsed = (json.loads(line) for c in self.conversations for d, line in c if d == "out")
        return [message["params"] for message in parsed if message["method"] == method]

    def check(self) -> None:
        for lines in self.conversations:
            sent = [json.loads(line) for direction, line in lines if direction == "out"]
            received = [json.loads(line) for direction, line in lines if direction == "in"]
            for message in sent:
                if message["method"] != "initialize":  # unknown fields are allowed there
                    traffic.contract().check_params(message["method"], message["params"])
            traffic.check(sent, received, all_answered=False)


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    recorder = Recorder()
    yield recorder
    recorder.check()


@pytest.fixture
def fake(fake_program: Path, recorder: Recorder, tmp_path: Path) -> Callable[..., Dict[str, Any]]:
    """Options of a Ferry that runs the fake with words for its faults."""

    def options(words: str = "", *, checked: bool = True, **more: Any) -> Dict[str, Any]:
        trace = {"trace": recorder.tracer()} if checked else {}
        env = {"FAKE": words, **more.pop("env", {})}
        return {"bin": fake_program, "env": env, "close_grace": FAST, "cwd": tmp_path,
                **trace, **more}  # fmt: skip

    return options


@pytest.fixture
def real(recorder: Recorder, tmp_path: Path) -> Callable[..., Dict[str, Any]]:
    """Options of a Ferry that runs the real program on a root of its own."""
    if not REAL.exists():
        pytest.skip(f"{REAL} is not built")

    def options(**more: Any) -> Dict[str, Any]:
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        config = {
            "stateDir": str(tmp_path / "state"),
            "remotes": {"local": {"kind": "local", "root": str(tmp_path / "root")}},
        }
        return {"bin": REAL, "env": {"HOME": str(home)}, "config": config, "cwd": tmp_path,
                "trace": recorder.tracer(), **more}  # fmt: skip

    return options


@pytest.fixture(params=["fake", "real"])
def sidecar(request: pytest.FixtureRequest) -> Callable[..., Dict[str, Any]]:
    """Options of a Ferry that runs the fake, and then the real program."""
    options: Callable[..., Dict[str, Any]] = request.getfixturevalue(request.param)
    return options
