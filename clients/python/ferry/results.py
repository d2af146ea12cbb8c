"""What calls return. Sizes are bytes, times RFC 3339 or as named, timetokens decimal strings."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Tuple

from .errors import FerryError, build
from .wire import converted, listed, reader


@dataclass(frozen=True)
class Metadata:
    """What the remote knows of an object; digests in lower-case hexadecimal."""

    name: str
    full_path: str
    size: int
    content_type: str
    etag: str
    created: str
    updated: str
    bucket: str = ""
    custom: Mapping[str, str] = field(default_factory=dict)
    cache_control: Optional[str] = None
    content_disposition: Optional[str] = None
    content_encoding: Optional[str] = None
    content_language: Optional[str] = None
    md5: Optional[str] = None
    crc32c: Optional[str] = None
    sha256: Optional[str] = None
    generation: Optional[str] = None


@dataclass(frozen=True)
class SentFile:
    """A file that was uploaded to a channel; a batch's has no timetoken until it is sent."""

    id: str
    name: str
    channel: str
    size: int
    content_type: str
    timetoken: str = ""
    sha256: Optional[str] = None
    url: Optional[str] = None
    transfer_id: str = ""


@dataclass(frozen=True)
class StoredObject:
    """An object that was put."""

    metadata: Metadata = converted(reader(Metadata), required=True)
    ref: Optional[str] = None
    url: Optional[str] = None
    transfer_id: str = ""


@dataclass(frozen=True)
class Download:
    """What was downloaded: at `path`, in `data` (inline), or taken through `chunks()`.

    `temporary`: the sidecar made the file and removes it with `transfer_forget`, or a day later.
    """

    size: int
    sha256: Optional[str] = None
    path: Optional[str] = None
    temporary: bool = False
    data: Optional[bytes] = converted(base64.b64decode)
    metadata: Optional[Metadata] = converted(reader(Metadata))
    transfer_id: str = ""


@dataclass(frozen=True)
class Published:
    """A file that was announced (again) without an upload."""

    timetoken: str
    information: Optional[str] = None


@dataclass(frozen=True)
class ListedFile:
    """A file in a channel's list."""

    id: str
    name: str
    size: Optional[int] = None
    created: Optional[str] = None


@dataclass(frozen=True)
class FilePage:
    """One page of a channel's files; `next` is None on the last."""

    files: Tuple[ListedFile, ...] = converted(listed(ListedFile), required=True)
    next: Optional[str] = None
    count: int = 0


@dataclass(frozen=True)
class ObjectItem:
    """An object in a listing."""

    ref: str
    name: str
    size: Optional[int] = None


@dataclass(frozen=True)
class ObjectPage:
    """One page of a listing: objects, and the references of "folders"."""

    items: Tuple[ObjectItem, ...] = converted(listed(ObjectItem), required=True)
    prefixes: Tuple[str, ...] = converted(tuple, required=True)
    next: Optional[str] = None


@dataclass(frozen=True)
class ObjectURL:
    """Where an object can be had, usable as it is; `expires` where the remote limits it."""

    url: str
    expires: Optional[str] = None


@dataclass(frozen=True)
class Reference:
    """A reference taken apart; `parent` is None for the root."""

    ref: str
    bucket: str
    name: str
    full_path: str
    parent: Optional[str] = None
    root: str = ""


@dataclass(frozen=True)
class Snapshot:
    """A transfer as the sidecar knows it; `error` and `file` as on the wire."""

    transfer_id: str
    direction: str
    remote: str
    state: str
    loaded: int
    total: Optional[int]
    percent: Optional[int]
    attempt: int
    resumable: bool = False
    ref: Optional[str] = None
    channel: Optional[str] = None
    error: Optional[Mapping[str, Any]] = None
    file: Optional[Mapping[str, Any]] = None
    metadata: Optional[Mapping[str, Any]] = None
    batch_id: Optional[str] = None
    file_id: Optional[str] = None


@dataclass(frozen=True)
class TransferPage:
    """One page of transfers, oldest first."""

    transfers: Tuple[Snapshot, ...] = converted(listed(Snapshot), required=True)
    next: Optional[str] = None


@dataclass(frozen=True)
class MessageFile:
    """The file a message announces; `url` is usable as it is."""

    id: str
    name: str
    size: Optional[int] = None
    content_type: Optional[str] = None
    sha256: Optional[str] = None
    url: Optional[str] = None


@dataclass(frozen=True)
class MessageAttachment:
    """One file of a message that shows several; `id` names it to `download`."""

    id: str
    url: str
    name: str
    extension: str = ""
    mime_type: Optional[str] = None
    size: Optional[int] = None


@dataclass(frozen=True)
class Message:
    """What a channel's subscriber, or its history, gets.

    `type` is "file" or "message" (PubNub has more); one that could not be decrypted has `error`;
    one that was too long comes without its body and `truncated` (the history has it);
    one that a later one was told before is `late` (kind s3);
    one that shows several files has them all in `attachments` (kind cometchat);
    `sent_at` is in ms since 1970, where the timetoken does not say.
    """

    remote: str
    channel: str
    timetoken: str
    type: str
    publisher: Optional[str] = None
    subscription: Optional[str] = None
    custom_message_type: Optional[str] = None
    meta: Any = None
    message: Any = None
    file: Optional[MessageFile] = converted(reader(MessageFile))
    error: Optional[Mapping[str, Any]] = None
    truncated: bool = False
    late: bool = False
    sent_at: Optional[int] = None
    attachments: Optional[Tuple[MessageAttachment, ...]] = converted(listed(MessageAttachment))


@dataclass(frozen=True)
class Status:
    """A subscription's connection changed: connected, reconnecting, disconnected or denied."""

    remote: str
    state: str
    error: Optional[Mapping[str, Any]] = None


@dataclass(frozen=True)
class HistoryPage:
    """Messages, oldest first; `more` is the `start` of the next (older) page, or None."""

    messages: Tuple[Message, ...] = converted(listed(Message), required=True)
    more: Optional[str] = converted(lambda value: value["start"])


@dataclass(frozen=True)
class Limits:
    """The limits in force; None: no limit. Rates are bytes per second.

    `error`: why those that the remote sets itself could not be read; the built-in ones hold.
    """

    max_file_size: Optional[int]
    max_file_count: Optional[int]
    allowed_types: Tuple[str, ...] = converted(tuple, required=True)
    blocked_types: Tuple[str, ...] = converted(tuple, required=True)
    file_transfer_enabled: bool = True
    concurrency: int = 0
    upload_rate: Optional[int] = None
    download_rate: Optional[int] = None
    error: Optional[FerryError] = converted(lambda error: build(error, FerryError))


@dataclass(frozen=True)
class Remote:
    """A destination of the configuration and what it can do."""

    name: str
    kind: str
    capabilities: Tuple[str, ...] = converted(tuple, required=True)


@dataclass(frozen=True)
class ServerInfo:
    """What the sidecar said of itself at the start; `default`: the remote where none is named."""

    version: str
    instance_id: str
    remotes: Tuple[Remote, ...]
    default: str
    capabilities: Mapping[str, Any]
    limits: Mapping[str, int]


@dataclass(frozen=True)
class ShutdownSummary:
    """What became of the transfers of this process."""

    completed: int
    failed: int
    cancelled: int
    resumable: int
