"""Messages of channels, as they come."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from types import TracebackType
from typing import (
    TYPE_CHECKING,
    Any,
    AsyncIterator,
    Callable,
    Deque,
    Dict,
    Mapping,
    Optional,
    Type,
)

from .errors import FerryError, RequestTimeout
from .results import Message, Status

if TYPE_CHECKING:
    from .connection import Connection

BACKLOG = 10_000
"""Messages kept for a consumer that does not take them."""


class Subscription(AsyncIterator[Message]):
    """An async context manager that is iterated for its messages, each once and in order.

    `timetoken` is where to go on later (`since=`). A consumer that falls BACKLOG messages behind
    gets them, then FerryError with code CLIENT_TOO_SLOW: nothing is skipped in silence.
    """

    def __init__(
        self,
        connection: "Connection",
        params: Mapping[str, Any],
        on_status: Optional[Callable[[Status], Any]],
    ) -> None:
        self._connection = connection
        self._params = params
        self._remote: Optional[str] = params.get("remote")
        self._names = {*params.get("channels", ()), *params.get("groups", ())}
        self._on_status = on_status
        self._queue: Deque[Message] = deque()
        self._seen: Dict[str, int] = {}
        self._floor = 0
        self._wake: Optional["asyncio.Future[None]"] = None
        self._error: Optional[FerryError] = None
        self._ended = False
        self.timetoken: str = params.get("since", "0")

    async def start(self) -> "Subscription":
        """Subscribes; `async with` does this."""
        others = self._connection._router.subscriptions
        others.append(self)  # before the request: a message may overtake its reply
        try:
            reply = await self._connection.request("channel/subscribe", self._params)
        except BaseException:
            others.remove(self)
            raise
        if "since" not in self._params:
            self._floor = int(reply["timetoken"])
            self.timetoken = max(self.timetoken, reply["timetoken"], key=int)
        return self

    async def close(self) -> None:
        """Unsubscribes from what no other subscription of this client needs."""
        subscriptions = self._connection._router.subscriptions
        self._end(None)
        if self not in subscriptions:
            return
        subscriptions.remove(self)
        others = [s for s in subscriptions if s._remote == self._remote]
        needed = {name for other in others for name in other._names}
        unused = {
            key: [name for name in self._params.get(key, ()) if name not in needed]
            for key in ("channels", "groups")
        }
        gone = {key: names for key, names in unused.items() if names}
        if gone:
            if self._remote is not None:
                gone["remote"] = self._remote  # type: ignore[assignment]
            await self._connection.request("channel/unsubscribe", gone)

    async def __aenter__(self) -> "Subscription":
        return await self.start()

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        with contextlib.suppress(FerryError):  # the process is gone, and the subscription with it
            await self.close()

    def __aiter__(self) -> "Subscription":
        return self

    async def __anext__(self) -> Message:
        return await self.next()

    async def next(self, timeout: Optional[float] = None) -> Message:
        """The next message; RequestTimeout when none comes in time, and none is lost."""
        while not self._queue:
            if self._ended:
                if self._error is not None:
                    raise self._error
                raise StopAsyncIteration
            self._wake = asyncio.get_running_loop().create_future()
            done, _ = await asyncio.wait([self._wake], timeout=timeout)
            if not done:
                raise RequestTimeout("waiting for a message", timeout or 0)
        message = self._queue.popleft()
        self.timetoken = message.timetoken
        return message

    # For the client

    def receive(self, message: Message) -> None:
        """Takes a message if it is one of this subscription's and new to it."""
        if self._ended or self._remote not in (None, message.remote):
            return
        if not {message.channel, message.subscription} & self._names:
            return
        # Another subscription's `since` brings older messages of the same channel again.
        moment = int(message.timetoken)
        if moment <= self._seen.get(message.channel, self._floor):
            return
        self._seen[message.channel] = moment
        self._queue.append(message)
        if len(self._queue) >= BACKLOG:
            self.fail(
                FerryError(
                    "CLIENT_TOO_SLOW",
                    f"{BACKLOG} messages were waiting to be taken: take them faster, and go on "
                    "with subscribe(since=subscription.timetoken)",
                    retryable=True,
                )
            )
        self._wake_up()

    def receive_status(self, status: Status) -> None:
        """Takes a change of the connection."""
        if self._on_status and self._remote in (None, status.remote):
            call = self._on_status
            self._connection._dispatch(lambda: call(status))

    def fail(self, error: FerryError) -> None:
        """Ends the iteration with an error, after what is queued."""
        self._end(error)

    def _end(self, error: Optional[FerryError]) -> None:
        if not self._ended:
            self._ended, self._error = True, error
            self._wake_up()

    def _wake_up(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)
