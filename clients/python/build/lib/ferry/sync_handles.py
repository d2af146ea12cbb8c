"""What the client without asyncio hands out."""

from __future__ import annotations

from typing import Any, Callable, Generic, Iterator, Optional, TypeVar

from .events import Event
from .handle import TransferHandle
from .loop_thread import LoopThread, drain, now
from .observers import Observer
from .pages import Pages
from .results import Download, Message
from .state import TransferState
from .subscription import Subscription
from .transfers import DownloadHandle

R = TypeVar("R")
Page = TypeVar("Page")
Entry = TypeVar("Entry")


class SyncHandle(Generic[R]):
    """A transfer: `result()` waits for what comes of it, iterating gives its events."""

    def __init__(self, loop: LoopThread, handle: "TransferHandle[R]") -> None:
        self._loop = loop
        self._handle = handle

    @property
    def transfer_id(self) -> str:
        """The transfer's id."""
        return self._handle.transfer_id

    @property
    def snapshot(self) -> TransferState:
        """What is known of it here."""
        return self._handle.snapshot

    def done(self) -> bool:
        """Whether it is settled."""
        return self._handle.done()

    def result(self, timeout: Optional[float] = None) -> R:
        """Waits for the result or raises; after `timeout` seconds RequestTimeout, and it goes on.

        An interrupted wait (Ctrl-C) cancels the transfer.
        """
        return self._loop.run(self._handle.result(timeout))

    def __iter__(self) -> Iterator[Event]:
        return _iterate(self._loop, self._handle)

    def events(self) -> Iterator[Event]:
        """Its events; interrupting the wait for one does not concern the transfer."""
        return _iterate(self._loop, self._handle, owning=False)

    def on(self, name: str, call: Callable[[Any], Any]) -> Observer:
        """Calls a function, on a thread for observers, with each event of a name."""
        return self._loop.run(now(lambda: self._handle.on(name, call)))

    def off(self, name: Optional[str] = None) -> None:
        """Removes the observers of one event, or all of them."""
        self._loop.run(now(lambda: self._handle.off(name)))

    def pause(self) -> str:
        """Pauses it; returns its state."""
        return self._loop.run(self._handle.pause())

    def resume(self) -> str:
        """Goes on; returns its state."""
        return self._loop.run(self._handle.resume())

    def cancel(self) -> str:
        """Cancels it; returns its state."""
        return self._loop.run(self._handle.cancel())

    def retry(self) -> str:
        """Tries a failed transfer again."""
        return self._loop.run(self._handle.retry())


class SyncDownloadHandle(SyncHandle[Download]):
    """A download; one with `stream=True` is taken by `for chunk in handle.chunks()`."""

    _handle: DownloadHandle

    def chunks(self, max_bytes: int = 256 * 1024) -> Iterator[bytes]:
        """The content as it comes; ending early cancels the download."""
        return drain(self._loop, self._handle.chunks(max_bytes))


class SyncPages(Generic[Page, Entry]):
    """A list: `page()` gives one page, iterating every entry of all pages."""

    def __init__(self, loop: LoopThread, pages: "Pages[Page, Entry]") -> None:
        self._loop = loop
        self._pages = pages

    def page(self) -> Page:
        """The page that was asked for."""
        return self._loop.run(self._pages.page())

    def __iter__(self) -> Iterator[Entry]:
        return drain(self._loop, self._pages.__aiter__())


class SyncSubscription(Iterator[Message]):
    """A context manager that is iterated for its messages; `close()` from anywhere ends it."""

    def __init__(self, loop: LoopThread, subscription: Subscription) -> None:
        self._loop = loop
        self._subscription = subscription

    @property
    def timetoken(self) -> str:
        """Where to go on later (`since=`)."""
        return self._subscription.timetoken

    def __enter__(self) -> "SyncSubscription":
        self._loop.run(self._subscription.start())
        return self

    def __exit__(self, *exit: Any) -> None:
        self._loop.run(self._subscription.__aexit__(*exit))

    def close(self) -> None:
        """Unsubscribes; a thread that iterates comes to the end."""
        self._loop.run(self._subscription.close())

    def __next__(self) -> Message:
        return self.next()

    def next(self, timeout: Optional[float] = None) -> Message:
        """The next message; RequestTimeout when none comes in time, and none is lost."""
        try:
            return self._loop.run(self._subscription.next(timeout))
        except StopAsyncIteration:
            raise StopIteration from None


def _iterate(
    loop: LoopThread, handle: "TransferHandle[Any]", *, owning: bool = True
) -> Iterator[Event]:
    return drain(loop, loop.run(now(lambda: handle._stream(owning=owning))))
