"""What is added to a batch, on its way to the sidecar."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Callable, Dict, List

from .batch_file import BatchFile
from .errors import FerryError

if TYPE_CHECKING:
    from .connection import Connection

CALL_BYTES = 8 << 20
"""The most content of one `batch/upload`, so that it fits a line."""

CALL_FILES = 1000
"""The most files of one `batch/upload`."""


class Intake:
    """Gathers what is added in one turn of the loop and sends it in as few calls as will do.

    `refused` is called after a call was, with its files ended.
    """

    def __init__(
        self, connection: "Connection", batch_id: str, refused: Callable[[], None]
    ) -> None:
        self._connection = connection
        self._batch_id = batch_id
        self._refused = refused
        self._files: List[BatchFile] = []
        self._items: List[Dict[str, Any]] = []

    def add(self, file: BatchFile, item: Dict[str, Any]) -> None:
        """Takes a file, with its item of `batch/upload`."""
        if not self._items:
            asyncio.get_running_loop().call_soon(self.flush)
        self._files.append(file)
        self._items.append(item)

    def flush(self) -> None:
        """Sends what was added."""
        files, items = self._files, self._items
        self._files, self._items = [], []
        begin, room = 0, CALL_BYTES
        for number, item in enumerate(items):
            size = len(item.get("data", "")) + len(item.get("text", "").encode())
            if begin < number and (size > room or number - begin == CALL_FILES):
                self._upload(files[begin:number], items[begin:number])
                begin, room = number, CALL_BYTES
            room -= size
        if items:
            self._upload(files[begin:], items[begin:])

    def _upload(self, files: List[BatchFile], items: List[Dict[str, Any]]) -> None:
        loop = asyncio.get_running_loop()
        taken = loop.create_future()
        for file in files:
            file.taken = taken

        def refused(error: FerryError) -> None:
            for file in files:
                file.fail(error, "rejected")
            self._refused()
            taken.set_result(None)

        def answered(reply: "asyncio.Future[Any]") -> None:
            error = reply.exception()
            if not isinstance(error, FerryError):
                taken.set_result(None)
            elif error.code == "ERR_OVERLOADED":
                loop.call_later(error.retry_after, post)
            else:
                refused(error)

        def post() -> None:
            try:
                ask = {"batchId": self._batch_id, "items": items}
                call = self._connection._post("batch/upload", ask)
            except FerryError as error:
                refused(error)
            else:
                call.future.add_done_callback(answered)

        post()  # in this turn of the loop, so that nothing overtakes it
