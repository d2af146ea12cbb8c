"""A ferry whose remote is an app of CometChat of this machine."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest
from contract import ROOT
from sidecar import Sidecar

sys.path.append(str(ROOT / "Tests" / "Emulators" / "cometchat"))

from comet import CometChat, CometFault  # noqa: E402

__all__ = ["CometChat", "CometFault", "Talk"]

Talk = Callable[..., Sidecar]


@pytest.fixture
def app() -> Iterator[CometChat]:
    running = CometChat()
    running.start()
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture
def talk(spawn: Callable[..., Sidecar], app: CometChat, home: Path) -> Talk:
    """Starts ferry with remote `talk`; `keys` are laid over its configuration."""

    def start(**keys: Any) -> Sidecar:
        remote = {
            "kind": "cometchat",
            "appId": app.app_id,
            "region": "us",
            "authToken": app.token,
            "clientBaseUrl": app.origin + "/v3.0",
            "proxy": "none",
            **keys,
        }
        path = home / f"config-{len(list(home.iterdir()))}.yaml"
        # JSON is YAML.
        given = {name: value for name, value in remote.items() if value is not None}
        path.write_text(json.dumps({"default": "talk", "remotes": {"talk": given}}))
        return spawn("--config", str(path))

    return start
