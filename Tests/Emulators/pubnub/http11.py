"""A small HTTP/1.1 server over asyncio streams: strict about what comes in, able to misbehave."""

from __future__ import annotations

import asyncio
import email.utils
import gzip
import threading
from collections.abc import Awaitable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Callable

MAX_HEAD = 1 << 20  # far more than any service takes, which is for it to say


@dataclass
class Request:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    headers_sent: list[tuple[str, str]] = field(default_factory=list)

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]


@dataclass
class Answer:
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    truncate: int | None = None  # send so many bytes of the body, then hang up
    drop: bool = False  # hang up instead of answering


class HangUp(Exception):
    """Ends a connection without another byte."""


class Server:
    """Serves until `stop`; `handle` answers one request."""

    def __init__(self, handle: Callable[[Request], Awaitable[Answer]]) -> None:
        self.handle = handle
        self.server: asyncio.Server | None = None
        self.connections = 0
        # While set, bodies over 1 MiB are left unread: a connection on which nothing moves.
        self.hold_bodies: threading.Event | None = None
        self._open: set[asyncio.StreamWriter] = set()

    async def start(self, host: str, port: int) -> int:
        self.server = await asyncio.start_server(self._serve, host, port, limit=MAX_HEAD)
        return int(self.server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        if self.server:
            self.server.close()
        self.hang_up()

    def hang_up(self) -> None:
        """Closes every connection, as a server that restarts does."""
        for writer in list(self._open):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open.add(writer)
        try:
            while True:
                request = await self._read(reader, writer)
                if request is None:
                    return
                answer = await self.handle(request)
                if not await self._write(request, answer, writer):
                    return
        except (HangUp, ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            self._open.discard(writer)
            writer.transport.abort() if writer.transport.is_closing() else writer.close()

    async def _read(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> Request | None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as end:
            if end.partial:
                raise
            return None
        lines = head.decode("latin-1").split("\r\n")
        method, target, version = lines[0].split(" ")
        if version != "HTTP/1.1":
            raise HangUp
        pairs = [(n.strip(), v.strip()) for n, _, v in (x.partition(":") for x in lines[1:-2])]
        headers = {name.lower(): value for name, value in pairs}
        if headers.get("expect", "").lower() == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if "transfer-encoding" in headers:
            return Request(method, target, headers, b"", pairs)  # refused by whoever wants a body
        length = int(headers.get("content-length", "0"))
        if self.hold_bodies and length > 1 << 20:
            await asyncio.get_running_loop().run_in_executor(None, self.hold_bodies.wait)
        body = await reader.readexactly(length) if length else b""
        return Request(method, target, headers, body, pairs)

    async def _write(self, request: Request, answer: Answer, writer: asyncio.StreamWriter) -> bool:
        if answer.drop:
            raise HangUp
        body = answer.body
        headers = {"Date": email.utils.formatdate(usegmt=True), **answer.headers}
        if "gzip" in request.headers.get("accept-encoding", "") and len(body) > 256:
            body = gzip.compress(body)
            headers["Content-Encoding"] = "gzip"
        if answer.status != 204:
            headers["Content-Length"] = str(len(body))
        close = "transfer-encoding" in request.headers or (
            request.headers.get("connection", "").lower() == "close"
        )
        if close:
            headers["Connection"] = "close"
        try:
            phrase = HTTPStatus(answer.status).phrase
        except ValueError:
            phrase = "Unknown"
        head = f"HTTP/1.1 {answer.status} {phrase}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        if request.method == "HEAD":
            body = b""
        if answer.truncate is not None:
            writer.write(head.encode("latin-1") + b"\r\n" + body[: answer.truncate])
            await writer.drain()
            raise HangUp
        writer.write(head.encode("latin-1") + b"\r\n" + body)
        await writer.drain()
        return not close
