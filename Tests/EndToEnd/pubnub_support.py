"""A ferry whose remotes are a PubNub of this machine."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest
from contract import ROOT
from sidecar import Sidecar

sys.path.insert(0, str(ROOT / "Tests" / "Emulators" / "pubnub"))

from emulator import Emulator  # noqa: E402
from faults import Fault  # noqa: E402

__all__ = ["Chat", "Emulator", "Fault"]

Chat = Callable[..., Sidecar]


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    running = Emulator(hold=20).start()
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture
def chat(spawn: Callable[..., Sidecar], emulator: Emulator, home: Path) -> Chat:
    """Starts ferry with remote `chat`; `keys` are laid over its configuration, and further remotes
    are given by name."""

    def start(remotes: dict[str, dict[str, Any]] | None = None, **keys: Any) -> Sidecar:
        base = {
            "kind": "pubnub",
            "publishKey": "demo",
            "subscribeKey": "demo",
            "userId": "me",
            "origin": emulator.origin,
            "proxy": "none",
        }
        all_remotes = {"chat": {**base, **keys}}
        for name, own in (remotes or {}).items():
            all_remotes[name] = own if own.get("kind") == "local" else {**base, **own}
        path = home / f"config-{len(list(home.iterdir()))}.yaml"
        # JSON is YAML.
        path.write_text(json.dumps({"default": "chat", "remotes": all_remotes}))
        return spawn("--config", str(path))

    return start
