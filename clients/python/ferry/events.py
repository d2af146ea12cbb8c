"""What happens to a transfer, as the sidecar tells it.

Per transfer: Started (Progress | Paused | Resumed)*, then exactly one of Uploaded, Downloaded,
Rejected, Failure and Cancelled; after a Failure, a retry begins again with Started.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Dict, Mapping, Optional, Type

from .errors import FerryError, TransferCancelled, TransferFailed, TransferRejected, build
from .results import SentFile, StoredObject
from .wire import converted, decode, reader


@dataclass(frozen=True)
class Event:
    """Base of all: which transfer, and `seq`, rising over everything the process tells.

    In a batch each has `batch_id` and `file_id`, too.
    """

    name: ClassVar[str] = ""
    terminal: ClassVar[bool] = False

    transfer_id: str
    seq: int


@dataclass(frozen=True)
class Started(Event):
    """It runs now, once per attempt; `total` is None while unknown."""

    name = "started"
    attempt: int
    total: Optional[int]
    batch_id: Optional[str] = None
    file_id: Optional[str] = None


@dataclass(frozen=True)
class Progress(Event):
    """Bytes moved; `rate` in bytes per second. Some are dropped, the last one equals the total."""

    name = "progress"
    direction: str
    loaded: int
    total: Optional[int]
    percent: Optional[int]
    rate: int
    eta_ms: Optional[int]
    attempt: int
    batch_id: Optional[str] = None
    file_id: Optional[str] = None


@dataclass(frozen=True)
class Paused(Event):
    """It holds still and its slot is free."""

    name = "paused"
    loaded: int
    batch_id: Optional[str] = None
    file_id: Optional[str] = None


@dataclass(frozen=True)
class Resumed(Event):
    """It goes on."""

    name = "resumed"
    loaded: int
    batch_id: Optional[str] = None
    file_id: Optional[str] = None


@dataclass(frozen=True)
class Uploaded(Event):
    """The remote has it (and announced it): `file` after send, `object` after put."""

    name = "uploaded"
    terminal = True
    file: Optional[SentFile] = converted(reader(SentFile))
    object: Optional[StoredObject] = converted(reader(StoredObject))
    attachment: Optional[Mapping[str, Any]] = None
    sha256: Optional[str] = None
    batch_id: Optional[str] = None
    file_id: Optional[str] = None


@dataclass(frozen=True)
class Downloaded(Event):
    """It is verified and in place."""

    name = "downloaded"
    terminal = True
    size: int
    sha256: Optional[str] = None
    path: Optional[str] = None
    temporary: bool = False
    batch_id: Optional[str] = None
    file_id: Optional[str] = None


@dataclass(frozen=True)
class Rejected(Event):
    """Refused before any byte counted; the request itself must change."""

    name = "error"
    terminal = True
    error: FerryError = converted(lambda error: build(error, TransferRejected), required=True)
    batch_id: Optional[str] = None
    file_id: Optional[str] = None
    duplicate: bool = False


@dataclass(frozen=True)
class Failure(Event):
    """Failed; `handle.retry()` is allowed, `error.retryable` says whether it can help."""

    name = "failure"
    terminal = True
    error: FerryError = converted(lambda error: build(error, TransferFailed), required=True)
    batch_id: Optional[str] = None
    file_id: Optional[str] = None


@dataclass(frozen=True)
class Cancelled(Event):
    """Cancelled; `resumable`: only this process ended, and the next one can go on from `loaded`."""

    name = "cancelled"
    terminal = True
    error: FerryError = converted(lambda error: build(error, TransferCancelled), required=True)
    loaded: int = 0
    resumable: bool = False
    batch_id: Optional[str] = None
    file_id: Optional[str] = None


EVENTS: Dict[str, Type[Event]] = {
    kind.name: kind
    for kind in (
        Started, Progress, Paused, Resumed, Uploaded, Downloaded, Rejected, Failure, Cancelled,
    )
}  # fmt: skip
"""Every event by the name observers use."""


def ended(snapshot: Mapping[str, Any]) -> Optional[Event]:
    """The event a transfer ended with, from the reply of `transfer/get`; None while it goes on.

    Its `seq` is 0. The path and digest of a download are not in a snapshot.
    """
    name = {
        "succeeded": "uploaded" if snapshot["direction"] == "upload" else "downloaded",
        "rejected": "error",
        "failed": "failure",
        "cancelled": "cancelled",
    }.get(snapshot["state"])
    if name is None:
        return None
    fields = {**snapshot, "seq": 0, "size": snapshot["loaded"]}
    if "ref" in snapshot and "metadata" in snapshot:
        fields["object"] = {"ref": snapshot["ref"], "metadata": snapshot["metadata"]}
    return event(name, fields)


def event(method: str, params: Mapping[str, Any]) -> Optional[Event]:
    """The event a notification is; None where it is about something else."""
    kind = EVENTS.get(method)
    return decode(kind, params) if kind and "transferId" in params else None
