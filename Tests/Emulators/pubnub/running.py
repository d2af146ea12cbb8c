"""What emulators of services have in common: a thread of their own, what they saw, and faults."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from typing import Any, Callable

from faults import Fault
from http11 import Answer, Request, Server


@dataclass
class Seen:
    """A request that came in, by the route it took."""

    route: str
    request: Request
    params: dict[str, str]


# Method, path by segments, name, and who answers.
Route = tuple[str, list[str], str, Any]


def routes(table: list[tuple[str, str, str, Any]]) -> list[Route]:
    """`*` in a path stands for any segment."""
    return [(method, path.split("/"), route, action) for method, path, route, action in table]


class Running:
    """A service on one port of this machine; everything may be looked at while it runs."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.seen: list[Seen] = []
        self.keep_seen = True
        self.server = Server(self._handle)
        self.origin = ""
        self._routes: list[Route] = []
        self._came = threading.Condition()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    async def _handle(self, request: Request) -> Answer:
        raise NotImplementedError

    def _note(self, route: str, request: Request, params: dict[str, str]) -> None:
        if self.keep_seen:
            with self._came:
                self.seen.append(Seen(route, request, params))
                self._came.notify_all()

    async def serve(self, host: str = "127.0.0.1", port: int = 0) -> None:
        port = await self.server.start(host, port)
        self.origin = f"http://{host}:{port}"

    def start(self) -> Any:
        ready = threading.Event()

        def run() -> None:
            loop = self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(loop)
            loop.run_until_complete(self.serve())
            ready.set()
            loop.run_forever()
            for task in asyncio.all_tasks(loop):
                task.cancel()
            loop.run_until_complete(asyncio.sleep(0))
            loop.close()

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        ready.wait(10)
        return self

    def stop(self) -> None:
        if self._loop is None or self._thread is None:
            return
        self.call(self.server.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def call(self, coroutine: Any) -> Any:
        """Runs something on the emulator's own thread and waits for it."""
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(10)

    def hang_up(self) -> None:
        """Closes every connection."""

        async def close() -> None:
            self.server.hang_up()

        self.call(close())

    def leave(self) -> None:
        """Takes no connection any more, and closes those there are."""
        self.call(self.server.stop())

    def come_back(self) -> None:
        """Listens again, where it did before."""
        host, _, port = self.origin.removeprefix("http://").partition(":")
        self.call(self.serve(host, int(port)))

    def requests(self, route: str) -> list[Seen]:
        return [seen for seen in list(self.seen) if seen.route == route]

    def wait(self, route: str, count: int = 1, **params: str) -> None:
        """Until so many requests of a route came, with these parameters."""
        wanted = params.items()
        self.wait_until(lambda s: s.route == route and wanted <= s.params.items(), count)

    def wait_until(
        self, matches: Callable[[Seen], bool], count: int = 1, timeout: float = 60
    ) -> None:
        """Until so many requests came that match."""
        with self._came:
            if not self._came.wait_for(lambda: sum(map(matches, self.seen)) >= count, timeout):
                raise TimeoutError(f"only these came: {[seen.route for seen in self.seen]}")

    def _fault(self, route: str) -> Fault | None:
        for fault in self.faults:
            if fault.route != route:
                continue
            if fault.after > 0:
                fault.after -= 1
                return None
            if fault.times > 0:
                fault.times -= 1
                return fault
        return None

    def _route(self, request: Request, path: list[str]) -> tuple[str, Any]:
        """By segments, before anything is decoded: `%2F` in a name must not split it."""
        for method, template, route, action in self._routes:
            is_alike = method == request.method and len(template) == len(path)
            if is_alike and all(t in ("*", segment) for t, segment in zip(template, path)):
                return route, action
        return "unknown", None
