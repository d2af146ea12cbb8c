"""What can be asked of a batch and of its files together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence

from .batch_results import AttachmentPage, BatchAttachment, BatchEntry, BatchPage, SentBatch
from .pages import Pages
from .sources import patiently
from .wire import KEEP, decode, params

if TYPE_CHECKING:
    from .connection import Connection


class BatchCalls:
    """The requests of `Batch` that leave what is known of its files here alone."""

    def __init__(self, connection: "Connection", batch_id: str) -> None:
        self._connection = connection
        self.batch_id = batch_id

    async def configure(
        self,
        *,
        concurrency: Optional[int] = None,
        retries: Optional[int] = None,
        parent_message_id: Optional[str] = KEEP,
    ) -> None:
        """Changes how it goes about its files, from the next one on; a parent of None: none."""
        ask = {"batchId": self.batch_id, **params(concurrency=concurrency, retries=retries)}
        if parent_message_id is not KEEP:
            ask["parentMessageId"] = parent_message_id
        await patiently(self._connection, "batch/configure", ask)

    async def get(
        self,
        *,
        state: Optional[str] = None,
        limit: Optional[int] = None,
        next: Optional[str] = None,
    ) -> BatchPage:
        """How it stands, and a page of its files."""
        reply = await self._ask("batch/get", state=state, limit=limit, next=next)
        return decode(BatchPage, reply)

    def entries(self, *, state: Optional[str] = None) -> "Pages[BatchPage, BatchEntry]":
        """Its files as the sidecar knows them: `await` or iterate."""

        async def fetch(mark: Optional[str]) -> BatchPage:
            return await self.get(state=state, next=mark)

        return Pages(fetch, lambda page: page.files, lambda page: page.next, None)

    def attachments(
        self,
        *,
        type: Optional[str] = None,
        file_id: Optional[str] = None,
        limit: Optional[int] = None,
        next: Optional[str] = None,
    ) -> "Pages[AttachmentPage, BatchAttachment]":
        """What is uploaded, in the order it was added: `await` or iterate."""

        async def fetch(mark: Optional[str]) -> AttachmentPage:
            ask = {"type": type, "file_id": file_id, "limit": limit, "next": mark}
            return decode(AttachmentPage, await self._ask("batch/attachments", **ask))

        return Pages(fetch, lambda page: page.attachments, lambda page: page.next, next)

    async def send(
        self,
        *,
        file_ids: Optional[Sequence[str]] = None,
        caption: Optional[str] = None,
        type: Optional[str] = None,
        split: Optional[str] = None,
        muid: Optional[str] = None,
        metadata: Optional[Mapping[str, Any]] = None,
        tags: Optional[Sequence[str]] = None,
        meta: Optional[Mapping[str, Any]] = None,
        store: Optional[bool] = None,
        replicate: Optional[bool] = None,
        ttl: Optional[int] = None,
        custom_message_type: Optional[str] = None,
        query: Optional[Mapping[str, Any]] = None,
    ) -> SentBatch:
        """Announces what is uploaded and not yet sent; called again, it sends what is missing.

        Where not all could be sent, `error.data["messages"]` has those that were.
        """
        reply = await self._ask(
            "batch/send",
            file_ids=None if file_ids is None else list(file_ids),
            caption=caption,
            type=type,
            split=split,
            muid=muid,
            metadata=metadata,
            tags=None if tags is None else list(tags),
            meta=meta,
            store=store,
            replicate=replicate,
            ttl=ttl,
            custom_message_type=custom_message_type,
            query=query,
        )
        return decode(SentBatch, reply)

    async def _ask(self, method: str, **values: Any) -> Any:
        ask = {"batchId": self.batch_id, **params(**values)}
        return await patiently(self._connection, method, ask)
