"""Channels and their messages."""

from __future__ import annotations

from typing import Any, Callable, Optional, Sequence

from .connection import Connection
from .pages import Pages
from .results import HistoryPage, Message, Status
from .subscription import Subscription
from .wire import decode, params


class ChannelMethods(Connection):
    """`channel/*` and `message/*`."""

    def subscribe(
        self,
        *channels: str,
        groups: Sequence[str] = (),
        filter: Optional[str] = None,
        since: Optional[str] = None,
        remote: Optional[str] = None,
        on_status: Optional[Callable[[Status], Any]] = None,
    ) -> Subscription:
        """Messages of channels: `async with f.subscribe("a") as s: async for message in s: …`.

        - since: a timetoken; what came after it is delivered first.
        - on_status: called when the connection to the remote changes.
        """
        ask = params(
            channels=list(channels), groups=list(groups) or None, filter=filter, since=since,
            remote=remote,
        )  # fmt: skip
        return Subscription(self, ask, on_status)

    def history(
        self,
        channel: str,
        *,
        limit: Optional[int] = None,
        start: Optional[str] = None,
        end: Optional[str] = None,
        cipher_key: Optional[str] = None,
        remote: Optional[str] = None,
    ) -> "Pages[HistoryPage, Message]":
        """Messages a channel kept, oldest first: `await` for the newest page.

        `async for` goes on to older pages, each page oldest first. `start` (exclusive) and `end`
        (inclusive) are timetokens, the newer and the older bound.
        """

        async def fetch(mark: Optional[str]) -> HistoryPage:
            ask = params(
                channel=channel, limit=limit, start=mark, end=end, cipher_key=cipher_key,
                remote=remote,
            )  # fmt: skip
            return decode(HistoryPage, await self.request("channel/history", ask))

        return Pages(fetch, lambda page: page.messages, lambda page: page.more, start)

    async def message(self, message_id: str, *, remote: Optional[str] = None) -> Message:
        """One message; on a local remote its id is `channel:timetoken`."""
        ask = params(message_id=message_id, remote=remote)
        return decode(Message, await self.request("message/get", ask))

    async def delete_message(self, message_id: str, *, remote: Optional[str] = None) -> None:
        """Removes a message from history; a file it announced stays."""
        await self.request("message/delete", params(message_id=message_id, remote=remote))
