"""An event loop on a thread of its own."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from typing import Any, AsyncIterator, Callable, Coroutine, Iterator, Optional, TypeVar

from .errors import ConnectionClosed

T = TypeVar("T")


class LoopThread:
    """An event loop on a thread of its own, and a second thread for observers."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.observers = concurrent.futures.ThreadPoolExecutor(1, "ferry-observers")
        self._thread = threading.Thread(target=self._run, name="ferry-loop", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine on the loop; it is cancelled when the wait is interrupted."""
        if self.loop.is_closed():
            work.close()
            raise ConnectionClosed()
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("this runs on the client's own thread and would wait for itself")
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def observe(self, call: Callable[[], None]) -> None:
        """Calls an observer on its thread; what it raises goes to the loop's exception handler."""

        def guarded() -> None:
            try:
                call()
            except Exception as error:
                context = {"message": "an observer raised", "exception": error}
                self.loop.call_soon_threadsafe(self.loop.call_exception_handler, context)

        self.observers.submit(guarded)

    def stop(self) -> None:
        """Ends both threads; observers that are due are still called."""
        if threading.current_thread().name.startswith("ferry-observers"):
            self.observers.shutdown(wait=False)
        else:
            self.observers.shutdown(wait=True)
        self.run(self.loop.shutdown_asyncgens())
        self.run(self.loop.shutdown_default_executor())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


async def now(call: Callable[[], T]) -> T:
    """Calls a function on the loop."""
    return call()


def drain(loop: LoopThread, iterator: AsyncIterator[T]) -> Iterator[T]:
    """An asynchronous iterator as a plain one; ending early ends it."""
    try:
        while True:
            try:
                value = loop.run(_next(iterator))
            except StopAsyncIteration:
                return
            yield value
    finally:
        close: Optional[Callable[[], Coroutine[Any, Any, None]]]
        close = getattr(iterator, "aclose", None)
        if close is not None and not loop.loop.is_closed():
            loop.run(close())


async def _next(iterator: AsyncIterator[T]) -> T:
    return await iterator.__anext__()
