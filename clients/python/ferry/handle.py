"""A transfer under way: awaited for its result, iterated for its events, paused, cancelled."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import (
    TYPE_CHECKING,
    Any,
    AsyncIterator,
    Callable,
    Dict,
    Generator,
    Generic,
    Optional,
    TypeVar,
    Union,
)
from weakref import WeakSet

from .errors import FerryError, RequestTimeout, TransferCancelled, TransferFailed
from .event_stream import EventStream
from .events import Cancelled, Event, Failure, Rejected, ended
from .observers import Observer, Observers
from .state import TransferState, after

if TYPE_CHECKING:
    from .connection import Call, Connection

R = TypeVar("R")
Outcome = Union[Rejected, Failure, Cancelled]

_REPLACES = {"paused": ("paused", "resumed"), "resumed": ("paused", "resumed")}
"""Events that make others untrue."""


class TransferHandle(Generic[R]):
    """One transfer.

    `await handle` gives the result or raises; `async for event in handle` gives the events and
    raises after an unhappy one. A task that is cancelled while it does either cancels the transfer,
    unless another task waits too; `handle.events()` iterates without that tie.
    """

    def __init__(
        self,
        connection: "Connection",
        transfer_id: str,
        *,
        from_reply: Callable[[Any], R],
        from_event: Callable[[Event], R],
        rejoin: Optional[Callable[[Event], Optional["Call"]]] = None,
    ) -> None:
        self.transfer_id = transfer_id
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._from_reply = from_reply
        self._from_event = from_event
        # Joins the transfer where an event does not carry all of the result.
        self._rejoin = rejoin
        self._future: "asyncio.Future[R]" = self._loop.create_future()
        self._call: Optional["Call"] = None
        self._settled_by_event = True
        self._fault: Optional[BaseException] = None
        self._feeder: Optional["asyncio.Task[None]"] = None
        self._waiters = 0
        self._state = TransferState(transfer_id)
        self._latest: Dict[str, Event] = {}
        self._streams: "WeakSet[EventStream]" = WeakSet()
        self._observers = Observers()
        self.kin: Optional["WeakSet[TransferHandle[Any]]"] = None
        """The router's set of handles of this transfer that failed."""
        connection._router.add(self)

    # For the host

    @property
    def snapshot(self) -> TransferState:
        """What is known of it here; `Ferry.transfer` asks the sidecar."""
        return self._state

    def done(self) -> bool:
        """Whether it is settled."""
        return self._future.done()

    def __await__(self) -> Generator[Any, None, R]:
        return self.result().__await__()

    async def result(self, timeout: Optional[float] = None) -> R:
        """The same as awaiting; after `timeout` seconds RequestTimeout, and the transfer goes on.

        (`timeout=` of the call that began it cancels the transfer.)
        """
        await self._waiting_for(self._future, timeout)
        if not self._future.done():
            raise RequestTimeout("waiting for the transfer", timeout or 0)
        return self._future.result()

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._stream(owning=True)

    def events(self) -> AsyncIterator[Event]:
        """Its events, as iterating the handle, but ending early does not concern the transfer."""
        return self._stream(owning=False)

    def on(self, name: str, call: Callable[[Any], Any]) -> Observer:
        """Calls a function with each event of a name (`started`, `progress`, `uploaded`, …).

        Dropped after uploaded, downloaded, error and cancelled; kept over a failure. One that is
        added late is called with the latest event of its name.
        """
        observer = self._observers.add(name, call)
        seen = self._latest.get(name)
        if seen is not None:
            observer.notify(seen, self._connection._dispatch)
        return observer

    def off(self, name: Optional[str] = None) -> None:
        """Removes the observers of one event, or all of them."""
        self._observers.remove(name)

    async def pause(self) -> str:
        """Pauses it and returns its state; no effect where it is settled."""
        return await self._command("transfer/pause")

    async def resume(self) -> str:
        """Goes on after a pause and returns its state."""
        return await self._command("transfer/resume")

    async def cancel(self) -> str:
        """Cancels it and returns its state; awaiting it then raises TransferCancelled."""
        return await self._command("transfer/cancel")

    async def retry(self) -> str:
        """Tries a failed transfer again: the handle can be awaited and iterated anew."""
        if not isinstance(self._state.error, TransferFailed):
            return await self._command("transfer/retry")
        # The event comes before the reply, which still belongs to the attempt that failed.
        await asyncio.wait([self._future])
        before = self._future, self._state
        self._future = self._loop.create_future()
        self._settled_by_event, self._fault = True, None
        self._latest.clear()
        self._state = replace(self._state, state="queued", error=None)
        self._connection._router.add(self)
        try:
            return await self._command("transfer/retry")
        except BaseException:
            if not self._future.done():
                self._connection._router.settle(self, again=True)
                self._future, self._state = before
            raise

    # For the client

    def begin(self, call: "Call", *, detached: bool, timeout: Optional[float]) -> None:
        """Settles with the reply of a request or, detached, with the event that ends it."""
        self._call = call
        self._settled_by_event = detached
        call.future.add_done_callback(self._replied)
        if timeout is not None:
            timer = self._loop.call_later(timeout, self._timed_out, call.method, timeout)
            self._future.add_done_callback(lambda _: timer.cancel())

    def feed(self, feeder: "asyncio.Task[None]") -> None:
        """Ties the task that sends a stream's bytes: it ends with the transfer, and fails it."""
        self._feeder = feeder
        feeder.add_done_callback(self._fed)

    def receive(self, event: Event) -> None:
        """Takes an event of this transfer."""
        if isinstance(event, Failure) and isinstance(self._latest_outcome(), Failure):
            return  # the snapshot that told of it was faster
        for outdated in _REPLACES.get(event.name, (event.name,)):
            self._latest.pop(outdated, None)
        self._latest[event.name] = event
        self._state = after(self._state, event)
        self._observers.notify(event, self._connection._dispatch)
        for stream in list(self._streams):
            stream._push(event)
        if not event.terminal:
            return
        error = self._reason(getattr(event, "error", None))
        self._end_streams(error)
        if not isinstance(event, Failure):
            self._observers.clear()
        if not self._settled_by_event or self._future.done():
            return
        if error is not None:
            self.fail(error)
            return
        try:
            call = self._rejoin(event) if self._rejoin is not None else None
        except FerryError as gone:
            self.fail(gone)
            return
        if call is not None:
            self.begin(call, detached=False, timeout=None)
        else:
            self._succeed(self._from_event, event)

    def look(self) -> None:
        """Asks what became of it: where it has ended before, no event will follow."""
        with contextlib.suppress(FerryError):  # the process is gone, which is told anyway
            call = self._connection._post("transfer/get", {"transferId": self.transfer_id})
            call.future.add_done_callback(self._looked)

    def fail(self, error: BaseException) -> None:
        """Settles without success."""
        if self._future.done():
            return
        reason = self._reason(error) or error
        self._future.set_exception(reason)
        self._future.exception()  # seen: a handle that nobody awaits must not be reported
        self._settle(reason)

    def _reason(self, error: Optional[BaseException]) -> Optional[BaseException]:
        # Where this side cancelled because its source failed, that is what the host wants to know.
        return self._fault or error if isinstance(error, TransferCancelled) else error

    def _succeed(self, read: Callable[[Any], R], value: Any) -> None:
        try:
            self._future.set_result(read(value))
        except Exception as error:
            self.fail(error)
        else:
            self._settle(None)

    def _settle(self, error: Optional[BaseException]) -> None:
        if self._feeder is not None:
            self._feeder.cancel()
        self._end_streams(error)
        self._connection._router.settle(self, again=isinstance(error, TransferFailed))

    def _end_streams(self, error: Optional[BaseException]) -> None:
        for stream in list(self._streams):
            stream._end(error)
        self._streams.clear()

    def _replied(self, reply: "asyncio.Future[Any]") -> None:
        error = reply.exception()
        if error is not None:
            told = self._latest_outcome()
            # The event says whether it was rejected or failed; the reply's error is the same.
            self.fail(told.error if told is not None else error)
        elif self._future.done():
            return
        elif not self._settled_by_event:
            self._succeed(self._from_reply, reply.result())
        elif not self._has_ended():
            self.look()

    def _looked(self, reply: "asyncio.Future[Any]") -> None:
        try:
            event = ended(reply.result())
        except FerryError as error:
            if error.code == "ERR_OVERLOADED":
                self._loop.call_later(error.retry_after, self.look)
            else:
                self.fail(error)
        else:
            if event is not None and not self._has_ended():
                self.receive(event)

    def _has_ended(self) -> bool:
        return any(event.terminal for event in self._latest.values())

    def _latest_outcome(self) -> Optional[Outcome]:
        last = next(reversed(list(self._latest.values())), None)
        return last if isinstance(last, (Rejected, Failure, Cancelled)) else None

    def _fed(self, feeder: "asyncio.Task[None]") -> None:
        if not feeder.cancelled() and feeder.exception() is not None and not self._future.done():
            self._fault = feeder.exception()
            self._cancel_soon()

    def _timed_out(self, method: str, seconds: float) -> None:
        self._cancel_soon()
        self.fail(RequestTimeout(method, seconds))

    def _cancel_soon(self) -> None:
        connection, call = self._connection, self._call
        # A detached transfer outlives its request.
        if call is not None and not call.future.done() and not self._settled_by_event:
            connection._cancel(call)
        else:
            with contextlib.suppress(FerryError):
                connection._post("transfer/cancel", {"transferId": self.transfer_id})

    async def _command(self, method: str) -> str:
        params = {"transferId": self.transfer_id}
        result = await self._connection.request(method, params)
        return str(result["state"])

    async def _waiting_for(
        self, future: "asyncio.Future[Any]", timeout: Optional[float] = None
    ) -> None:
        self._waiters += 1
        try:
            await asyncio.wait([future], timeout=timeout)
        except asyncio.CancelledError:
            if self._waiters == 1 and not self._future.done():
                self._cancel_soon()
            raise
        finally:
            self._waiters -= 1

    def _stream(self, *, owning: bool) -> "EventStream":
        stream = EventStream(self, list(self._latest.values()), owning)
        if self._future.done():
            failed = self._future.exception()
            stream._end(failed)
        else:
            self._streams.add(stream)
        return stream
