"""The client without asyncio: the same names, called from any thread."""

from __future__ import annotations

import functools
from types import TracebackType
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Mapping, Optional, Type, TypeVar

from .batch import Batch
from .client import Ferry
from .errors import ConnectionClosed
from .handle import TransferHandle
from .loop_thread import LoopThread, now
from .pages import Pages
from .results import ServerInfo
from .subscription import Subscription
from .sync_batch import SyncBatch
from .sync_handles import SyncDownloadHandle, SyncHandle, SyncPages, SyncSubscription
from .transfers import DownloadHandle

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")

R = TypeVar("R")
T = TypeVar("T")
Page = TypeVar("Page")
Entry = TypeVar("Entry")


def _called(
    method: "Callable[Concatenate[Ferry, P], Awaitable[T]]",
) -> "Callable[Concatenate[SyncFerry, P], T]":
    @functools.wraps(method)
    def call(self: "SyncFerry", /, *args: "P.args", **options: "P.kwargs") -> T:
        async def work() -> T:
            return await method(self._ferry, *args, **options)

        return self._threads.run(work())

    return call


def _handled(
    method: "Callable[Concatenate[Ferry, P], TransferHandle[R]]",
) -> "Callable[Concatenate[SyncFerry, P], SyncHandle[R]]":
    @functools.wraps(method)
    def call(self: "SyncFerry", /, *args: "P.args", **options: "P.kwargs") -> SyncHandle[R]:
        handle = self._threads.run(now(lambda: method(self._ferry, *args, **options)))
        return SyncHandle(self._threads, handle)

    return call


def _downloading(
    method: "Callable[Concatenate[Ferry, P], DownloadHandle]",
) -> "Callable[Concatenate[SyncFerry, P], SyncDownloadHandle]":
    @functools.wraps(method)
    def call(self: "SyncFerry", /, *args: "P.args", **options: "P.kwargs") -> SyncDownloadHandle:
        handle = self._threads.run(now(lambda: method(self._ferry, *args, **options)))
        return SyncDownloadHandle(self._threads, handle)

    return call


def _paged(
    method: "Callable[Concatenate[Ferry, P], Pages[Page, Entry]]",
) -> "Callable[Concatenate[SyncFerry, P], SyncPages[Page, Entry]]":
    @functools.wraps(method)
    def call(
        self: "SyncFerry", /, *args: "P.args", **options: "P.kwargs"
    ) -> SyncPages[Page, Entry]:
        return SyncPages(self._threads, method(self._ferry, *args, **options))

    return call


def _subscribing(
    method: "Callable[Concatenate[Ferry, P], Subscription]",
) -> "Callable[Concatenate[SyncFerry, P], SyncSubscription]":
    @functools.wraps(method)
    def call(self: "SyncFerry", /, *args: "P.args", **options: "P.kwargs") -> SyncSubscription:
        return SyncSubscription(self._threads, method(self._ferry, *args, **options))

    return call


def _batching(
    method: "Callable[Concatenate[Ferry, P], Batch]",
) -> "Callable[Concatenate[SyncFerry, P], SyncBatch]":
    @functools.wraps(method)
    def call(self: "SyncFerry", /, *args: "P.args", **options: "P.kwargs") -> SyncBatch:
        batch = self._threads.run(now(lambda: method(self._ferry, *args, **options)))
        return SyncBatch(self._threads, batch)

    return call


class SyncFerry:
    """A sidecar of one's own, for any threads: `with SyncFerry() as f: …`.

    Takes what Ferry takes. Transfers return a SyncHandle (`result()`, iterate, `on`), lists a
    SyncPages (`page()`, iterate), subscriptions an iterable context manager; the rest is as in
    Ferry without `await`. Observers are called on a thread of their own and may call back.
    """

    def __init__(self, config: Optional[Mapping[str, Any]] = None, **options: Any) -> None:
        self._ferry = Ferry(config, **options)
        self._started: Optional[LoopThread] = None

    @property
    def _threads(self) -> LoopThread:
        if self._started is None:
            raise ConnectionClosed("this SyncFerry was not started: use `with SyncFerry() as f`")
        return self._started

    def start(self) -> "SyncFerry":
        """Starts the sidecar; `with` does this."""
        if self._started is not None:
            raise RuntimeError("this SyncFerry was started before: make a new one")
        self._started = LoopThread()
        self._ferry._dispatch = self._threads.observe
        try:
            self._threads.run(self._ferry.start())
        except BaseException:
            self._threads.stop()
            raise
        return self

    def close(self, mode: str = "drain") -> None:
        """Ends the sidecar and the threads; no effect the second time."""
        if self._started is None or self._started.loop.is_closed():
            return
        try:
            self._threads.run(self._ferry.close(mode))
        finally:
            self._threads.stop()

    def __enter__(self) -> "SyncFerry":
        return self.start()

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close("drain" if kind is None else "now")

    @property
    def info(self) -> Optional[ServerInfo]:
        """What the sidecar said of itself."""
        return self._ferry.info

    @property
    def pid(self) -> Optional[int]:
        """The sidecar's process id."""
        return self._ferry.pid

    request = _called(Ferry.request)
    ping = _called(Ferry.ping)
    stats = _called(Ferry.stats)
    discover = _called(Ferry.discover)
    limits = _called(Ferry.limits)
    set_limits = _called(Ferry.set_limits)
    set_credentials = _called(Ferry.set_credentials)
    shutdown = _called(Ferry.shutdown)

    send = _handled(Ferry.send)
    publish = _called(Ferry.publish)
    files = _paged(Ferry.files)
    file_url = _called(Ferry.file_url)
    download = _downloading(Ferry.download)
    delete_file = _called(Ferry.delete_file)

    put = _handled(Ferry.put)
    get = _downloading(Ferry.get)
    metadata = _called(Ferry.metadata)
    update = _called(Ferry.update)
    url = _called(Ferry.url)
    list = _paged(Ferry.list)
    delete = _called(Ferry.delete)
    resolve = _called(Ferry.resolve)

    transfers = _paged(Ferry.transfers)
    transfer = _called(Ferry.transfer)
    transfer_get = _called(Ferry.transfer_get)
    transfer_pause = _called(Ferry.transfer_pause)
    transfer_resume = _called(Ferry.transfer_resume)
    transfer_retry = _called(Ferry.transfer_retry)
    transfer_cancel = _called(Ferry.transfer_cancel)
    transfer_forget = _called(Ferry.transfer_forget)
    attach = _handled(Ferry.attach)

    batch = _batching(Ferry.batch)

    subscribe = _subscribing(Ferry.subscribe)
    history = _paged(Ferry.history)
    message = _called(Ferry.message)
    delete_message = _called(Ferry.delete_message)
