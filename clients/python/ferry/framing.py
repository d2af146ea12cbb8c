"""Lines of JSON: split on byte 0x0A only, whatever else a text may hold."""

from __future__ import annotations

import json
from typing import Any, List

from .errors import FerryError, ProtocolError

MAX_LINE = 16 * 1024 * 1024
"""The longest line either side takes, in bytes, without its LF."""

MAX_DEPTH = 128
"""The deepest nesting the sidecar reads."""


_TOO_DEEP = f"the parameters are nested deeper than {MAX_DEPTH}"
_JSON = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":"))


class LineSplitter:
    """Cuts a stream of bytes into lines, in time linear in the bytes."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._buffer = bytearray()

    def feed(self, data: bytes) -> List[bytes]:
        """The lines that are complete now, without LF and one trailing CR, blank ones left out.

        Raises ProtocolError where a line is longer than the limit.
        """
        lines: List[bytes] = []
        if b"\n" in data:
            *lines, data = data.split(b"\n")
            if self._buffer:
                lines[0] = bytes(self._buffer) + lines[0]
                self._buffer.clear()
        self._buffer += data
        if any(len(line) > self._limit for line in (self._buffer, *lines)):
            self._buffer.clear()
            raise ProtocolError(f"the program wrote a line of more than {self._limit} bytes")
        return [line for line in map(_without_cr, lines) if line and not line.isspace()]

    def rest(self) -> bytes:
        """What came after the last LF."""
        return _without_cr(bytes(self._buffer))


def _without_cr(line: bytes) -> bytes:
    return line[:-1] if line.endswith(b"\r") else line


def encode(message: Any) -> bytes:
    """One line of JSON with its LF.

    Raises FerryError for what JSON, UTF-8 or the sidecar's bounds cannot hold: refused here, since
    the sidecar could not say which request such a line was.
    """
    try:
        line = _JSON.encode(message).encode("utf-8")
    except RecursionError:
        raise _refusal(_TOO_DEEP) from None
    except UnicodeEncodeError as error:
        raise _refusal(f"a text that is not valid Unicode ({error.reason}): rename it") from error
    except (TypeError, ValueError) as error:
        raise _refusal(f"not JSON: {error}") from error
    # Few brackets cannot be deep, and to count them takes no time.
    if line.count(b"{") + line.count(b"[") > MAX_DEPTH and _deeper(message, MAX_DEPTH):
        raise _refusal(_TOO_DEEP)
    if len(line) > MAX_LINE:
        raise FerryError(
            "ERR_LINE_TOO_LONG",
            f"a request of {len(line)} bytes, over {MAX_LINE}: send content as a path or a stream",
        )
    return line + b"\n"


def _refusal(message: str) -> FerryError:
    return FerryError("ERR_INVALID_ARGUMENT", message)


def _deeper(value: Any, depth: int) -> bool:
    if not isinstance(value, (dict, list, tuple)):
        return False
    if depth == 0:
        return True
    members = value.values() if isinstance(value, dict) else value
    return any(_deeper(member, depth - 1) for member in members)
