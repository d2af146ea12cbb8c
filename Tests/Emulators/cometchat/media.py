"""The storage behind CometChat: forms with a policy go in, ranges of signed addresses come out."""

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
from storage import error, form

FOREIGN = {"appid", "authtoken", "apikey", "onbehalfof", "sdk", "authorization"}


@dataclass
class Media:
    """Contents by key: `{app}/media/{id}_{name}`."""

    slot_seconds: float = 900.0
    url_seconds: float = 86_400.0
    ahead: float = 0.0  # seconds that the clock was put forward
    tells_policy: bool = True  # a policy that can be read
    sizes: tuple[int, int] | None = None  # what the policy allows; else the size and a tenth
    blobs: dict[str, bytes] = field(default_factory=dict)
    posts: list[Request] = field(default_factory=list)
    _secret: bytes = field(default_factory=lambda: uuid.uuid4().bytes)

    def _now(self) -> float:
        return time.time() + self.ahead

    def slot(self, base: str, key: str, size: int) -> dict[str, object]:
        """Where a file goes: `request` of an answer."""
        end = self._now() + self.slot_seconds
        least, most = self.sizes or (size * 9 // 10, size * 11 // 10 + 1)
        conditions = [{"key": key}, ["content-length-range", least, most]]
        iso = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(end))
        policy = {"expiration": iso, "conditions": conditions, "end": end, "key": key}
        name = "Policy" if self.tells_policy else "opaque"
        text = base64.b64encode(json.dumps(policy).encode()).decode()
        body = {"key": key, "x-amz-algorithm": "AWS4-HMAC-SHA256", name: text}
        return {"url": base + "/storage", "body": {**body, "x-amz-signature": self._sign(text)}}

    def _sign(self, text: str) -> str:
        return hmac.new(self._secret, text.encode(), hashlib.sha256).hexdigest()

    def upload(self, request: Request) -> Answer:
        """Takes a form as S3 does: what the policy says holds, and the file comes last."""
        self.posts.append(request)
        if FOREIGN & set(request.headers) or request.query:
            return error(400, "InvalidArgument", "A header or query that is not the storage's.")
        if "content-length" not in request.headers:
            return error(411, "MissingContentLength", "You must provide the content's length.")
        parts = form(request)
        if parts is None or parts[-1][0] != "file" or any(p[0] == "file" for p in parts[:-1]):
            return error(400, "MalformedPOSTRequest", "The one file must be the last part.")
        fields = {name: body.decode() for name, _, _, body in parts[:-1]}
        text = fields.get("Policy") or fields.get("opaque") or ""
        if fields.get("x-amz-signature") != self._sign(text):
            return error(403, "SignatureDoesNotMatch", "The signature does not match.")
        policy = json.loads(base64.b64decode(text))
        if policy["end"] < self._now():
            return error(403, "AccessDenied", "Invalid according to Policy: Policy expired.")
        if fields.get("key") != policy["key"] or fields.get("x-amz-algorithm") is None:
            return error(403, "AccessDenied", "Invalid according to Policy: a field differs.")
        _, least, most = policy["conditions"][1]
        content = parts[-1][3]
        if len(content) > most:
            return error(400, "EntityTooLarge", "Your upload exceeds the maximum allowed size")
        if len(content) < least:
            return error(400, "EntityTooSmall", "Your upload is below the minimum allowed size")
        self.blobs[policy["key"]] = content
        return Answer(204, headers={"ETag": self._etag(content)})

    @staticmethod
    def _etag(content: bytes) -> str:
        return f'"{hashlib.md5(content).hexdigest()}"'

    def url(self, base: str, key: str) -> str:
        end = f"{self._now() + self.url_seconds:.3f}"
        signature = self._sign(key + end)
        return f"{base}/{quote(key)}?Expires={end}&Signature={signature}&Key-Pair-Id=K1"

    def get(self, request: Request) -> Answer:
        if FOREIGN & set(request.headers):
            return error(400, "InvalidArgument", "A header that is not the storage's.")
        key = unquote(request.path[1:])
        params = {name: values[0] for name, values in parse_qs(request.query).items()}
        end = params.get("Expires", "0")
        if params.get("Signature") != self._sign(key + end):
            return error(403, "AccessDenied", "Access denied")
        if float(end) < self._now():
            return error(403, "AccessDenied", "Request has expired")
        content = self.blobs.get(key)
        if content is None:
            return error(404, "NoSuchKey", "The specified key does not exist.")
        headers = {"ETag": self._etag(content), "Accept-Ranges": "bytes"}
        size = len(content)
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("range", ""))
        if not asked:
            return Answer(200, content, headers)
        first = int(asked[1])
        if first >= size:
            answer = error(416, "InvalidRange", "The requested range is not satisfiable")
            answer.headers["Content-Range"] = f"bytes */{size}"
            return answer
        last = min(int(asked[2]) if asked[2] else size - 1, size - 1)
        headers["Content-Range"] = f"bytes {first}-{last}/{size}"
        return Answer(206, content[first : last + 1], headers)
