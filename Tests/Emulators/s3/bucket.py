"""One bucket in memory, with S3's own rules and none of any server's leniency."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
import threading
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from urllib.parse import quote

from .signature import Refused

SMALLEST_PART = 5 << 20
SYSTEM = [
    "content-type", "cache-control", "content-disposition", "content-encoding",
    "content-language", "expires",
]  # fmt: skip


@dataclass
class Object:
    """Content and what was said of it."""

    content: bytes
    headers: dict[str, str]
    etag: str
    modified: float


@dataclass
class Upload:
    """A multipart upload that is not completed."""

    key: str
    headers: dict[str, str]
    has_crc32c: bool
    parts: dict[int, Object] = field(default_factory=dict)


def _table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ 0x82F63B78 if byte & 1 else byte >> 1
        table.append(byte)
    return table


_CRC32C = _table()


def crc32c(data: bytes) -> str:
    """As services carry it. Slow: a few MiB a second."""
    value, table = 0xFFFFFFFF, _CRC32C
    for byte in data:
        value = table[(value ^ byte) & 255] ^ value >> 8
    return base64.b64encode((value ^ 0xFFFFFFFF).to_bytes(4, "big")).decode()


def check_body(headers: dict[str, str], body: bytes) -> None:
    """Compares a body with every checksum that came with it."""
    md5 = headers.get("content-md5")
    if md5 is not None and base64.b64encode(hashlib.md5(body).digest()).decode() != md5:
        raise Refused(400, "BadDigest")
    crc = headers.get("x-amz-checksum-crc32c")
    if crc is not None and crc32c(body) != crc:
        raise Refused(400, "BadDigest")
    wanted = headers.get("x-amz-content-sha256", "")
    if re.fullmatch("[0-9a-f]{64}", wanted) and hashlib.sha256(body).hexdigest() != wanted:
        raise Refused(400, "XAmzContentSHA256Mismatch")


def kept(headers: dict[str, str]) -> dict[str, str]:
    """The headers that are stored with an object."""
    custom = {n: v for n, v in headers.items() if n.startswith("x-amz-meta-")}
    if sum(len(n) - len("x-amz-meta-") + len(v) for n, v in custom.items()) > 2048:
        raise Refused(400, "MetadataTooLarge")
    return custom | {n: headers[n] for n in SYSTEM if n in headers}


class Bucket:
    """Objects and uploads; every method is one request's work and is done under one lock."""

    def __init__(self, now: object) -> None:
        self.objects: dict[str, Object] = {}
        self.uploads: dict[str, Upload] = {}
        self.lock = threading.RLock()
        self.now = now

    def put(self, key: str, headers: dict[str, str], body: bytes) -> Object:
        check_body(headers, body)
        self._check(headers, key)
        etag = f'"{hashlib.md5(body).hexdigest()}"'
        stored = Object(body, kept(headers), etag, self.now())  # type: ignore[operator]
        self.objects[key] = stored
        return stored

    def copy(self, key: str, headers: dict[str, str], source: str) -> Object:
        old = self.get(source)
        if headers.get("x-amz-copy-source-if-match", old.etag) != old.etag:
            raise Refused(412, "PreconditionFailed")
        if source == key and headers.get("x-amz-metadata-directive") != "REPLACE":
            raise Refused(400, "InvalidRequest", "a copy onto itself changes nothing")
        stored = Object(old.content, kept(headers), old.etag, self.now())  # type: ignore[operator]
        self.objects[key] = stored
        return stored

    def get(self, key: str) -> Object:
        if key not in self.objects:
            raise Refused(404, "NoSuchKey")
        return self.objects[key]

    def create(self, key: str, headers: dict[str, str]) -> str:
        algorithm = headers.get("x-amz-checksum-algorithm")
        if algorithm not in (None, "CRC32C"):
            raise Refused(400, "InvalidRequest")
        # With everything in it that has to be encoded in a query.
        upload_id = f"{secrets.token_hex(8)}/+ =&%"
        self.uploads[upload_id] = Upload(key, kept(headers), algorithm is not None)
        return upload_id

    def part(
        self, upload_id: str, key: str, number: int, headers: dict[str, str], body: bytes
    ) -> Object:
        upload = self._upload(upload_id, key)
        if not 1 <= number <= 10_000:
            raise Refused(400, "InvalidArgument")
        check_body(headers, body)
        if ("x-amz-checksum-crc32c" in headers) != upload.has_crc32c:
            raise Refused(400, "InvalidRequest", "Checksum Type mismatch occurred")
        crc = headers.get("x-amz-checksum-crc32c")
        answer = {} if crc is None else {"x-amz-checksum-crc32c": crc}
        etag = f'"{hashlib.md5(body).hexdigest()}"'
        part = Object(body, answer, etag, self.now())  # type: ignore[operator]
        upload.parts[number] = part
        return part

    def complete(self, upload_id: str, key: str, headers: dict[str, str], body: bytes) -> Object:
        upload = self._upload(upload_id, key)
        listed = [
            {child.tag.rpartition("}")[2]: child.text or "" for child in part}
            for part in ET.fromstring(body)
        ]
        numbers = [int(part["PartNumber"]) for part in listed]
        if not numbers or numbers != sorted(set(numbers)):
            raise Refused(400, "InvalidPartOrder")
        parts = []
        for number, part in zip(numbers, listed):
            there = upload.parts.get(number)
            if there is None or there.etag.strip('"') != part["ETag"].strip('"'):
                raise Refused(400, "InvalidPart")
            if part.get("ChecksumCRC32C") != there.headers.get("x-amz-checksum-crc32c"):
                raise Refused(400, "InvalidPart", "checksum of a part")
            parts.append(there)
        sizes = [len(part.content) for part in parts]
        if any(size < SMALLEST_PART for size in sizes[:-1]):
            raise Refused(400, "EntityTooSmall")
        if len(set(sizes[:-1])) > 1 or sizes[-1] > sizes[0]:
            raise Refused(400, "InvalidPart", "all parts but the last must be equal")
        self._check(headers, key)
        digest = hashlib.md5(b"".join(bytes.fromhex(p.etag.strip('"')) for p in parts)).hexdigest()
        content = b"".join(part.content for part in parts)
        now = self.now()  # type: ignore[operator]
        stored = Object(content, upload.headers, f'"{digest}-{len(parts)}"', now)
        self.objects[key] = stored
        del self.uploads[upload_id]
        return stored

    def abort(self, upload_id: str, key: str) -> None:
        self._upload(upload_id, key)
        del self.uploads[upload_id]

    def parts(
        self, upload_id: str, key: str, after: int, limit: int
    ) -> tuple[list[tuple[int, Object]], bool]:
        upload = self._upload(upload_id, key)
        found = sorted((n, part) for n, part in upload.parts.items() if n > after)
        return found[:limit], len(found) > limit

    def list(
        self, prefix: str, delimiter: str, after: str, limit: int
    ) -> tuple[list[tuple[str, Object | None]], str | None]:
        """Keys with their objects, and folders, in order; the last of them if more follow."""
        entries: dict[str, Object | None] = {}
        for key in sorted(self.objects, key=str.encode):
            if not key.startswith(prefix):
                continue
            cut = key.find(delimiter, len(prefix)) if delimiter else -1
            entry = key if cut < 0 else key[: cut + 1]
            if entry.encode() > after.encode():
                entries[entry] = self.objects[key] if cut < 0 else None
        page = list(entries.items())[:limit]
        return page, page[-1][0] if len(entries) > limit else None

    def _upload(self, upload_id: str, key: str) -> Upload:
        upload = self.uploads.get(upload_id)
        if upload is None or upload.key != key:
            raise Refused(404, "NoSuchUpload")
        return upload

    def _check(self, headers: dict[str, str], key: str) -> None:
        there = self.objects.get(key)
        wanted = headers.get("if-match")
        if wanted is not None:
            if there is None:
                raise Refused(404, "NoSuchKey")
            if there.etag != wanted:
                raise Refused(412, "PreconditionFailed")
        if headers.get("if-none-match", "*") != "*":
            raise Refused(501, "NotImplemented")
        if "if-none-match" in headers and there is not None:
            raise Refused(412, "PreconditionFailed")


def encoded(key: str) -> str:
    """As AWS encodes keys in lists: a blank is a plus."""
    return quote(key, safe="/-_.~*").replace("%20", "+")
