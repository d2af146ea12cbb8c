"""How batches are begun."""

from __future__ import annotations

import uuid
from typing import Optional

from .batch import Batch
from .connection import Connection
from .wire import params


class BatchMethods(Connection):
    """`batch/*`."""

    def batch(
        self,
        channel: Optional[str] = None,
        *,
        prefix: Optional[str] = None,
        batch_id: Optional[str] = None,
        concurrency: Optional[int] = None,
        retries: Optional[int] = None,
        parent_message_id: Optional[str] = None,
        remote: Optional[str] = None,
    ) -> Batch:
        """Many uploads to one channel, or below one prefix, run and reported together.

        `async with f.batch("room") as b: b.add("photo.jpg"); await b.complete(); await b.send()`.
        """
        return Batch(
            self,
            params(
                channel=channel,
                prefix=prefix,
                batch_id=batch_id or uuid.uuid4().hex,
                concurrency=concurrency,
                retries=retries,
                parent_message_id=parent_message_id,
                remote=remote,
            ),
        )
