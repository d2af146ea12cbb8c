"""`send` of several files as one batch."""

from __future__ import annotations

import os
from argparse import Namespace
from dataclasses import replace
from typing import Callable, Dict

from .batch import Batch
from .client import Ferry
from .errors import FerryError
from .events import Uploaded
from .progress import Display
from .results import SentFile


class BatchCommand:
    """Uploads files together, then announces those that came through, in their order.

    `sent` is called with each file that was announced, `report` with the label and the error of
    each that was not.
    """

    def __init__(
        self,
        client: Ferry,
        args: Namespace,
        display: Display,
        sent: Callable[[SentFile], None],
        report: Callable[[str, FerryError], None],
    ) -> None:
        self._ferry = client
        self._args = args
        self._display = display
        self._sent = sent
        self._report = report
        self._labels: Dict[str, str] = {}
        self._uploaded: Dict[str, SentFile] = {}

    @property
    def fits(self) -> bool:
        """Whether there are several files, for a remote with batches, whose announcements can say
        what is to be said."""
        args, info = self._args, self._ferry.info
        assert info is not None
        name = args.remote or info.default
        has_batches = any(r.name == name and "batches" in r.capabilities for r in info.remotes)
        message = args.message
        is_caption = isinstance(message, dict) and [*message] == ["text"]
        return len(args.files) > 1 and has_batches and (message is None or is_caption)

    async def run(self) -> int:
        """Sends them; returns how many were not sent."""
        args = self._args
        limits = await self._ferry.limits(remote=args.remote)
        batch = self._ferry.batch(args.channel, concurrency=limits.concurrency, remote=args.remote)
        async with batch:
            try:
                await self._upload(batch)
                announced = await self._announce(batch) if self._uploaded else 0
            finally:
                # What was uploaded and not announced goes, also after Ctrl-C.
                await batch.clear()
        return len(args.files) - announced

    async def _upload(self, batch: Batch) -> None:
        for name in ("error", "failure"):
            batch.on(name, lambda event: self._report(self._labels[event.file_id], event.error))
        batch.on("progress", self._display.take)
        batch.on("uploaded", self._note)
        for path, file in zip(self._args.files, batch.add_all(self._args.files)):
            self._labels[file.file_id] = path
            self._display.add(file.file_id, os.path.basename(path) or path)
        await batch.complete()

    def _note(self, event: Uploaded) -> None:
        if event.file is not None and event.file_id is not None:
            self._uploaded[event.file_id] = replace(event.file, transfer_id=event.transfer_id)

    async def _announce(self, batch: Batch) -> int:
        """Announces and shows what is uploaded; how many."""
        caption = self._args.message and self._args.message["text"]
        try:
            await batch.send(caption=caption, ttl=self._args.ttl)
        except FerryError as error:
            self._report(self._args.channel, error)
        announced = 0
        async for entry in batch.entries():
            if entry.message_id is not None:
                timetoken = entry.message_id.rpartition(":")[2]
                self._sent(replace(self._uploaded[entry.file_id], timetoken=timetoken))
                announced += 1
        return announced
