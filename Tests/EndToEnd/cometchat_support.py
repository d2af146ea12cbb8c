"""A ferry whose remote is an app of CometChat of this machine."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest
from batch_support import make
from contract import ROOT
from sidecar import Sidecar

sys.path.append(str(ROOT / "Tests" / "Emulators" / "cometchat"))

from comet import CometChat, CometFault  # noqa: E402

__all__ = ["BOB", "CometChat", "CometFault", "Talk", "composing", "failure", "names"]

Talk = Callable[..., Sidecar]
BOB = "user:bob"


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


def composing(talk: Talk, concurrency: int = 1, **keys: Any) -> Sidecar:
    """With an empty batch `b`."""
    ferry = talk(**keys)
    make(ferry, channel=BOB, concurrency=concurrency)
    return ferry


def failure(ferry: Sidecar, file_id: str, event: str = "failure") -> dict[str, Any]:
    return dict(ferry.event(event, fileId=file_id)["error"]["data"])


def names(app: CometChat) -> list[str]:
    return sorted(key.rpartition("_")[2] for key in app.media.blobs)
