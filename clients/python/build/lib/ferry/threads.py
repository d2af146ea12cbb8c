"""Blocking calls beside the loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Any, Callable, TypeVar

T = TypeVar("T")


async def on_thread(call: Callable[..., T], *args: Any) -> T:
    """Runs a blocking call on a thread of its own.

    Not on the loop's executor: that one is joined when the loop and the interpreter end, and a
    read that never returns would keep both from ending.
    """
    loop = asyncio.get_running_loop()
    future: "asyncio.Future[T]" = loop.create_future()

    def settle(result: Any, error: Any) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)

    def work() -> None:
        result, error = None, None
        try:
            result = call(*args)
        except BaseException as raised:
            error = raised
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=work, daemon=True).start()
    return await future
