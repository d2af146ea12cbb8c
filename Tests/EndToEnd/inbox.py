"""Messages as they arrive on one connection: split from bytes, kept in order, waited for."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import defaultdict, deque
from typing import Any, Callable

HEADER = re.compile(rb"content-length: *(\d*)", re.IGNORECASE)


class Inbox:
    """Everything received so far. Each message is handed out once; `explain` adds what a failure
    should say beside itself."""

    def __init__(self, explain: Callable[[], str]) -> None:
        self.messages: list[Any] = []
        self.problem: str | None = None
        self._explain = explain
        self._buffer = bytearray()
        self._ended = False
        self._cursor = 0
        self._taken: set[int] = set()
        self._replies: dict[str, deque[int]] = defaultdict(deque)
        self._changed = threading.Condition()

    def feed(self, data: bytes) -> None:
        self._buffer += data
        if b"\n" not in data and not HEADER.match(self._buffer):
            return
        messages = [self._parse(body) for body in take_messages(self._buffer)]
        with self._changed:
            for message in messages:
                if isinstance(message, dict) and "method" not in message and "id" in message:
                    self._replies[json.dumps(message["id"])].append(len(self.messages))
                self.messages.append(message)
            self._changed.notify_all()

    def end(self, may_be_torn: bool) -> None:
        with self._changed:
            if self._buffer and not may_be_torn:
                self.problem = f"stdout ended inside a line: {bytes(self._buffer[:200])!r}"
            self._ended = True
            self._changed.notify_all()

    def _parse(self, body: bytes) -> Any:
        try:
            return json.loads(body.decode(), parse_constant=refuse_constant)
        except ValueError as error:
            self.problem = f"not a protocol line ({error}): {body[:300]!r}"
            return {}

    def take(self, matches: Callable[[Any], bool], what: str, timeout: float) -> dict[str, Any]:
        """The first object not yet handed out that matches."""
        position = self._cursor

        def find() -> Any:
            nonlocal position
            while position < len(self.messages):
                message = self.messages[position]
                fresh = position not in self._taken and isinstance(message, dict)
                if fresh and matches(message):
                    self._mark(position)
                    return message
                position += 1
            return None

        return dict(self._wait(find, what, timeout))

    def take_reply(self, request_id: Any, timeout: float) -> dict[str, Any]:
        with self._changed:
            positions = self._replies[json.dumps(request_id)]

        def find() -> Any:
            while positions:
                position = positions.popleft()
                if position >= self._cursor and position not in self._taken:
                    self._mark(position)
                    return self.messages[position]
            return None

        return dict(self._wait(find, f"the reply to {request_id!r}", timeout))

    def take_next(self, timeout: float) -> Any:
        """The next message in order, batch arrays too; None once stdout ended."""

        def find() -> Any:
            if self._cursor < len(self.messages):
                self._mark(self._cursor)
                return [self.messages[self._cursor - 1]]
            return [None] if self._ended and not self.problem else None

        return self._wait(find, "the next message", timeout)[0]

    def _mark(self, position: int) -> None:
        self._taken.add(position)
        while self._cursor in self._taken:
            self._taken.discard(self._cursor)
            self._cursor += 1

    def _wait(self, find: Callable[[], Any], what: str, timeout: float) -> Any:
        deadline = time.monotonic() + timeout
        with self._changed:
            while True:
                found = find()
                if found is not None:
                    return found
                if self.problem:
                    raise AssertionError(self.problem)
                if self._ended:
                    raise AssertionError(f"stdout ended before {what} came\n{self._explain()}")
                if not self._changed.wait(deadline - time.monotonic()):
                    raise AssertionError(f"{what} did not come in {timeout} s\n{self._explain()}")


def take_messages(buffer: bytearray, lines_only: bool = False) -> list[bytes]:
    """Takes the whole messages off the front of a buffer, whichever framing they have."""
    bodies: list[bytes] = []
    while not lines_only and (header := HEADER.match(buffer)):
        _, blank, rest = buffer.partition(b"\r\n\r\n")
        length = int(header[1] or 1 << 62)
        if not blank or len(rest) < length:
            return bodies
        bodies.append(bytes(rest[:length]))
        buffer[:] = rest[length:]
    *lines, last = buffer.split(b"\n")
    buffer[:] = last
    return bodies + [bytes(line) for line in lines]


def refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
