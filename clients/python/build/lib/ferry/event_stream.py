"""The events of one transfer, for one consumer that may be slow."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, AsyncIterator, Deque, List, Optional

from .events import Event, Progress

if TYPE_CHECKING:
    import asyncio

    from .handle import TransferHandle


class EventStream(AsyncIterator[Event]):
    """Events of one transfer for one consumer; of progress it keeps only the latest."""

    def __init__(self, handle: "TransferHandle[Any]", past: List[Event], owning: bool) -> None:
        self._handle = handle
        self._queue: Deque[Event] = deque(past)
        self._owning = owning
        self._ended = False
        self._error: Optional[BaseException] = None
        self._wake: Optional["asyncio.Future[None]"] = None

    def __aiter__(self) -> "EventStream":
        return self

    async def __anext__(self) -> Event:
        while not self._queue:
            if self._ended:
                if self._error is None:
                    raise StopAsyncIteration
                error, self._error = self._error, None
                raise error
            wake = self._wake = self._handle._loop.create_future()
            if self._owning:
                await self._handle._waiting_for(wake)
            else:
                await wake
        return self._queue.popleft()

    def _push(self, event: Event) -> None:
        if isinstance(event, Progress) and self._queue and isinstance(self._queue[-1], Progress):
            self._queue[-1] = event
        else:
            self._queue.append(event)
        self._wake_up()

    def _end(self, error: Optional[BaseException]) -> None:
        if not self._ended:
            self._ended, self._error = True, error
            self._wake_up()

    def _wake_up(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)
