"""Batches without asyncio."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Callable, Iterable, List, Optional, Type, Union

from .batch import Batch
from .batch_file import Addition, BatchFile, Listeners
from .batch_results import (
    Attachment,
    AttachmentPage,
    BatchAttachment,
    BatchEntry,
    BatchPage,
    Complete,
    SentBatch,
)
from .loop_thread import LoopThread, now
from .sources import Source
from .state import TransferState
from .sync_handles import SyncPages


class SyncBatchFile:
    """One file of a batch: `result()` waits for its attachment."""

    def __init__(self, loop: LoopThread, file: BatchFile) -> None:
        self._loop = loop
        self._file = file
        self.file_id = file.file_id

    @property
    def snapshot(self) -> TransferState:
        """What is known of it here."""
        return self._file.snapshot

    def result(self) -> Attachment:
        """Waits for its attachment, or raises where it has none."""

        async def work() -> Attachment:
            return await self._file

        return self._loop.run(work())

    def remove(self) -> bool:
        """Takes it out of the batch; whether it was there."""
        return self._loop.run(self._file.remove())

    def retry(self) -> bool:
        """Tries it again; whether it had failed."""
        return self._loop.run(self._file.retry())


class SyncBatch:
    """Uploads to one channel, or below one prefix: `with f.batch("room") as b: b.add(…)`."""

    def __init__(self, loop: LoopThread, batch: Batch) -> None:
        self._loop = loop
        self._batch = batch
        self.batch_id = batch.batch_id

    def __enter__(self) -> "SyncBatch":
        self._loop.run(self._batch.start())
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self._loop.run(now(self._batch.close))

    def add(self, source: Source, **options: Any) -> SyncBatchFile:
        """Adds a file, with the options of `Batch.add`."""
        file = self._loop.run(now(lambda: self._batch.add(source, **options)))
        return SyncBatchFile(self._loop, file)

    def add_all(
        self, sources: Iterable[Union[Source, Addition]], *, on: Optional[Listeners] = None
    ) -> List[SyncBatchFile]:
        """Adds several files: each a source, or a dict of `source` and what else `add` takes."""
        every = list(sources)
        files = self._loop.run(now(lambda: self._batch.add_all(every, on=on)))
        return [SyncBatchFile(self._loop, file) for file in files]

    def on(self, name: str, call: Callable[[Any], Any]) -> None:
        """Calls a function, on a thread for observers, with each event of a name."""
        self._loop.run(now(lambda: self._batch.on(name, call)))

    def off(self, name: Optional[str] = None) -> None:
        """Removes the functions of one event, or all of them."""
        self._loop.run(now(lambda: self._batch.off(name)))

    def complete(self) -> Complete:
        """Waits until nothing is under way, and tells what became of the batch."""
        return self._loop.run(self._batch.complete())

    def retry(self, file_id: str) -> bool:
        """Tries a file that failed again; whether it had."""
        return self._loop.run(self._batch.retry(file_id))

    def retry_failed(self) -> int:
        """Tries all files again that failed; how many."""
        return self._loop.run(self._batch.retry_failed())

    def remove(self, file_id: str) -> bool:
        """Takes a file out, whatever its state; whether it was there."""
        return self._loop.run(self._batch.remove(file_id))

    def clear(self) -> None:
        """Drops the batch with all its files."""
        self._loop.run(self._batch.clear())

    def configure(self, **options: Any) -> None:
        """Changes how it goes about its files, with the options of `Batch.configure`."""
        self._loop.run(self._batch.configure(**options))

    def get(self, **options: Any) -> BatchPage:
        """How it stands, and a page of its files."""
        return self._loop.run(self._batch.get(**options))

    def entries(self, *, state: Optional[str] = None) -> "SyncPages[BatchPage, BatchEntry]":
        """Its files as the sidecar knows them: iterate, or `page()`."""
        return SyncPages(self._loop, self._batch.entries(state=state))

    def attachments(self, **options: Any) -> "SyncPages[AttachmentPage, BatchAttachment]":
        """What is uploaded, in the order it was added: iterate, or `page()`."""
        return SyncPages(self._loop, self._batch.attachments(**options))

    def send(self, **options: Any) -> SentBatch:
        """Announces what is uploaded and not yet sent, with the options of `Batch.send`."""
        return self._loop.run(self._batch.send(**options))
