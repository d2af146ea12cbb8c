"""Batches, as tests make and watch them."""

from __future__ import annotations

import base64
from typing import Any, Callable

from durable import STORE
from sidecar import Sidecar

Spawn = Callable[..., Sidecar]
Item = dict[str, Any]


def text(file_id: str, body: str = "x") -> Item:
    return {"fileId": file_id, "text": body, "name": f"{file_id}.txt"}


def limited(spawn: Spawn, concurrency: int = 4, **limits: Any) -> Sidecar:
    ferry = spawn()
    ferry.call(
        "initialize",
        config={
            "limits": {"concurrency": concurrency},
            "remotes": {
                "local": {"kind": "local", "root": str(ferry.home / STORE), "limits": limits}
            },
        },
    )
    return ferry


def make(ferry: Sidecar, batch: str = "b", **params: Any) -> str:
    if "prefix" not in params:
        params.setdefault("channel", "room")
    return str(ferry.call("batch/create", batchId=batch, **params)["batchId"])


def upload(ferry: Sidecar, *items: Item, batch: str = "b") -> None:
    assert ferry.call("batch/upload", batchId=batch, items=items) == {"accepted": len(items)}


def entries(ferry: Sidecar, batch: str = "b", **params: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    mark = None
    while True:
        page = ferry.call("batch/get", batchId=batch, next=mark, **params)
        found += page["files"]
        mark = page["next"]
        if mark is None:
            return found


def attachments(ferry: Sidecar, **which: Any) -> list[dict[str, Any]]:
    return list(ferry.call("batch/attachments", batchId="b", **which)["attachments"])


def states(ferry: Sidecar, batch: str = "b") -> dict[str, str]:
    return {entry["fileId"]: entry["state"] for entry in entries(ferry, batch)}


def stored(ferry: Sidecar, channel: str = "room") -> list[str]:
    return [file["name"] for file in ferry.call("file/list", channel=channel)["files"]]


def wait_until_stored(ferry: Sidecar, names: list[str]) -> None:
    """What was removed is deleted by and by; a shutdown waits for it, and so does this."""
    while stored(ferry) != names:
        ferry.call("ping")


def stream(ferry: Sidecar, file_id: str, batch: str = "b", **source: Any) -> str:
    """Begins a file that moves as long as the test likes; its transferId."""
    item = {"fileId": file_id, "stream": source, "name": f"{file_id}.bin"}
    ferry.call("batch/upload", batchId=batch, items=[item])
    return str(ferry.event("started", batchId=batch, fileId=file_id)["transferId"])


def close(ferry: Sidecar, transfer: str, data: bytes = b"x") -> None:
    ferry.call("stream/write", transferId=transfer, data=base64.b64encode(data).decode())
    ferry.call("stream/close", transferId=transfer)
