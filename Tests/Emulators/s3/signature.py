"""AWS Signature Version 4 as a server checks it, from the bytes that came and nothing else."""

from __future__ import annotations

import calendar
import hashlib
import hmac
import re
import time
from typing import Any
from urllib.parse import parse_qsl, quote, unquote

SKEW = 15 * 60
ALGORITHM = "AWS4-HMAC-SHA256"
UNSIGNED = "UNSIGNED-PAYLOAD"


class Refused(Exception):
    """A request that is not carried out: status, code, more elements of the answer."""

    def __init__(self, status: int, code: str, message: str = "", **elements: str) -> None:
        super().__init__(code)
        self.status = status
        self.code = code
        self.message = message
        self.elements = elements


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def check(request: Any, server: Any) -> None:
    """Refuses a request that is not signed as it was sent, by somebody the server knows, now."""
    if "X-Amz-Signature=" in request.query:
        check_query(request, server)
    else:
        check_headers(request, server)


def check_headers(request: Any, server: Any) -> None:
    text = request.headers.get("authorization")
    if text is None:
        raise Refused(403, "AccessDenied", "nobody is nobody")
    found = re.fullmatch(
        ALGORITHM + r" Credential=([^,]+), SignedHeaders=([^,]+), Signature=([0-9a-f]{64})", text
    )
    if not found:
        raise Refused(400, "AuthorizationHeaderMalformed", text)
    scope, signed, signature = found.groups()
    stamp = request.headers.get("x-amz-date", "")
    secret = check_scope(scope, stamp, server, request.headers.get("x-amz-security-token"))
    names = signed.split(";")
    needed = {n for n in request.headers if n.startswith("x-amz-")} | {"host"}
    needed |= {n for n in ("content-md5", "content-type") if n in request.headers}
    if names != sorted(names) or not needed <= set(names):
        raise Refused(403, "AccessDenied", f"not signed: {needed - set(names)}")
    payload = request.headers.get("x-amz-content-sha256", "")
    if payload != UNSIGNED and not re.fullmatch("[0-9a-f]{64}", payload):
        raise Refused(400, "InvalidArgument", "x-amz-content-sha256")
    if abs(epoch(stamp) - server.now()) > SKEW:
        raise Refused(403, "RequestTimeTooSkewed")
    canonical_query = canonical(request.query)
    if canonical_query != request.query:
        raise Refused(403, "SignatureDoesNotMatch", "the query is not sent as it is signed")
    compare(request, names, request.query, payload, scope, stamp, secret, signature)


def check_query(request: Any, server: Any) -> None:
    values = dict(parse_qsl(request.query, keep_blank_values=True))
    scope, stamp = values["X-Amz-Credential"], values["X-Amz-Date"]
    secret = check_scope(scope, stamp, server, values.get("X-Amz-Security-Token"))
    seconds = int(values["X-Amz-Expires"])
    if not 0 < seconds <= 604_800:
        raise Refused(400, "AuthorizationQueryParametersError")
    if server.now() > epoch(stamp) + seconds:
        raise Refused(403, "AccessDenied", "Request has expired")
    names = values["X-Amz-SignedHeaders"].split(";")
    if any(n.startswith("x-amz-") and n not in names for n in request.headers):
        raise Refused(403, "AccessDenied", "a header was not signed")
    query, _, signature = request.query.rpartition("&X-Amz-Signature=")
    compare(request, names, canonical(query), UNSIGNED, scope, stamp, secret, signature)


def check_scope(scope: str, stamp: str, server: Any, token: str | None) -> str:
    parts = scope.split("/")
    if len(parts) != 5 or parts[3:] != ["s3", "aws4_request"] or parts[1] != stamp[:8]:
        raise Refused(400, "AuthorizationHeaderMalformed", scope)
    if parts[0] not in server.keys:
        raise Refused(403, "InvalidAccessKeyId", f"{parts[0]} is unknown")
    secret: str
    secret, wanted = server.keys[parts[0]]
    if wanted != token:
        raise Refused(400, "ExpiredToken" if wanted is not None else "InvalidToken")
    if parts[2] != server.region:
        raise Refused(400, "AuthorizationHeaderMalformed", Region=server.region)
    return secret


def canonical(query: str) -> str:
    pairs = []
    for item in query.split("&") if query else []:
        name, _, value = item.partition("=")
        pairs.append((quote(unquote(name), safe="-_.~"), quote(unquote(value), safe="-_.~")))
    return "&".join(f"{name}={value}" for name, value in sorted(pairs))


def compare(
    request: Any,
    names: list[str],
    query: str,
    payload: str,
    scope: str,
    stamp: str,
    secret: str,
    signature: str,
) -> None:
    lines = [request.method, request.path, query]
    lines += [f"{name}:{' '.join(request.headers.get(name, '').split())}" for name in names]
    lines += ["", ";".join(names), payload]
    scope = scope.partition("/")[2]
    text = "\n".join([ALGORITHM, stamp, scope, sha256("\n".join(lines).encode())])
    key = f"AWS4{secret}".encode()
    for step in scope.split("/"):
        key = hmac.digest(key, step.encode(), "sha256")
    if hmac.digest(key, text.encode(), "sha256").hex() != signature:
        raise Refused(403, "SignatureDoesNotMatch", f"signed: {text}")


def epoch(stamp: str) -> float:
    try:
        return calendar.timegm(time.strptime(stamp, "%Y%m%dT%H%M%SZ"))
    except ValueError:
        raise Refused(403, "AccessDenied", "x-amz-date") from None
