"""An app of CometChat on one port of this machine, strict about what it is asked.

app = CometChat().start()    # in a thread; `app.origin` is where it is
app.faults.append(CometFault("message", status=500))
app.stop()
"""

from __future__ import annotations

import json
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, ClassVar
from urllib.parse import unquote, urlsplit

sys.path.append(str(Path(__file__).parent.parent / "pubnub"))

from faults import Fault  # noqa: E402
from http11 import Answer, Request  # noqa: E402
from media import Media  # noqa: E402
from running import Running, routes  # noqa: E402
from storage import error as storage_error  # noqa: E402

ROUTES = [
    "settings", "presign", "upload", "message", "history", "get", "delete", "thread", "media",
]  # fmt: skip
KINDS = ("image", "video", "audio", "file")
ATTACHMENT = {"url", "name", "mimeType", "extension", "size"}
MAX_DATA = 10 << 10


@dataclass
class CometFault(Fault):
    """Of this service's routes; `expire` makes a form or an address out of date."""

    routes: ClassVar[list[str]] = ROUTES


class Refused(Exception):
    def __init__(self, status: int, code: str, message: str = "refused") -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


class CometChat(Running):
    """One app with the users alice, bob and carol, of whom alice asks, and the group team."""

    def __init__(self) -> None:
        super().__init__()
        self.app_id = "app1"
        self.token = "alice-token"
        self.api_key = "rest-key"
        self.user = "alice"
        self.users = {"alice", "bob", "carol"}
        self.groups = {"team": {"alice", "bob"}, "others": {"bob"}}
        self.settings: dict[str, Any] = {"file.size.max": 104_857_600, "file.count.max": 10}
        self.presigns = True  # Media URL Access is by signed URLs
        self.wraps = True  # answers to presigning are below `data`
        self.refuse: Callable[[dict[str, Any]], tuple[str, str] | None] = lambda file: None
        self.media = Media()
        self.messages: list[dict[str, Any]] = []
        self.slots: dict[str, dict[str, Any]] = {}  # by key: what was presigned
        self.active = 0  # forms being taken
        self.most_active = 0
        self._last_id = 100
        table = [
            ("GET", "*/settings", "settings", self._settings),
            ("POST", "*/files/upload-url", "presign", self._presign),
            ("POST", "*/messages", "message", self._send),
            ("POST", "*/messages/*/thread", "message", self._send),
            ("GET", "*/messages/*/thread", "thread", self._thread_page),
            ("GET", "*/users/*/messages", "history", self._history),
            ("GET", "*/groups/*/messages", "history", self._history),
            ("GET", "*/messages/*", "get", self._get),
            ("DELETE", "*/messages/*", "delete", self._delete),
            ("POST", "storage", "upload", None),
            ("GET", f"{self.app_id}/media/*", "media", None),
        ]
        self._routes = routes(table)

    # Looked at by tests

    def names(self, message: dict[str, Any]) -> list[str]:
        return [a["name"] for a in message["data"]["attachments"]]

    def add(self, receiver: str, kind: str = "user", sender: str = "bob", **data: Any) -> int:
        """A message from outside, as another client would send it."""
        type_ = "text" if "attachments" not in data else "file"
        return int(self._keep(sender, receiver, kind, type_, data, {})["id"])

    @staticmethod
    def broken() -> Answer:
        return storage_error(500, "InternalError", "We encountered an internal error.")

    # Answering

    async def _handle(self, request: Request) -> Answer:
        path = request.path.split("/")[1:]
        route, action = self._route(request, path)
        params = dict(p.partition("=")[::2] for p in request.query.split("&") if p)
        self._note(route, request, params)
        fault = self._fault(route)

        async def perform() -> Answer:
            if route in ("upload", "media"):
                if fault and fault.expire:
                    return storage_error(403, "AccessDenied", "Policy expired or request expired.")
                store = self.media.upload if route == "upload" else self.media.get
                return store(request)
            return self._perform(request, action, path, params)

        if route == "upload":
            self.active += 1
            self.most_active = max(self.most_active, self.active)
        try:
            return await fault.apply(perform) if fault else await perform()
        finally:
            if route == "upload":
                self.active -= 1

    def _perform(
        self, request: Request, action: Any, path: list[str], params: dict[str, str]
    ) -> Answer:
        try:
            if action is None:
                raise Refused(404, "ERR_API_NOT_FOUND", f"{request.method} {request.path}")
            self._authenticate(request.headers, path[0])
            body: dict[str, Any] = {}
            if request.body:
                if request.headers.get("content-type") != "application/json":
                    raise Refused(400, "ERR_BAD_REQUEST", "no JSON")
                body = json.loads(request.body)
            answer = action(path[1:], params, body)
            return reply({"data": answer} if self.wraps else answer)
        except Refused as refused:
            error = {"code": refused.code, "message": refused.message, "details": {}}
            return reply({"error": error}, refused.status)

    def _authenticate(self, headers: dict[str, str], version: str) -> None:
        if version == "v3.0":  # what users' apps ask
            if headers.get("appid") != self.app_id:
                raise Refused(401, "AUTH_ERR_INVALID_APPID", "wrong app")
            if headers.get("authtoken") != self.token or not headers.get("sdk"):
                raise Refused(401, "AUTH_ERR_AUTH_TOKEN_NOT_FOUND", "wrong token")
        elif version == "v3":  # what servers ask
            if headers.get("apikey") != self.api_key:
                raise Refused(401, "AUTH_ERR_APIKEY_NOT_FOUND", "wrong key")
            if headers.get("onbehalfof") != self.user:
                raise Refused(400, "ERR_UID_NOT_FOUND", "nobody is asked for")
        else:
            raise Refused(404, "ERR_API_NOT_FOUND", "no such version")

    def _settings(self, path: list[str], params: dict[str, str], body: dict[str, Any]) -> Any:
        return {"settings": self.settings, "region": "us"}

    def _reach(self, receiver: Any, kind: Any) -> None:
        if kind == "user":
            if receiver not in self.users:
                raise Refused(404, "ERR_UID_NOT_FOUND", f"no user {receiver}")
        elif kind == "group":
            if receiver not in self.groups:
                raise Refused(404, "ERR_GUID_NOT_FOUND", f"no group {receiver}")
            if self.user not in self.groups[receiver]:
                raise Refused(403, "ERR_NOT_A_MEMBER", "not a member of the group")
        else:
            raise Refused(400, "ERR_INVALID_RECEIVER_TYPE", f"{kind}")

    # Files

    def _presign(self, path: list[str], params: dict[str, str], body: dict[str, Any]) -> Any:
        if not self.presigns:
            raise Refused(400, "ERR_PRESIGNED_URL_DISABLED", "Presigned URLs are disabled here.")
        files = body.pop("files", None)
        receiver, kind = body.pop("receiver", None), body.pop("receiverType", None)
        parent = body.pop("parentId", None)
        if body or not isinstance(files, dict) or not files:
            raise Refused(400, "ERR_BAD_REQUEST", f"not understood: {body}")
        self._reach(receiver, kind)
        if parent is not None:
            self._parent(parent, receiver, kind)
        return {name: self._place(name, file) for name, file in files.items()}

    def _place(self, file_id: str, file: dict[str, Any]) -> dict[str, Any]:
        if set(file) != {"fileId", "name", "size", "mimeType"} or file["fileId"] != file_id:
            return {"code": "ERR_BAD_REQUEST", "message": f"not understood: {sorted(file)}"}
        if not isinstance(file["size"], int) or file["size"] < 1:
            return {"code": "ERR_BAD_REQUEST", "message": "size"}
        if file["size"] > self.settings.get("file.size.max", 104_857_600):
            return {"code": "ERR_FILE_SIZE_EXCEEDED", "message": "too large"}
        if refusal := self.refuse(file):
            return {"code": refusal[0], "message": refusal[1]}
        key = f"{self.app_id}/media/{uuid.uuid4().hex}_{file['name']}"
        self.slots[key] = file
        _, dot, extension = file["name"].rpartition(".")
        attachment = {
            "url": self.media.url(self.origin, key),
            "name": file["name"],
            "extension": extension if dot else "",
            "mimeType": file["mimeType"],
            "size": file["size"],
        }
        return {
            "request": self.media.slot(self.origin, key, file["size"]), "attachment": attachment,
        }  # fmt: skip

    # Messages

    def _parent(self, parent: Any, receiver: str, kind: str) -> None:
        found = next((m for m in self.messages if m["id"] == str(parent)), None)
        if found is None:
            raise Refused(404, "ERR_MESSAGE_ID_NOT_FOUND", f"no message {parent}")
        if "parentId" in found:
            raise Refused(400, "ERR_MESSAGE_THREAD_NESTING", "a reply cannot be answered")
        if found["conversationId"] != self._conversation(self.user, receiver, kind):
            raise Refused(400, "ERR_WRONG_MESSAGE_THREAD", "of another conversation")

    def _send(self, path: list[str], params: dict[str, str], body: dict[str, Any]) -> Any:
        data = body.get("data")
        if isinstance(data, str):
            data = json.loads(data)
        allowed = {"receiver", "receiverType", "category", "type", "data", "muid", "tags"}
        if set(body) - allowed - {"parentId"} or body.get("category") != "message":
            raise Refused(400, "ERR_BAD_REQUEST", f"not understood: {sorted(body)}")
        self._reach(body.get("receiver"), body.get("receiverType"))
        in_thread = len(path) == 3
        if in_thread != ("parentId" in body) or (in_thread and path[1] != str(body["parentId"])):
            raise Refused(400, "ERR_BAD_REQUEST", "the thread and parentId differ")
        if in_thread:
            self._parent(body["parentId"], body["receiver"], body["receiverType"])
        self._check(body, data)
        extra = {k: body[k] for k in ("muid", "tags", "parentId") if k in body}
        kept = self._keep(
            self.user, body["receiver"], body["receiverType"], body["type"], data, extra
        )
        return self._shown(kept)

    def _check(self, body: dict[str, Any], data: Any) -> None:
        if not isinstance(data, dict) or set(data) - {"text", "metadata", "attachments"}:
            raise Refused(400, "ERR_INVALID_MESSAGE_DATA", "data")
        if len(json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode()) > MAX_DATA:
            raise Refused(413, "ERR_INVALID_MESSAGE_DATA", "data is longer than 10 KB")
        tags = body.get("tags", [])
        if len(tags) > 25 or any(not 1 <= len(tag) <= 100 for tag in tags):
            raise Refused(400, "ERR_BAD_REQUEST", "tags")
        attachments = data.get("attachments")
        if body.get("type") not in KINDS or not attachments:
            raise Refused(400, "ERR_INVALID_MEDIA_MESSAGE", "no media")
        if len(attachments) > self.settings.get("file.count.max", 10):
            raise Refused(400, "ERR_FILE_COUNT_EXCEEDED", "too many files")
        for attachment in attachments:
            key = unquote(urlsplit(attachment.get("url", "")).path[1:])
            slot = self.slots.get(key)
            if slot is None or key not in self.media.blobs:
                raise Refused(400, "ERR_EMPTY_MESSAGE_FILE", "an attachment is not uploaded")
            if set(attachment) != ATTACHMENT or attachment["size"] != slot["size"]:
                raise Refused(400, "ERR_INVALID_MEDIA_MESSAGE", f"{sorted(attachment)}")

    def _conversation(self, sender: str, receiver: str, kind: str) -> str:
        return f"group_{receiver}" if kind == "group" else "_user_".join(sorted([sender, receiver]))

    def _keep(
        self, sender: str, receiver: str, kind: str, type_: str, data: Any, extra: dict[str, Any]
    ) -> dict[str, Any]:
        self._last_id += 1
        message = {
            "id": str(self._last_id),
            "conversationId": self._conversation(sender, receiver, kind),
            "sender": sender,
            "receiver": receiver,
            "receiverType": kind,
            "category": "message",
            "type": type_,
            "data": data,
            "sentAt": int(time.time()),
            **extra,
        }
        self.messages.append(message)
        return message

    def _shown(self, message: dict[str, Any]) -> dict[str, Any]:
        """With addresses that are signed anew."""
        data = dict(message["data"])
        if "attachments" in data:
            data["attachments"] = [self._signed(a) for a in data["attachments"]]
        return {**message, "data": data}

    def _signed(self, attachment: dict[str, Any]) -> dict[str, Any]:
        key = unquote(urlsplit(attachment["url"]).path[1:])
        if key not in self.slots:
            return attachment
        return {**attachment, "url": self.media.url(self.origin, key)}

    def _find(self, message_id: str) -> dict[str, Any]:
        for message in self.messages:
            if message["id"] == message_id:
                return message
        raise Refused(404, "ERR_MESSAGE_ID_NOT_FOUND", f"no message {message_id}")

    def _get(self, path: list[str], params: dict[str, str], body: dict[str, Any]) -> Any:
        return self._shown(self._find(path[1]))

    def _delete(self, path: list[str], params: dict[str, str], body: dict[str, Any]) -> Any:
        message = self._find(path[1])
        if message["sender"] != self.user:
            raise Refused(403, "ERR_MESSAGE_NOT_A_SENDER", "not its sender")
        message["deletedAt"] = int(time.time())
        return {"category": "action", "type": "message", "id": "999999"}

    def _history(self, path: list[str], params: dict[str, str], body: dict[str, Any]) -> Any:
        kind = path[0].removesuffix("s")
        self._reach(path[1], kind)
        where = self._conversation(self.user, path[1], kind)
        return self._page(
            [m for m in self.messages if m["conversationId"] == where and "parentId" not in m],
            params,
        )

    def _thread_page(self, path: list[str], params: dict[str, str], body: dict[str, Any]) -> Any:
        return self._page([m for m in self.messages if str(m.get("parentId")) == path[1]], params)

    def _page(self, messages: list[dict[str, Any]], params: dict[str, str]) -> Any:
        limit = int(params.get("limit", "10"))
        if not 1 <= limit <= 100 or params.get("affix", "prepend") != "prepend":
            raise Refused(400, "ERR_BAD_REQUEST", "limit or affix")
        before = int(params.get("id", str(1 << 62)))
        older = [m for m in messages if int(m["id"]) < before]
        return [self._shown(m) for m in older[-limit:]]


def reply(body: Any, status: int = 200) -> Answer:
    return Answer(status, json.dumps(body).encode(), {"Content-Type": "application/json"})
