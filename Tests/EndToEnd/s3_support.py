"""Ferry before the strict S3 server of Tests/Emulators/s3."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Callable

from s3 import S3Server
from sidecar import Sidecar

Spawn = Callable[..., Sidecar]


def checked_server() -> Iterator[S3Server]:
    """A running server, which nobody may have asked wrongly or left uploads on."""
    with S3Server() as running:
        yield running
        assert running.violations == []
        assert running.bucket.uploads == {}, "uploads are left that nobody will complete"


def serve(spawn: Spawn, server: S3Server, **more: Any) -> Sidecar:
    """A process whose only remote is the server; it is told not to wait long for anything."""
    limits = {"stallTimeout": "1s", **more.pop("limits", {})}
    remote = {
        "kind": "s3",
        "endpoint": server.endpoint,
        "bucket": server.bucket_name,
        "accessKeyId": "KEY",
        "secretAccessKey": "SECRET",
        "checksum": "md5",
        "provider": "aws",
        "addressing": "path",
        "limits": limits,
        **more,
    }
    remote = {key: value for key, value in remote.items() if value is not None}
    sidecar = spawn()
    sidecar.call("initialize", config={"default": "store", "remotes": {"store": remote}})
    return sidecar
