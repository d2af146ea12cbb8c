"""One file of a batch: awaited for its attachment, observed, removed, tried again."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Callable, Generator, Mapping, Optional, TypedDict, Union
from weakref import ReferenceType

from .batch_results import Attachment
from .errors import FerryError, TransferCancelled
from .events import Cancelled, Event, Failure, Rejected, Started, Uploaded, event
from .observers import Observer, Observers
from .sources import Source
from .state import TransferState, after
from .wire import decode

if TYPE_CHECKING:
    from .batch import Batch

Listeners = Mapping[str, Callable[[Any], Any]]
"""Functions by the name of the event they are called with."""


class Addition(TypedDict, total=False):
    """A file for `Batch.add_all`: its `source`, and what else `Batch.add` takes."""

    source: Source
    file_id: str
    name: str
    content_type: str
    digest: str
    ref: str
    on: Listeners


_UNKNOWN = TransferState("")


class BatchFile:
    """One file of a batch. `await file` gives its attachment, or raises where it has none.

    A retry begins anew: the file can be awaited again. `snapshot` is what is known of it here.
    """

    __slots__ = (
        "__weakref__", "_batch", "_future", "_observers", "_outcome", "attachment", "file_id",
        "listeners", "snapshot", "taken",
    )  # fmt: skip

    def __init__(
        self, batch: "ReferenceType[Batch]", file_id: str, listeners: Optional[Listeners]
    ) -> None:
        self.file_id = file_id
        self.snapshot = _UNKNOWN
        self.attachment: Optional[Attachment] = None
        self.listeners = listeners
        self.taken: "Optional[asyncio.Future[None]]" = None
        """Done once the sidecar has taken it in, or has not."""
        self._batch = batch
        # Made when they are asked for: a batch may have very many files.
        self._observers: Optional[Observers] = None
        self._future: "Optional[asyncio.Future[Attachment]]" = None
        self._outcome: Union[Attachment, FerryError, None] = None

    @property
    def live(self) -> bool:
        """Whether it is queued, running or paused."""
        return self.snapshot.state in ("queued", "running", "paused")

    def __await__(self) -> Generator[Any, None, Attachment]:
        if self._future is None:
            self._future = asyncio.get_running_loop().create_future()
            self._tell()
        return asyncio.shield(self._future).__await__()

    def on(self, name: str, call: Callable[[Any], Any]) -> Observer:
        """Calls a function with each of the file's events of a name, over retries too."""
        if self._observers is None:
            self._observers = Observers()
        return self._observers.add(name, call)

    def off(self, name: Optional[str] = None) -> None:
        """Removes the observers of one event, or all of them."""
        if self._observers is not None:
            self._observers.remove(name)

    async def remove(self) -> bool:
        """Takes it out of the batch; whether it was there."""
        return await self._owner.remove(self.file_id)

    async def retry(self) -> bool:
        """Tries it again; whether it had failed."""
        return await self._owner.retry(self.file_id)

    async def pause(self) -> str:
        """Pauses it, which the batch waits for, and returns its state; it has begun to move."""
        return await self._manage("transfer/pause")

    async def resume(self) -> str:
        """Goes on after a pause and returns its state."""
        return await self._manage("transfer/resume")

    # For the batch

    def again(self) -> Callable[[], None]:
        """It is in line again; what is returned takes this back."""
        before = self._future, self._outcome, self.snapshot
        if self._outcome is not None:
            self._future = self._outcome = None
        self.snapshot = replace(self.snapshot, state="queued", error=None)

        def take_back() -> None:
            self._future, self._outcome, self.snapshot = before

        return take_back

    def receive(self, method: str, params: Mapping[str, Any]) -> Optional[Event]:
        """Takes one of its notifications, and gives the event it is."""
        happened = event(method, {"transferId": "", **params})
        if happened is None:
            return None
        if isinstance(happened, Started) and self._outcome is not None:
            self.again()  # unasked, or by somebody else
        self.snapshot = after(self.snapshot, happened)
        if self._observers is not None:
            self._observers.notify(happened, self._owner._connection._dispatch)
        if isinstance(happened, Uploaded):
            self.attachment = decode(Attachment, params["attachment"])
            self._settle(self.attachment)
        elif isinstance(happened, (Rejected, Failure, Cancelled)):
            self._settle(happened.error)
        return happened

    def fail(self, error: FerryError, state: Optional[str] = None) -> None:
        """Ends without an attachment; `state` where no event has told it."""
        if self.live and state is not None:
            self.snapshot = replace(self.snapshot, state=state, error=error)
        self._settle(error)

    def _settle(self, outcome: Union[Attachment, FerryError]) -> None:
        if self._outcome is None:
            self._outcome = outcome
            self._tell()

    def _tell(self) -> None:
        """Settles what is awaited, once there is an outcome."""
        if self._future is None or self._outcome is None:
            return
        if isinstance(self._outcome, Attachment):
            self._future.set_result(self._outcome)
        else:
            self._future.set_exception(self._outcome)
            self._future.exception()  # seen: a file that nobody awaits must not be reported

    async def _manage(self, method: str) -> str:
        ask = {"transferId": self.snapshot.transfer_id}
        return str((await self._owner._connection.request(method, ask))["state"])

    @property
    def _owner(self) -> "Batch":
        batch = self._batch()
        if batch is None:
            raise FerryError("CLIENT_USAGE", "the batch of this file is gone")
        return batch


def removal(message: str) -> FerryError:
    """Why there is no attachment: the host did not want it any more."""
    data = {"code": "ERR_CANCELLED", "retryable": False}
    return TransferCancelled("ERR_CANCELLED", message, data=data, number=-32800)
