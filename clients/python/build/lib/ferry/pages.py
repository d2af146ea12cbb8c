"""Lists that come in pages."""

from __future__ import annotations

from typing import (
    Any,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Generic,
    Iterable,
    Optional,
    TypeVar,
)

P = TypeVar("P")
I = TypeVar("I")  # noqa: E741


class Pages(Generic[P, I]):
    """A list: `await` gives one page, `async for` every entry of all pages from there on."""

    def __init__(
        self,
        fetch: Callable[[Optional[str]], Awaitable[P]],
        entries: Callable[[P], Iterable[I]],
        following: Callable[[P], Optional[str]],
        first: Optional[str],
    ) -> None:
        self._fetch = fetch
        self._entries = entries
        self._following = following
        self._first = first

    def __await__(self) -> Generator[Any, None, P]:
        return self._fetch(self._first).__await__()

    async def page(self) -> P:
        """The page that was asked for; the same as awaiting."""
        return await self

    async def __aiter__(self) -> AsyncIterator[I]:
        mark = self._first
        while True:
            page = await self._fetch(mark)
            for entry in self._entries(page):
                yield entry
            mark = self._following(page)
            if mark is None:
                return
