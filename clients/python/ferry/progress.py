"""Progress for people: bars that are drawn over themselves on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import time
import unicodedata
from typing import Dict, Optional, TextIO

from .events import Event, Progress

BAR_CELLS = 24
"""The widest bar, in terminal cells."""

MOST_BARS = 8
"""Of so many files at most a bar is drawn at the same time."""


def printable(text: str) -> str:
    """A text from elsewhere without what a terminal would obey."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def size(count: float) -> str:
    """Bytes for people: `4.0 MiB`."""
    unit = "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1000 or unit == "TiB":
            break
        count /= 1024
    return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"


def duration(seconds: float) -> str:
    """A time for people: `0:07`, `1:02:03`."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def width(text: str) -> int:
    """The terminal cells a text takes."""
    return sum(_cells(character) for character in text)


def clip(text: str, cells: int) -> str:
    """A text cut to fit, with an ellipsis where something is missing."""
    if width(text) <= cells:
        return text
    kept, used = "", 1
    for character in text:
        used += _cells(character)
        if used > cells:
            break
        kept += character
    return kept + "…" if cells > 0 else ""


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


class Display:
    """Shows transfers on a stream: a bar for each that moves and, of several, one for all.

    Where the stream is no terminal, each gets a line of its own every `plain_interval` seconds.
    """

    def __init__(self, stream: TextIO, *, quiet: bool = False, plain_interval: float = 5.0) -> None:
        self._stream = stream
        self._quiet = quiet
        self._plain_interval = plain_interval
        self._terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._unicode = "utf" in (stream.encoding or "").lower()
        self._latest: Dict[str, Progress] = {}
        self._labels: Dict[str, str] = {}
        self._shown: Dict[str, float] = {}
        self._drawn = 0

    def add(self, key: str, label: str) -> None:
        """Names a transfer by its id, or a file of a batch by its own."""
        self._labels[key] = printable(label)
        self._shown[key] = time.monotonic()

    def take(self, event: Event) -> None:
        """Shows an event of a transfer."""
        if self._quiet or not isinstance(event, Progress):
            return
        key = _key(event)
        self._latest[key] = event
        if self._terminal:
            self._draw()
            return
        now = time.monotonic()
        if now - self._shown[key] >= self._plain_interval:
            self._shown[key] = now
            bar = self._bar(_share([event]), BAR_CELLS)
            self.line(f"{self._labels[key]} {bar} {_figures([event])}")

    def line(self, text: str) -> None:
        """Prints a line, above the bar."""
        self.clear()
        self._stream.write(text + "\n")
        self._stream.flush()

    def clear(self) -> None:
        """Takes the bars away."""
        if self._drawn:
            self._stream.write("\r\x1b[K" + "\x1b[A\x1b[K" * (self._drawn - 1))
            self._stream.flush()
            self._drawn = 0

    def _draw(self) -> None:
        events = list(self._latest.values())
        if len(self._labels) == 1:
            self._paint([self._row(next(iter(self._labels.values())), events)])
            return
        moving = [event for event in events if event.loaded != event.total][-MOST_BARS:]
        rows = [self._row(self._labels[_key(event)], [event]) for event in moving]
        self._paint([*rows, self._row(f"{len(self._labels)} files", events)])

    def _paint(self, rows: "list[str]") -> None:
        up = "\x1b[A\x1b[K" * (self._drawn - 1)
        self._stream.write("\r" + ("\x1b[K" + up if up else "") + "\n".join(rows) + "\x1b[K")
        self._stream.flush()
        self._drawn = len(rows)

    def _row(self, name: str, events: "list[Progress]") -> str:
        columns = _columns(self._stream)
        figures = _figures(events)
        room = columns - 1 - width(figures) - 2
        bar_cells = min(BAR_CELLS, room // 2)
        bar = self._bar(_share(events), bar_cells) + " " if bar_cells >= 6 else ""
        label = clip(name, max(0, room - width(bar) - 1))
        return clip(f"{label} {bar}{figures}", max(1, columns - 1))

    def _bar(self, share: Optional[float], cells: int) -> str:
        full, rest = ("█", "░") if self._unicode else ("#", "-")
        done = int(cells * (share or 0))
        return full * done + rest * (cells - done)


def _key(event: Progress) -> str:
    return event.file_id or event.transfer_id


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def _share(events: "list[Progress]") -> Optional[float]:
    totals = [event.total for event in events]
    if None in totals:
        return None
    total = sum(total or 0 for total in totals)
    return sum(event.loaded for event in events) / total if total else 1.0


def _figures(events: "list[Progress]") -> str:
    loaded = sum(event.loaded for event in events)
    moving = [event for event in events if event.loaded != event.total]
    rate = sum(event.rate for event in moving or events)
    share = _share(events)
    if share is None:
        return f"{size(loaded)}  {size(rate)}/s"
    left = sum((event.total or 0) - event.loaded for event in events)
    eta = f"  eta {duration(left / rate)}" if left and rate else ""
    return f"{int(share * 100):3}%  {size(loaded)}  {size(rate)}/s{eta}"
