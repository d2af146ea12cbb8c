"""Messages: timetokens that rise, subscribers that wait, and what history keeps."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import time
from dataclasses import dataclass, field
from typing import Any

REGION = 12


@dataclass
class Message:
    channel: str
    tt: int
    payload: Any
    kind: int  # 0 message, 4 file
    publisher: str
    meta: Any = None
    custom_type: str | None = None
    stored: bool = True


@dataclass
class Channels:
    """All messages, in order; `groups` maps a group to its channels."""

    messages: list[Message] = field(default_factory=list)
    groups: dict[str, list[str]] = field(default_factory=dict)
    clock: float = 0.0
    _last: int = 0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def tick(self) -> int:
        self._last = max(self._last + 1, int((time.time() + self.clock) * 10_000_000))
        return self._last

    def publish(self, message: Message) -> int:
        self.messages.append(message)
        self._changed.set()
        self._changed = asyncio.Event()
        return message.tt

    async def wait(self, seconds: float) -> None:
        """Until a message comes, at most so long."""
        # The one of now: by the time the wait has begun, a message may have replaced it.
        changed = self._changed
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(changed.wait(), seconds)

    def after(
        self, tt: int, channels: list[str], groups: list[str], match: Any, limit: int = 100
    ) -> list[tuple[Message, str | None]]:
        """Messages after a moment, each with the group or wildcard it came by."""
        via: dict[str, str | None] = {}
        for group in groups:
            via.update(dict.fromkeys(self.groups.get(group, []), group))
        wild = [name for name in channels if name.endswith(".*")]
        via.update(dict.fromkeys(channels, None))
        found: list[tuple[Message, str | None]] = []
        # The newest are looked at first: a cursor is mostly close to the end.
        for message in reversed(self.messages):
            if message.tt <= tt:
                break
            name = message.channel
            by = next((w for w in wild if name.startswith(w[:-1])), None)
            if (name in via or by) and match(message):
                found.append((message, via.get(name, by)))
        return list(reversed(found))[:limit]

    def history(
        self, channel: str, limit: int, start: int | None, end: int | None
    ) -> list[Message]:
        chosen = [
            m
            for m in self.messages
            if m.channel == channel
            and m.stored
            and (start is None or m.tt < start)
            and (end is None or m.tt >= end)
        ]
        return chosen[-limit:]

    def delete(self, channel: str, start: int | None, end: int | None) -> None:
        self.messages = [
            m
            for m in self.messages
            if not (
                m.channel == channel
                and (start is None or m.tt > start)
                and (end is None or m.tt <= end)
            )
        ]


def envelope(message: Message, by: str | None, sub_key: str) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "a": "2",
        "f": 0,
        "i": message.publisher,
        "p": {"t": str(message.tt), "r": REGION},
        "k": sub_key,
        "c": message.channel,
        "d": message.payload,
    }
    if message.kind:
        entry["e"] = message.kind
    if by:
        entry["b"] = by
    if message.meta is not None:
        entry["u"] = message.meta
    if message.custom_type:
        entry["cmt"] = message.custom_type
    return entry


def entry(message: Message, params: dict[str, str]) -> dict[str, Any]:
    """As history tells it, with what was asked for."""
    result: dict[str, Any] = {"message": message.payload, "timetoken": str(message.tt)}
    if params.get("include_uuid") == "true":
        result["uuid"] = message.publisher
    if params.get("include_message_type") == "true":
        result["message_type"] = message.kind or None
    if params.get("include_custom_message_type") == "true":
        result["custom_message_type"] = message.custom_type
    if params.get("include_meta") == "true":
        result["meta"] = "" if message.meta is None else message.meta
    return result


def matcher(expression: str | None) -> Any:
    """A small part of PubNub's filter language: comparisons of metadata, joined by && or ||.

    Raises ValueError for what it cannot read.
    """
    if not expression:
        return lambda message: True
    word = r"\s*(?:meta\.)?([A-Za-z_]\w*)\s*(==|!=|>=|<=|>|<|LIKE|CONTAINS)\s*"
    pattern = re.compile(word + r"""('[^']*'|"[^"]*"|-?\d+(?:\.\d+)?)\s*""")

    def test(term: str) -> Any:
        found = pattern.fullmatch(term)
        if not found:
            raise ValueError(term)
        name, operator, literal = found.groups()
        value = literal[1:-1] if literal[0] in "'\"" else float(literal)

        def holds(message: Message) -> bool:
            meta = message.meta if isinstance(message.meta, dict) else {}
            actual = message.publisher if name == "uuid" else meta.get(name)
            if operator == "!=":
                return bool(actual != value)
            if actual is None:
                return False
            if operator == "LIKE":
                return re.fullmatch(str(value).replace("*", ".*"), str(actual)) is not None
            if operator == "CONTAINS":
                return str(value) in str(actual)
            compare = {
                "==": actual == value,
                ">": actual > value,
                "<": actual < value,
                ">=": actual >= value,
                "<=": actual <= value,
            }
            return bool(compare[operator])

        return holds

    alternatives = [[test(t) for t in part.split("&&")] for part in expression.split("||")]
    return lambda message: any(all(t(message) for t in terms) for terms in alternatives)


def custom_type_is_valid(text: str) -> bool:
    return bool(re.fullmatch(r"[A-Za-z0-9_-]{3,50}", text)) and not re.match(r"[-_]|pn[-_]", text)


def json_bytes(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
