"""What is told of batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping, Optional, Tuple

from .errors import FerryError, TransferFailed, TransferRejected, build
from .wire import converted, listed, reader


@dataclass(frozen=True)
class Attachment:
    """A file of a batch that is uploaded."""

    name: str
    mime_type: str
    extension: str
    size: Optional[int] = None
    url: Optional[str] = None


@dataclass(frozen=True)
class Successful:
    """A file that is uploaded."""

    file_id: str
    attachment: Attachment = converted(reader(Attachment), required=True)


@dataclass(frozen=True)
class NotAccepted:
    """A file that was rejected."""

    file_id: str
    error: FerryError = converted(lambda error: build(error, TransferRejected), required=True)


@dataclass(frozen=True)
class NotUploaded:
    """A file that failed."""

    file_id: str
    error: FerryError = converted(lambda error: build(error, TransferFailed), required=True)


@dataclass(frozen=True)
class Complete:
    """A batch of which nothing is under way; `truncated`: the lists do not have all its files."""

    name = "complete"

    batch_id: str
    counts: Mapping[str, int]
    successful: Tuple[Successful, ...] = converted(listed(Successful), required=True)
    rejected: Tuple[NotAccepted, ...] = converted(listed(NotAccepted), required=True)
    failed: Tuple[NotUploaded, ...] = converted(listed(NotUploaded), required=True)
    truncated: bool = False


@dataclass(frozen=True)
class BatchEntry:
    """A file of a batch as the sidecar knows it.

    `message_id`: of the message that told of it; `in_doubt`: one may have been made whose answer
    was lost, and is looked for by the next `Batch.send`.
    """

    file_id: str
    state: str
    loaded: int
    total: Optional[int]
    sent: bool
    transfer_id: Optional[str] = None
    name: Optional[str] = None
    message_id: Optional[str] = None
    in_doubt: bool = False
    attachment: Optional[Attachment] = converted(reader(Attachment))
    error: Optional[FerryError] = converted(lambda error: build(error, FerryError))


@dataclass(frozen=True)
class BatchPage:
    """How a batch stands, and one page of its files."""

    status: str
    counts: Mapping[str, int]
    files: Tuple[BatchEntry, ...] = converted(listed(BatchEntry), required=True)
    next: Optional[str] = None


@dataclass(frozen=True)
class BatchAttachment:
    """An attachment and the file it is; `type` is image, video, audio or file."""

    file_id: str
    type: str
    sent: bool
    attachment: Attachment = converted(reader(Attachment), required=True)


@dataclass(frozen=True)
class AttachmentPage:
    """One page of a batch's attachments."""

    attachments: Tuple[BatchAttachment, ...] = converted(listed(BatchAttachment), required=True)
    next: Optional[str] = None


@dataclass(frozen=True)
class BatchMessage:
    """A message that was sent of a batch."""

    id: str
    type: str
    file_ids: Tuple[str, ...] = converted(tuple, required=True)
    muid: Optional[str] = None


@dataclass(frozen=True)
class SentBatch:
    """What `Batch.send` sent: `count` messages; `truncated`: `messages` has not all of them, and
    `Batch.entries` has."""

    count: int
    messages: Tuple[BatchMessage, ...] = converted(listed(BatchMessage), required=True)
    truncated: bool = False
