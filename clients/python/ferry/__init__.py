"""Share files on channels and store objects, through the ferry sidecar.

    async with ferry.Ferry() as f:
        handle = f.send("photo.jpg", channel="trip", message={"text": "look"})
        async for event in handle:
            print(event)
        print((await handle).url)

Without asyncio: `with ferry.SyncFerry() as f: f.send("photo.jpg", channel="trip").result()`.

A transfer with a `transfer_id` of the host's goes on after a restart: where the sidecar ended
before it, `TransferCancelled.resumable` (and `Cancelled.resumable`) is true, and the same request
with the same id, in the next `Ferry` with the same `state_key`, moves only what is missing:

    async with ferry.Ferry(state_key="my-app") as f:
        await f.put("large.bin", "backups/large.bin", transfer_id="backup-7")
"""

from .batch import Batch
from .batch_file import Addition, BatchFile
from .batch_results import (
    Attachment,
    AttachmentPage,
    BatchAttachment,
    BatchEntry,
    BatchMessage,
    BatchPage,
    Complete,
    NotAccepted,
    NotUploaded,
    SentBatch,
    Successful,
)
from .client import Ferry
from .connection import CloseGrace
from .errors import (
    BinaryNotFound,
    ConnectionClosed,
    FerryError,
    ProcessDied,
    ProtocolError,
    RequestTimeout,
    TransferCancelled,
    TransferError,
    TransferFailed,
    TransferRejected,
    VersionMismatch,
)
from .events import (
    Cancelled,
    Downloaded,
    Event,
    Failure,
    Paused,
    Progress,
    Rejected,
    Resumed,
    Started,
    Uploaded,
)
from .handle import TransferHandle
from .observers import Observer
from .pages import Pages
from .results import (
    Download,
    FilePage,
    HistoryPage,
    Limits,
    ListedFile,
    Message,
    MessageAttachment,
    MessageFile,
    Metadata,
    ObjectItem,
    ObjectPage,
    ObjectURL,
    Published,
    Reference,
    Remote,
    SentFile,
    ServerInfo,
    ShutdownSummary,
    Snapshot,
    Status,
    StoredObject,
    TransferPage,
)
from .sources import Source, Stream, Text
from .state import TransferState
from .subscription import Subscription
from .sync import SyncFerry
from .sync_batch import SyncBatch, SyncBatchFile
from .sync_handles import SyncDownloadHandle, SyncHandle, SyncPages, SyncSubscription
from .transfers import DownloadHandle
from .version import PROTOCOL_VERSIONS, __version__
from .wire import KEEP

__all__ = [
    "KEEP",
    "PROTOCOL_VERSIONS",
    "Addition",
    "Attachment",
    "AttachmentPage",
    "Batch",
    "BatchAttachment",
    "BatchEntry",
    "BatchFile",
    "BatchMessage",
    "BatchPage",
    "BinaryNotFound",
    "Cancelled",
    "CloseGrace",
    "Complete",
    "ConnectionClosed",
    "Download",
    "DownloadHandle",
    "Downloaded",
    "Event",
    "Failure",
    "Ferry",
    "FerryError",
    "FilePage",
    "HistoryPage",
    "Limits",
    "ListedFile",
    "Message",
    "MessageAttachment",
    "MessageFile",
    "Metadata",
    "NotAccepted",
    "NotUploaded",
    "ObjectItem",
    "ObjectPage",
    "ObjectURL",
    "Observer",
    "Pages",
    "Paused",
    "ProcessDied",
    "Progress",
    "ProtocolError",
    "Published",
    "Reference",
    "Rejected",
    "Remote",
    "RequestTimeout",
    "Resumed",
    "SentBatch",
    "SentFile",
    "ServerInfo",
    "ShutdownSummary",
    "Snapshot",
    "Source",
    "Started",
    "Status",
    "StoredObject",
    "Stream",
    "Subscription",
    "Successful",
    "SyncBatch",
    "SyncBatchFile",
    "SyncDownloadHandle",
    "SyncFerry",
    "SyncHandle",
    "SyncPages",
    "SyncSubscription",
    "Text",
    "TransferCancelled",
    "TransferError",
    "TransferFailed",
    "TransferHandle",
    "TransferPage",
    "TransferRejected",
    "TransferState",
    "Uploaded",
    "VersionMismatch",
    "__version__",
]
