"""What a test can make the server do to a request."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, Callable


@dataclass
class Fault:
    """Meets requests and changes how they are answered; used up after `times` of them.

    Which requests: `method`, `query` and `key` (texts that they hold), and `skip`, the number
    of fitting requests that are left alone first.

    What happens, in this order: `before` is called; `delay` seconds pass (or `gate` is waited
    for); the connection is closed before the body is read (`drop_before`), after so many bytes of
    it (`drop_during`) or once the request was carried out (`drop_after`); otherwise `status` with
    `code` and `headers` is answered instead of carrying the request out, or `body` with status 200.
    Of an answer that is sent after all, `truncate` sends only so many bytes of the body and closes,
    `stall` sends as many and then nothing until the server is closed, `drip` sends pieces of so
    many bytes with `pause` seconds between them, `replace` changes headers (None removes one),
    `status_shown` the status, and `whole` ignores the range that was asked for.
    """

    method: str | None = None
    query: str | None = None
    key: str | None = None
    skip: int = 0
    times: int = 1
    before: Callable[[], None] | None = None
    delay: float = 0
    gate: threading.Event | None = None
    drop_before: bool = False
    drop_during: int | None = None
    drop_after: bool = False
    status: int | None = None
    code: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    truncate: int | None = None
    stall: int | None = None
    drip: int | None = None
    pause: float = 0
    replace: dict[str, str | None] = field(default_factory=dict)
    status_shown: int | None = None
    whole: bool = False
    #: How many requests it met.
    met: int = 0

    def fits(self, request: Any) -> bool:
        return (
            (self.method is None or request.method == self.method)
            and (self.query is None or self.query in request.query)
            and (self.key is None or self.key in request.key)
        )


class Faults:
    """The faults that are still to come, first come first served."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[Fault] = []

    def add(self, fault: Fault) -> Fault:
        with self._lock:
            self._faults.append(fault)
        return fault

    def clear(self) -> None:
        with self._lock:
            self._faults.clear()

    def take(self, request: Any) -> Fault | None:
        with self._lock:
            for fault in self._faults:
                if not fault.fits(request):
                    continue
                if fault.skip > 0:
                    fault.skip -= 1
                    continue
                fault.met += 1
                fault.times -= 1
                if fault.times == 0:
                    self._faults.remove(fault)
                return fault
        return None
