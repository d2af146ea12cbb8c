"""Batches: many uploads to one destination, run and reported together."""

from __future__ import annotations

import asyncio
import uuid
import weakref
from types import TracebackType
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Iterable,
    List,
    Mapping,
    Optional,
    Set,
    Type,
    Union,
)

from .batch_calls import BatchCalls
from .batch_file import Addition, BatchFile, Listeners, removal
from .batch_intake import Intake
from .batch_results import Complete
from .errors import ConnectionClosed, FerryError
from .events import EVENTS, Event
from .sources import Source, patiently, prepare
from .wire import decode, params

if TYPE_CHECKING:
    from .connection import Connection


class Batch(BatchCalls):
    """Uploads to one channel, or below one prefix: `async with f.batch("room") as b: b.add(…)`.

    Leaving the block stops listening; the batch lives in the sidecar until `clear()`, over restarts
    too, and is joined again by the same `batch_id` and parameters.
    """

    def __init__(self, connection: "Connection", settings: Mapping[str, Any]) -> None:
        super().__init__(connection, settings["batchId"])
        self._settings = settings
        self.files: Dict[str, BatchFile] = {}
        self._self = weakref.ref(self)
        self._prefix = uuid.uuid4().hex
        self._added = 0
        self._listeners: Dict[str, List[Callable[[Any], Any]]] = {}
        self._intake = Intake(connection, self.batch_id, self._settle)
        self._removing: Set[str] = set()
        self._latest: Optional[Complete] = None
        self._idle = asyncio.Event()
        self._over: Optional[FerryError] = None
        self._lost: Optional[FerryError] = None

    async def __aenter__(self) -> "Batch":
        return await self.start()

    async def start(self) -> "Batch":
        """Makes the batch, or joins it; `async with` does this."""
        batches = self._connection._router.batches
        if self.batch_id in batches:
            raise ValueError(f"the batch {self.batch_id!r} is open here already: close it first")
        batches[self.batch_id] = self
        try:
            await patiently(self._connection, "batch/create", dict(self._settings))
            # One that was joined may be at work.
            if (await self.get(limit=1)).status == "idle":
                self._idle.set()
        except BaseException:
            self.close()
            raise
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stops listening, and lets go of what is under way; `async with` does this."""
        self.end(ConnectionClosed("this batch is closed: join it again by its batch_id"))
        if self._connection._router.batches.get(self.batch_id) is self:
            del self._connection._router.batches[self.batch_id]

    def add(
        self,
        source: Source,
        *,
        file_id: Optional[str] = None,
        name: Optional[str] = None,
        content_type: Optional[str] = None,
        digest: Optional[str] = None,
        ref: Optional[str] = None,
        on: Optional[Listeners] = None,
    ) -> BatchFile:
        """Adds a file: a path, bytes or Text.

        Those that are added together go in one call. Functions in `on`, by the name of their event,
        are called before those of the batch; one for `complete` too. A `file_id` that failed is
        tried again with the new source.
        """
        return self._add(
            self._connection._base(),
            source,
            file_id=file_id,
            name=name,
            content_type=content_type,
            digest=digest,
            ref=ref,
            on=on,
        )

    def add_all(
        self, sources: Iterable[Union[Source, Addition]], *, on: Optional[Listeners] = None
    ) -> List[BatchFile]:
        """Adds several files: each a source, or a dict of `source` and what else `add` takes."""
        base = self._connection._base()
        additions = (each if isinstance(each, dict) else {"source": each} for each in sources)
        return [self._add(base, **{"on": on, **each}) for each in additions]

    def on(self, name: str, call: Callable[[Any], Any]) -> None:
        """Calls a function with each event of a name: those of all files, and `complete`."""
        _check({name: call})
        self._listeners.setdefault(name, []).append(call)

    def off(self, name: Optional[str] = None) -> None:
        """Removes the functions of one event, or all of them."""
        for each in [name] if name else list(self._listeners):
            self._listeners.pop(each, None)

    async def complete(self) -> Complete:
        """Waits until nothing is under way, and tells what became of the batch."""
        while not self._idle.is_set():
            await self._idle.wait()
        if self._lost is not None:
            raise self._lost
        if self._latest is None:
            page = await self.get(limit=1)
            names = {"successful": "succeeded", "rejected": "rejected", "failed": "failed"}
            counts = {name: page.counts[state] for name, state in names.items()}
            self._latest = Complete(self.batch_id, counts, (), (), (), any(counts.values()))
        return self._latest

    async def retry(self, file_id: str) -> bool:
        """Tries a file that failed again; whether it had."""
        return await self._retry(file_id) > 0

    async def retry_failed(self) -> int:
        """Tries all files again that failed, or that an earlier process left; how many."""
        return await self._retry(None)

    async def remove(self, file_id: str) -> bool:
        """Takes a file out, whatever its state; whether it was there."""
        self._intake.flush()
        # At once: what is still told of it no longer counts, and the batch may be complete before
        # the reply is here.
        file = self.files.pop(file_id, None)
        self._removing.add(file_id)
        try:
            if file is not None and file.taken is not None:
                await asyncio.shield(file.taken)
            reply = await self._ask("batch/remove", file_id=file_id)
        except BaseException:
            if file is not None:
                self.files[file_id] = file
            raise
        finally:
            self._removing.discard(file_id)
        if file is not None:
            file.fail(removal("the file was removed from its batch"), "cancelled")
        return bool(reply["removed"])

    async def clear(self) -> None:
        """Drops the batch with all its files; what was uploaded to a channel and not sent goes."""
        await self._ask("batch/clear")
        self.end(removal("the batch was cleared"), "cancelled")
        self.files.clear()
        self.close()

    # For the client

    def receive(self, method: str, values: Mapping[str, Any]) -> Optional[Event]:
        """Takes a notification of this batch; the event it is, where it is one of a file."""
        if method == "complete":
            self._completed(decode(Complete, values))
            return None
        file_id = values["fileId"]
        if file_id in self._removing:
            return None
        file = self.files.get(file_id)
        # The one that was refused is the one of which nothing was told before.
        if values.get("duplicate") and (file is None or file.snapshot.transfer_id):
            return None
        if file is None:
            file = self.files[file_id] = BatchFile(self._self, file_id, None)
        if method == "started":
            self._idle.clear()
        happened = file.receive(method, values)
        if happened is not None:
            self._tell(file.listeners, happened)
        return happened

    def end(self, error: FerryError, state: Optional[str] = None) -> None:
        """Nothing more will be told, and why; `state`: what became of the files under way."""
        for file in self.files.values():
            file.fail(error, state)
        if self._over is None:
            self._over = error
        if not self._idle.is_set():
            self._lost = error
            self._idle.set()

    def _add(
        self,
        base: Optional[str],
        source: Source,
        *,
        file_id: Optional[str] = None,
        name: Optional[str] = None,
        content_type: Optional[str] = None,
        digest: Optional[str] = None,
        ref: Optional[str] = None,
        on: Optional[Listeners] = None,
    ) -> BatchFile:
        if self._over is not None:
            raise self._over
        fields, stream = prepare(source, base)
        if stream is not None:
            raise TypeError("a batch takes paths, bytes of at most 8 MiB and ferry.Text")
        if not file_id:
            self._added += 1
            file_id = f"{self._prefix}-{self._added}"
        known = self.files.get(file_id)
        is_taken = known is not None and known.snapshot.state not in ("failed", "interrupted")
        if is_taken or file_id in self._removing:
            raise ValueError(
                f"the batch has a file {file_id!r}: remove it first, and wait for that"
            )
        _check(on)
        file = self.files[file_id] = BatchFile(self._self, file_id, on)
        named = params(name=name, content_type=content_type, digest=digest, ref=ref)
        self._intake.add(file, {"fileId": file_id, **fields, **named})
        self._idle.clear()
        return file

    def _completed(self, complete: Complete) -> None:
        self._latest = complete
        told: List[Callable[[Any], Any]] = []
        for file in self.files.values():
            call = (file.listeners or {}).get("complete")
            if call is not None and call not in told:
                told.append(call)
        for call in [*told, *self._listeners.get("complete", [])]:
            self._call(call, complete)
        self._settle()

    def _settle(self) -> None:
        # Of files that are on their way the sidecar knows nothing.
        if not any(file.live for file in self.files.values()):
            self._idle.set()

    def _tell(self, first: Optional[Listeners], happened: Any) -> None:
        own = (first or {}).get(happened.name)
        if own is not None:
            self._call(own, happened)
        for call in self._listeners.get(happened.name, []):
            self._call(call, happened)

    def _call(self, call: Callable[[Any], Any], happened: Any) -> None:
        self._connection._dispatch(lambda: call(happened))

    async def _retry(self, file_id: Optional[str]) -> int:
        again = [
            file
            for file in self.files.values()
            if file.snapshot.state in ("failed", "interrupted") and file_id in (None, file.file_id)
        ]
        take_back = [file.again() for file in again]
        was_idle = self._idle.is_set()
        self._idle.clear()
        count = 0
        try:
            count = int((await self._ask("batch/retry", file_id=file_id))["retried"])
        finally:
            if not count and was_idle:
                for act in take_back:
                    act()
                self._idle.set()
        return count


def _check(listeners: Optional[Listeners]) -> None:
    for name in listeners or ():
        if name not in EVENTS and name != "complete":
            raise ValueError(f"no event {name!r}; there are {', '.join(EVENTS)}, complete")
