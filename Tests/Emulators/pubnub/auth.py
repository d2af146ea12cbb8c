"""Who may do what: tokens of the access manager, and signatures of those with the secret key."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from http11 import Answer, Request


@dataclass
class Access:
    """`tokens` maps a token to rights (`r`, `w`, `d`) by channel, `*` for all; None: all may."""

    publish_key: str = "demo"
    secret_key: str | None = None
    tokens: dict[str, dict[str, str]] | None = None
    expired: set[str] = field(default_factory=set)
    clock: float = 0.0  # what the service's clock is ahead of this machine's

    def now(self) -> float:
        return time.time() + self.clock

    def refusal(
        self, request: Request, params: dict[str, str], channels: list[str], right: str
    ) -> Answer | None:
        """Why a request is refused; None where it is not."""
        if "signature" in params:
            return self._check_signature(request, params)
        if self.tokens is None:
            return None
        token = params.get("auth", "")
        if token in self.expired:
            return manager("Token is expired", 403, channels)
        rights = self.tokens.get(token, {})
        denied = [c for c in channels if right not in rights.get(c, rights.get("*", ""))]
        return manager("Forbidden", 403, denied) if denied else None

    def _check_signature(self, request: Request, params: dict[str, str]) -> Answer | None:
        if self.secret_key is None:
            return manager("Invalid Signature", 403, [])
        if abs(int(params.get("timestamp", "0")) - self.now()) > 60:
            return manager("Invalid Timestamp", 400, [])
        body = request.body if request.method in ("POST", "PATCH") else b""
        for variant in self._variants(request):
            text = f"{request.method}\n{self.publish_key}\n{variant}\n".encode() + body
            digest = hmac.new(self.secret_key.encode(), text, hashlib.sha256).digest()
            if params["signature"] == "v2." + base64.urlsafe_b64encode(digest).decode().rstrip("="):
                return None
        return manager("Invalid Signature", 403, [])

    def _variants(self, request: Request) -> list[str]:
        """What may have been signed: as documented, or as the Python SDK does.

        That one encodes `meta` and `custom_message_type` twice when it announces, and signs the
        path of a file with its name as it is.
        """
        pairs = [item.partition("=") for item in request.query.split("&")]
        decoded = [(unquote(n), unquote(v)) for n, _, v in pairs if n != "signature"]

        def line(twice: bool) -> str:
            values = {}
            for name, value in decoded:
                if twice and name in ("meta", "custom_message_type"):
                    value = quote(value, safe="").replace("~", "%7E")
                values[name] = quote(value, safe="").replace("~", "%7E")
            return "&".join(f"{name}={values[name]}" for name in sorted(values))

        paths = [request.path]
        if "/files/" in request.path:
            head, _, name = request.path.rpartition("/")
            paths.append(f"{head}/{unquote(name)}")
        return [f"{path}\n{line(twice)}" for path in paths for twice in (False, True)]


def manager(message: str, status: int, channels: list[str]) -> Answer:
    """The access manager's own shape of an error."""
    body = {
        "message": message,
        "payload": {"channels": channels},
        "error": True,
        "service": "Access Manager",
        "status": status,
    }
    return Answer(status, json.dumps(body).encode(), {"Content-Type": "application/json"})
