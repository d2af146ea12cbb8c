"""The storage behind PubNub: forms with a policy go in, signed URLs with ranges come out."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import time
import uuid
from dataclasses import dataclass, field
from urllib.parse import parse_qs, quote, unquote

from http11 import Answer, Request

MAX_SIZE = 5_242_880
TAGGING = (
    "<Tagging><TagSet><Tag><Key>ObjectTTLInDays</Key><Value>1</Value></Tag></TagSet></Tagging>"
)


@dataclass
class Blob:
    body: bytes
    type: str
    created: float
    filename: str

    @property
    def etag(self) -> str:
        return f'"{hashlib.md5(self.body).hexdigest()}"'


@dataclass
class Storage:
    """Objects by `{subKey}/{hash of channel}/{id}/{name}`."""

    sub_key: str
    max_size: int = MAX_SIZE
    slot_seconds: float = 60.0
    url_seconds: int = 3900
    blobs: dict[str, Blob] = field(default_factory=dict)
    posts: list[Request] = field(default_factory=list)
    _secret: bytes = field(default_factory=lambda: uuid.uuid4().bytes)

    def key(self, channel: str, file_id: str, name: str) -> str:
        digest = hashlib.sha256(channel.encode()).digest()
        hashed = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        return f"{self.sub_key}/{hashed}/{file_id}/{name}"

    # Uploading

    def slot(self, base: str, channel: str, file_id: str, name: str) -> dict[str, object]:
        """What `generate-upload-url` answers beside the file's id and name."""
        end = time.time() + self.slot_seconds
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(end))
        iso = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(end))
        credential = f"AKIAEMULATOR/{stamp[:8]}/us-east-1/s3/aws4_request"
        fields = {
            "tagging": TAGGING,
            "key": self.key(channel, file_id, name),
            "Content-Type": guess(name),
            "X-Amz-Credential": credential,
            "X-Amz-Security-Token": "",
            "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
            "X-Amz-Date": stamp,
        }
        policy = {
            "expiration": iso,
            "end": end,
            "conditions": {k: v for k, v in fields.items() if k != "Content-Type"},
        }
        fields["Policy"] = base64.b64encode(json.dumps(policy).encode()).decode()
        fields["X-Amz-Signature"] = self._sign(fields["Policy"])
        return {
            "url": base + "/",
            "method": "POST",
            "expiration_date": iso,
            "form_fields": [{"key": k, "value": v} for k, v in fields.items()],
        }

    def _sign(self, text: str) -> str:
        return hmac.new(self._secret, text.encode(), hashlib.sha256).hexdigest()

    def upload(self, request: Request) -> Answer:
        """Takes a form as S3 does: its policy holds for every field, and the file comes last."""
        self.posts.append(request)
        if request.query.strip("?") or "authorization" in request.headers:
            return error(400, "InvalidArgument", "Query or authorization beside a form.")
        if "transfer-encoding" in request.headers or "content-length" not in request.headers:
            return error(411, "MissingContentLength", "You must provide the content's length.")
        parts = form(request)
        if parts is None:
            return error(400, "MalformedPOSTRequest", "The body is not well-formed multipart.")
        fields: dict[str, str] = {}
        for name, _, headers, body in parts:
            if name == "file":
                break
            if "content-type" in headers:
                return error(400, "MalformedPOSTRequest", "A field has a content type.")
            fields[name] = body.decode()
        else:
            return error(400, "InvalidArgument", "POST requires exactly one file upload")
        _, filename, headers, content = parts[len(fields)]
        return self._store(fields, filename, content)

    def _store(self, fields: dict[str, str], filename: str, content: bytes) -> Answer:
        policy_text = fields.pop("Policy", "")
        if fields.pop("X-Amz-Signature", "") != self._sign(policy_text):
            return error(403, "SignatureDoesNotMatch", "The request signature does not match.")
        policy = json.loads(base64.b64decode(policy_text))
        if policy["end"] < time.time():
            return error(403, "AccessDenied", "Invalid according to Policy: Policy expired.")
        kind = fields.pop("Content-Type", "binary/octet-stream")
        if fields != policy["conditions"]:
            message = "Invalid according to Policy: Policy Condition failed: a field differs"
            return error(403, "AccessDenied", message)
        if len(content) > self.max_size:
            extra = f"<ProposedSize>{len(content)}</ProposedSize>"
            extra += f"<MaxSizeAllowed>{self.max_size}</MaxSizeAllowed>"
            message = "Your proposed upload exceeds the maximum allowed size"
            return error(400, "EntityTooLarge", message, extra)
        blob = Blob(content, kind, time.time(), filename)
        self.blobs[fields["key"]] = blob
        headers = {"ETag": blob.etag, "Location": "/" + quote(fields["key"]), "Server": "AmazonS3"}
        return Answer(204, b"", headers)

    # Downloading

    def signed_path(self, key: str) -> str:
        """A path that stays the same within the hour."""
        start = int(time.time()) // 3600 * 3600
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(start))
        path = "/" + "/".join(quote(part, safe="-_.~") for part in key.split("/", 3))
        until = start + self.url_seconds
        return (
            f"{path}?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIA%2Fs3&X-Amz-Date={stamp}"
            f"&X-Amz-Expires={self.url_seconds}&X-Amz-SignedHeaders=host"
            f"&X-Amz-Signature={self._sign(f'{key}{until}')}"
        )

    def get(self, request: Request) -> Answer:
        key = unquote(request.path[1:])
        params = {name: values[0] for name, values in parse_qs(request.query).items()}
        extra = set(params) & {"auth", "uuid", "pnsdk", "signature", "timestamp"}
        if extra:
            return error(400, "InvalidArgument", f"parameters of PubNub came along: {extra}")
        start = int(time.time()) // 3600 * 3600
        until = start + self.url_seconds
        if params.get("X-Amz-Signature") != self._sign(f"{key}{until}"):
            return error(403, "SignatureDoesNotMatch", "The request signature does not match.")
        if until < time.time():
            return error(403, "AccessDenied", "Request has expired")
        blob = self.blobs.get(key)
        if blob is None:
            return error(404, "NoSuchKey", "The specified key does not exist.")
        headers = {"Content-Type": blob.type, "ETag": blob.etag, "Accept-Ranges": "bytes"}
        size = len(blob.body)
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("range", ""))
        if not asked:
            return Answer(200, blob.body, headers)
        first = int(asked[1])
        last = min(int(asked[2]) if asked[2] else size - 1, size - 1)
        if first >= size:
            answer = error(416, "InvalidRange", "The requested range is not satisfiable")
            answer.headers["Content-Range"] = f"bytes */{size}"
            return answer
        headers["Content-Range"] = f"bytes {first}-{last}/{size}"
        return Answer(206, blob.body[first : last + 1], headers)


def error(status: int, code: str, message: str, extra: str = "") -> Answer:
    xml = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"<Error><Code>{code}</Code><Message>{message}</Message>{extra}"
        "<RequestId>EMULATOR</RequestId><HostId>EMULATOR</HostId></Error>"
    )
    return Answer(status, xml.encode(), {"Content-Type": "application/xml"})


def guess(name: str) -> str:
    return "text/plain; charset=utf-8" if name.endswith(".txt") else "binary/octet-stream"


def form(request: Request) -> list[tuple[str, str, dict[str, str], bytes]] | None:
    """The parts of a form: name, file name, headers, content; None where it is malformed."""
    match = re.fullmatch(
        r'multipart/form-data; ?boundary="?([^"]+)"?', request.headers.get("content-type", "")
    )
    if not match:
        return None
    mark = b"--" + match[1].encode()
    body = request.body
    if not body.startswith(mark + b"\r\n") or not body.rstrip(b"\r\n").endswith(mark + b"--"):
        return None
    parts = []
    for piece in body[len(mark) + 2 :].split(b"\r\n" + mark)[:-1]:
        head, separator, content = piece.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        if not separator:
            return None
        headers = {}
        for line in head.decode().split("\r\n"):
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        disposition = headers.get("content-disposition", "")
        name_match = re.search(r'[; ]name="([^"]*)"', disposition)
        file_match = re.search(r'filename="([^"]*)"', disposition)
        if not disposition.startswith("form-data;") or not name_match:
            return None
        parts.append((name_match[1], file_match[1] if file_match else "", headers, content))
    return parts
