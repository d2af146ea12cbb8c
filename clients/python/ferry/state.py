"""What a transfer's events add up to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Dict, Optional

from .errors import FerryError
from .events import Cancelled, Event, Failure, Paused, Progress, Rejected, Resumed, Started


@dataclass(frozen=True)
class TransferState:
    """A transfer as its events tell it; `total` and `percent` are None while unknown."""

    transfer_id: str
    state: str = "queued"
    loaded: int = 0
    total: Optional[int] = None
    percent: Optional[int] = None
    rate: int = 0
    eta_ms: Optional[int] = None
    attempt: int = 0
    error: Optional[FerryError] = None


_STATES = {
    "started": "running", "paused": "paused", "resumed": "running", "uploaded": "succeeded",
    "downloaded": "succeeded", "error": "rejected", "failure": "failed", "cancelled": "cancelled",
}  # fmt: skip


def after(state: TransferState, event: Event) -> TransferState:
    """The state once an event happened."""
    if isinstance(event, Progress):
        return replace(
            state, transfer_id=event.transfer_id, loaded=event.loaded, total=event.total,
            percent=event.percent, rate=event.rate, eta_ms=event.eta_ms, attempt=event.attempt,
        )  # fmt: skip
    changes: Dict[str, Any] = {"transfer_id": event.transfer_id, "state": _STATES[event.name]}
    if isinstance(event, Started):
        changes.update(attempt=event.attempt, total=event.total, error=None)
    else:
        changes.update(rate=0, eta_ms=None)
    if isinstance(event, (Paused, Resumed)):
        changes.update(loaded=event.loaded)
    elif isinstance(event, (Rejected, Failure, Cancelled)):
        changes.update(error=event.error)
    return replace(state, **changes)
