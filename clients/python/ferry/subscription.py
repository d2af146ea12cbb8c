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

from .errors import FerryError, RequestTimeout, from_wire
from .results import Message, Status
from .wire import merged, params

if TYPE_CHECKING:
    from .connection import Connection

BACKLOG = 10_000
"""Messages kept for a consumer that does not take them."""


class Subscription(AsyncIterator[Message]):
    """An async context manager that is iterated for its messages, each once and in order.

    `timetoken` is where to go on later (`since=`). A consumer that falls BACKLOG messages behind
    gets them, then FerryError with code CLIENT_TOO_SLOW: nothing is skipped in silence. Where the
    sidecar ends the subscription, the iteration ends with its error, after what is queued.
    """

    def __init__(
        self,
        connection: "Connection",
        ask: Mapping[str, Any],
        on_status: Optional[Callable[[Status], Any]],
    ) -> None:
        self._connection = connection
        self._ask = ask
        self._names = {*ask.get("channels", ()), *ask.get("groups", ())}
        self._on_status = on_status
        self._queue: Deque[Message] = deque()
        self._seen: Dict[str, int] = {}
        self._floor = 0
        self._wake: Optional["asyncio.Future[None]"] = None
        self._error: Optional[FerryError] = None
        self._started = False
        self._lost: Optional[FerryError] = None
        self._ended = False
        self.timetoken: str = ask.get("since", "0")

    async def start(self) -> "Subscription":
        """Subscribes; `async with` does this."""
        # Before the request: a message may overtake its reply.
        self._connection._router.subscriptions.append(self)
        try:
            reply = await self._connection.request("channel/subscribe", self._ask)
        except BaseException:
            self._leave()
            raise
        if "since" not in self._ask:
            self._floor = int(reply["timetoken"])
            self.timetoken = max(self.timetoken, reply["timetoken"], key=int)
        self._started = True
        self._end_if_lost()
        return self

    async def close(self) -> None:
        """Unsubscribes from what no other subscription of this client needs."""
        self._end(None)
        if not self._leave():
            return
        subscriptions = self._connection._router.subscriptions
        others = [s for s in subscriptions if s._remote == self._remote]
        needed = {name for other in others for name in other._names}
        unused = {
            key: [name for name in self._ask.get(key, ()) if name not in needed]
            for key in ("channels", "groups")
        }
        gone = {key: names for key, names in unused.items() if names}
        if gone:
            ask = merged(gone, params(remote=self._ask.get("remote")))
            await self._connection.request("channel/unsubscribe", ask)

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
        if self._ended or self._remote != message.remote:
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
        if self._remote != status.remote:
            return
        if self._on_status:
            call = self._on_status
            self._connection._dispatch(lambda: call(status))
        if status.state == "disconnected" and status.error is not None:
            self._lost = from_wire(status.error)
        elif status.state == "connected":
            self._lost = None
        self._end_if_lost()

    def fail(self, error: FerryError) -> None:
        """Ends the iteration with an error, after what is queued."""
        self._end(error)

    @property
    def _remote(self) -> Optional[str]:
        info = self._connection.info
        return self._ask.get("remote") or (info.default if info else None)

    def _leave(self) -> bool:
        """Hears no more; False where it did not."""
        subscriptions = self._connection._router.subscriptions
        if self not in subscriptions:
            return False
        subscriptions.remove(self)
        return True

    def _end_if_lost(self) -> None:
        # Before the reply a loss may be one of earlier subscriptions: `connected` follows then.
        if self._started and self._lost is not None:
            self._leave()  # there is nothing left to unsubscribe from
            self.fail(self._lost)

    def _end(self, error: Optional[FerryError]) -> None:
        if not self._ended:
            self._ended, self._error = True, error
            self._wake_up()

    def _wake_up(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)
