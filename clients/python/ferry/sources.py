"""Where an upload's bytes come from, and how they get to the sidecar."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import inspect
import io
import os
import stat
from dataclasses import dataclass
from typing import (
    IO,
    TYPE_CHECKING,
    Any,
    AsyncIterable,
    AsyncIterator,
    Dict,
    Iterable,
    Optional,
    Tuple,
    Union,
)

from .errors import FerryError
from .threads import on_thread
from .wire import params

if TYPE_CHECKING:
    from .connection import Connection

CHUNK = 256 * 1024
"""The most bytes of one `stream/write`."""

INLINE_LIMIT = 8 * 1024 * 1024
"""Bytes above which content in memory goes as a stream: base64 must fit a line."""

Chunks = Union[AsyncIterable[bytes], Iterable[bytes], IO[bytes]]


@dataclass(frozen=True)
class Text:
    """A source that is the text itself, sent as UTF-8."""

    text: str


@dataclass(frozen=True)
class Stream:
    """A source of chunks with a size known beforehand: more or fewer bytes are an error."""

    chunks: Chunks
    size: Optional[int] = None


Source = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, Text, Stream, Chunks]
"""A path; bytes; Text; or chunks of bytes: an iterator, async or not, or a binary file."""


def prepare(source: Source, base: Optional[str]) -> Tuple[Dict[str, Any], Optional[Stream]]:
    """The source's parameters, and the stream to feed where it is one.

    `base` is the folder relative paths start from; None leaves them to the sidecar's `rootPath`.
    """
    if isinstance(source, Text):
        return {"text": source.text}, None
    if isinstance(source, (str, os.PathLike)):
        return {"path": local_path(source, base)}, None
    if isinstance(source, (bytes, bytearray, memoryview)):
        content = memoryview(source).cast("B") if len(source) else memoryview(b"")
        if len(content) <= INLINE_LIMIT:
            return {"data": base64.b64encode(content).decode("ascii")}, None
        return _streamed(Stream([content], len(content)))  # type: ignore[list-item]
    if isinstance(source, Stream):
        return _streamed(source)
    if hasattr(source, "read"):
        fields, stream = _streamed(Stream(source, _bytes_left(source)))
        name = getattr(source, "name", None)
        if isinstance(name, str):
            fields["name"] = os.path.basename(name)
        return fields, stream
    if hasattr(source, "__aiter__") or hasattr(source, "__iter__"):
        return _streamed(Stream(source))
    raise TypeError(
        f"{type(source).__name__} is no source: give a path, bytes, ferry.Text, a binary file or "
        "an iterator of bytes"
    )


def local_path(path: Union[str, "os.PathLike[str]"], base: Optional[str]) -> str:
    """A path as the sidecar shall read it: below the absolute `base`, unless that is None."""
    text = os.fspath(path)
    if base is None or text.startswith("file://"):
        return text
    return os.path.join(base, text)


def _streamed(stream: Stream) -> Tuple[Dict[str, Any], Optional[Stream]]:
    return {"stream": params(size=stream.size)}, stream


def _bytes_left(file: Any) -> Optional[int]:
    """The size of what a regular file still has to read; None for pipes, sockets and the like."""
    if isinstance(file, io.BytesIO):
        return len(file.getbuffer()) - file.tell()
    try:
        status = os.fstat(file.fileno())
        return status.st_size - file.tell() if stat.S_ISREG(status.st_mode) else None
    except (OSError, AttributeError, ValueError):
        return None


async def feed(connection: "Connection", transfer_id: str, stream: Stream) -> None:
    """Writes a stream's chunks, each after the one before was taken, and closes the stream."""
    async with contextlib.AsyncExitStack() as stack:
        chunks = _iterate(stream.chunks)
        stack.push_async_callback(chunks.aclose)  # type: ignore[attr-defined]
        async for chunk in chunks:
            view = memoryview(chunk).cast("B") if len(chunk) else memoryview(b"")
            for start in range(0, len(view), CHUNK):
                data = base64.b64encode(view[start : start + CHUNK]).decode("ascii")
                await patiently(
                    connection, "stream/write", {"transferId": transfer_id, "data": data}
                )
    await patiently(connection, "stream/close", {"transferId": transfer_id})


async def patiently(connection: "Connection", method: str, values: Dict[str, Any]) -> Any:
    """A request that is sent again where the sidecar has too much to do: none may be left out."""
    while True:
        try:
            return await connection.request(method, values)
        except FerryError as error:
            if error.code != "ERR_OVERLOADED":
                raise
            await asyncio.sleep(error.retry_after)


async def _iterate(chunks: Chunks) -> AsyncIterator[bytes]:
    """Chunks of any source; files and plain iterators are read on a thread, never on the loop."""
    if hasattr(chunks, "__aiter__"):
        try:
            async for chunk in chunks:
                yield _checked(chunk)
        finally:
            if hasattr(chunks, "aclose"):
                await chunks.aclose()
        return
    if hasattr(chunks, "read"):
        while True:
            chunk = await on_thread(chunks.read, CHUNK)
            if inspect.isawaitable(chunk):
                chunk = await chunk
            if not chunk:
                return
            yield _checked(chunk)
    iterator, end = iter(chunks), object()
    while True:
        chunk = await on_thread(next, iterator, end)
        if chunk is end:
            return
        yield _checked(chunk)


def _checked(chunk: Any) -> bytes:
    if not isinstance(chunk, (bytes, bytearray, memoryview)):
        raise TypeError(f"a source must give bytes, not {type(chunk).__name__}")
    return chunk  # type: ignore[return-value]
