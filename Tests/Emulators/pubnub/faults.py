"""What can be made to go wrong, by the name of a route."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import dataclass, field
from typing import Any, ClassVar

from http11 import Answer

ROUTES = [
    "slot",
    "upload",
    "publish",
    "list",
    "locate",
    "delete",
    "blob",
    "subscribe",
    "history",
    "history-delete",
    "message",
    "time",
]


@dataclass
class Fault:
    """Misbehaves `times` times on `route`, after letting `after` requests pass.

    status: answer so, with `body` and `headers` · drop: `before` (not performed) or `after`
    (performed, the answer is lost) · truncate: bytes of the answer's body that still come · delay:
    seconds before the answer · redirect: a Location to answer with · expire: the slot or URL is
    out of date · rename: the name that the service keeps · gate: set by whoever lets the answer go.
    """

    routes: ClassVar[list[str]] = ROUTES

    route: str
    times: int = 1
    after: int = 0
    status: int | None = None
    body: Any = ""
    headers: dict[str, str] = field(default_factory=dict)
    drop: str | None = None
    truncate: int | None = None
    delay: float = 0.0
    redirect: str | None = None
    expire: bool = False
    rename: str | None = None
    gate: threading.Event | None = None

    def __post_init__(self) -> None:
        if self.route not in self.routes:
            raise ValueError(f"no route {self.route!r}; there are: {', '.join(self.routes)}")
        if self.drop not in (None, "before", "after"):
            raise ValueError("drop is before or after")

    @classmethod
    def parse(cls, text: str) -> Fault:
        """Reads `publish:status=500:times=2`."""
        route, *pairs = text.split(":")
        values: dict[str, Any] = {}
        for pair in pairs:
            name, _, value = pair.partition("=")
            try:
                values[name] = json.loads(value)
            except ValueError:
                values[name] = value
        return cls(route, **values)

    async def apply(self, perform: Any) -> Answer:
        """Answers in place of the route, which `perform` carries out."""
        if self.delay:
            await asyncio.sleep(self.delay)
        if self.gate:
            await asyncio.get_running_loop().run_in_executor(None, self.gate.wait)
        if self.drop == "before":
            return Answer(drop=True)
        if self.redirect is not None:
            return Answer(307, headers={"Location": self.redirect})
        if self.status is not None:
            body = self.body if isinstance(self.body, str) else json.dumps(self.body)
            kind = {} if isinstance(self.body, str) else {"Content-Type": "application/json"}
            return Answer(self.status, body.encode(), {**kind, **self.headers})
        answer: Answer = await perform()
        if self.drop == "after":
            return Answer(drop=True)
        answer.truncate = self.truncate
        return answer
