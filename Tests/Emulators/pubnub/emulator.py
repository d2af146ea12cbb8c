"""PubNub's files, messages and storage on one port of this machine, strict about what it is asked.

emulator = Emulator()
emulator.start()          # in a thread; `emulator.origin` is where it is
emulator.faults.append(Fault("publish", times=2, status=500))
emulator.stop()
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from typing import Any
from urllib.parse import unquote

from auth import Access, manager
from channels import (
    REGION,
    Channels,
    Message,
    custom_type_is_valid,
    entry,
    envelope,
    json_bytes,
    matcher,
)
from faults import Fault
from http11 import Answer, Request
from running import Running, routes
from storage import Storage
from storage import error as storage_error

BAD_IN_CHANNELS = set(",/\\*: ")
MAX_URL = 32 << 10


class Emulator(Running):
    """One keyset. Everything may be looked at and changed while it runs."""

    def __init__(self, sub_key: str = "demo", pub_key: str = "demo", hold: float = 280.0) -> None:
        super().__init__()
        self.sub_key = sub_key
        self.pub_key = pub_key
        self.hold = hold  # how long a poll is held
        self.access = Access(publish_key=pub_key)
        self.storage = Storage(sub_key)
        self.channels = Channels()
        self.files: dict[str, tuple[str, str]] = {}  # id: channel, name
        table = [
            ("POST", "v1/files/*/channels/*/generate-upload-url", "slot", self._slot),
            ("GET", "v1/files/publish-file/*/*/0/*/0/*", "publish", self._publish_file),
            ("GET", "v1/files/*/channels/*/files", "list", self._list),
            ("GET", "v1/files/*/channels/*/files/*/*", "locate", self._locate),
            ("DELETE", "v1/files/*/channels/*/files/*/*", "delete", self._delete),
            ("GET", "v2/subscribe/*/*/0", "subscribe", self._subscribe),
            ("GET", "v3/history/sub-key/*/channel/*", "history", self._history),
            ("DELETE", "v3/history/sub-key/*/channel/*", "history-delete", self._history_delete),
            ("GET", "publish/*/*/0/*/0/*", "message", self._publish),
            ("GET", "v2/presence/sub-key/*/channel/*/heartbeat", "presence", self._presence),
            ("GET", "v2/presence/sub-key/*/channel/*/leave", "presence", self._presence),
            ("GET", "v1/channel-registration/sub-key/*/channel-group/*", "group", self._group),
            ("GET", "time/0", "time", self._time),
            ("POST", "", "upload", None),
            ("GET", f"{sub_key}/*/*/*", "blob", None),
        ]
        self._routes = routes(table)
        self._rename: str | None = None
        self._expire = False

    def publish(self, channel: str, payload: Any, kind: int = 0, **more: Any) -> int:
        """Publishes from outside, as another client would."""

        async def do() -> int:
            publisher = more.pop("publisher", "other")
            tt = self.channels.tick()
            return self.channels.publish(Message(channel, tt, payload, kind, publisher, **more))

        return int(self.call(do()))

    # Answering

    async def _handle(self, request: Request) -> Answer:
        if request.path == "/_faults":
            return self._control(request)
        segments = request.path.split("/")[1:]
        route, action = self._route(request, segments)
        params = {}
        for item in request.query.split("&") if request.query else []:
            name, _, value = item.partition("=")
            params[unquote(name)] = unquote(value)
        self._note(route, request, params)
        fault = self._fault(route)
        self._rename = fault.rename if fault else None
        self._expire = fault.expire if fault else False

        async def perform() -> Answer:
            return await self._perform(request, route, action, segments, params)

        return await fault.apply(perform) if fault else await perform()

    def _control(self, request: Request) -> Answer:
        """Faults by HTTP, for hosts in other languages: a list of them replaces those there are."""
        self.faults[:] = [Fault(**item) for item in json.loads(request.body or b"[]")]
        return Answer(204)

    async def _perform(
        self, request: Request, route: str, action: Any, path: list[str], params: dict[str, str]
    ) -> Answer:
        if route == "upload":
            if self._expire:
                return denied("Invalid according to Policy: Policy expired.")
            return self.storage.upload(request)
        if route == "blob":
            if self._expire:
                return denied("Request has expired")
            return self.storage.get(request)
        if action is None:
            return files_error(404, "no such route: " + request.method + " " + request.path, 3000)
        if len(request.target) > (MAX_URL if route == "subscribe" else 64 << 10):
            body = {"message": "Request URI Too Long", "error": True, "service": "Balancer"}
            return reply({**body, "status": 414}, 414)
        if route != "time" and not params.get("uuid"):
            return files_error(400, "uuid is missing", 3001)
        if "+" in request.query:
            return files_error(400, "a space is %20", 3001)
        keys = {"publish": path[4:5], "message": path[2:3], "time": [self.sub_key]}
        place = 3 if "sub-key" in path else 2
        key = unquote(keys.get(route, path[place : place + 1])[0])
        if key != self.sub_key:
            return manager("Invalid Subscribe Key", 400, [])
        answer = await action(request, path, params)
        assert isinstance(answer, Answer)
        return answer

    # Files

    async def _slot(self, request: Request, path: list[str], params: dict[str, str]) -> Answer:
        channel = unquote(path[4])
        if refusal := self.access.refusal(request, params, [channel], "w"):
            return refusal
        if not channel or BAD_IN_CHANNELS & set(channel):
            return files_error(400, "[channel] contains invalid characters", 3001)
        try:
            body = json.loads(request.body)
        except ValueError:
            return manager("Could Not Parse Request", 400, [])
        name = body.get("name") if isinstance(body, dict) else None
        if not name or not isinstance(name, str) or set(body) != {"name"}:
            return files_error(400, "[name] is required, and nothing else", 3001)
        name = self._rename or name
        file_id = str(uuid.uuid4())
        form = self.storage.slot(self.origin, channel, file_id, name)
        data = {"id": file_id, "name": name}
        return reply({"status": 200, "data": data, "file_upload_request": form})

    async def _list(self, request: Request, path: list[str], params: dict[str, str]) -> Answer:
        channel = unquote(path[4])
        if refusal := self.access.refusal(request, params, [channel], "r"):
            return refusal
        limit = params.get("limit", "100")
        if not limit.isdigit() or not 1 <= int(limit) <= 100:
            message = "Invalid limit parameter. Limit must be an integer between 1 and 100 "
            return files_error(400, message + "(inclusive).", 3001)
        start = params.get("next", "1_0")
        if not start.startswith("1_"):
            return files_error(400, "Invalid next parameter.", 3001)
        first = int(start[2:])
        prefix = self.storage.key(channel, "", "").rstrip("/") + "/"
        found = [k for k in self.storage.blobs if k.startswith(prefix)]
        page = found[first : first + int(limit)]
        data = []
        for key in page:
            _, _, file_id, name = key.split("/", 3)
            blob = self.storage.blobs[key]
            data.append(
                {"name": name, "id": file_id, "size": len(blob.body), "created": iso(blob.created)}
            )
        following = f"1_{first + len(page)}" if len(page) == int(limit) else None
        return reply({"status": 200, "data": data, "next": following, "count": len(data)})

    async def _locate(self, request: Request, path: list[str], params: dict[str, str]) -> Answer:
        channel, file_id, name = unquote(path[4]), unquote(path[6]), unquote(path[7])
        if refusal := self.access.refusal(request, params, [channel], "r"):
            return refusal
        location = self.origin + self.storage.signed_path(self.storage.key(channel, file_id, name))
        headers = {"Location": location, "Cache-Control": "public, max-age=300, immutable"}
        return Answer(307, headers=headers)

    async def _delete(self, request: Request, path: list[str], params: dict[str, str]) -> Answer:
        channel, file_id, name = unquote(path[4]), unquote(path[6]), unquote(path[7])
        if refusal := self.access.refusal(request, params, [channel], "d"):
            return refusal
        self.storage.blobs.pop(self.storage.key(channel, file_id, name), None)
        return reply({"status": 200})

    # Messages

    async def _publish_file(
        self, request: Request, path: list[str], params: dict[str, str]
    ) -> Answer:
        return self._take(request, path[3], path[6], path[8], params, 4)

    async def _publish(self, request: Request, path: list[str], params: dict[str, str]) -> Answer:
        return self._take(request, path[1], path[4], path[6], params, 0)

    def _take(
        self,
        request: Request,
        key: str,
        raw_channel: str,
        raw_message: str,
        params: dict[str, str],
        kind: int,
    ) -> Answer:
        channel = unquote(raw_channel)
        tt = self.channels.tick()

        def refused(text: str) -> Answer:
            return reply([0, text, str(tt)], 400, "text/javascript")

        if refusal := self.access.refusal(request, params, [channel], "w"):
            return refusal
        if unquote(key) != self.pub_key:
            return refused("Invalid Key")
        if len(request.target) > MAX_URL:
            return refused("Message Too Large")
        custom = params.get("custom_message_type")
        if custom is not None and not custom_type_is_valid(custom):
            return files_error(400, "custom_message_type is invalid", 3001)
        try:
            payload = json.loads(unquote(raw_message, errors="strict"))
            meta = json.loads(params["meta"]) if params.get("meta") else None
        except ValueError:
            return refused("Invalid JSON")
        self.channels.publish(
            Message(
                channel,
                tt,
                payload,
                kind,
                params["uuid"],
                meta,
                custom,
                params.get("store", "1") != "0",
            )
        )
        return reply([1, "Sent", str(tt)], 200, "text/javascript")

    async def _subscribe(self, request: Request, path: list[str], params: dict[str, str]) -> Answer:
        names = [unquote(name) for name in path[3].split(",") if name]
        groups = [name for name in params.get("channel-group", "").split(",") if name]
        if refusal := self.access.refusal(request, params, names, "r"):
            return refusal
        if unknown := [g for g in groups if g not in self.channels.groups]:
            return manager(f"Channel group or groups do not exist: {unknown}", 403, [])
        try:
            match = matcher(params.get("filter-expr"))
        except ValueError:
            return reply({"status": 481, "error": True, "message": "malformed filter"}, 481)
        tt = int(params.get("tt") or "0")
        if tt == 0:
            return self._cursor(self.channels.tick(), [])
        loop = asyncio.get_running_loop()
        end = loop.time() + self.hold
        while True:
            found = self.channels.after(tt, names, groups, match)
            if found or loop.time() >= end:
                messages = [envelope(m, by, self.sub_key) for m, by in found]
                last = found[-1][0].tt if found else max(tt, self.channels.tick())
                return self._cursor(last, messages)
            await self.channels.wait(end - loop.time())

    def _cursor(self, tt: int, messages: list[dict[str, Any]]) -> Answer:
        body = {"t": {"t": str(tt), "r": REGION}, "m": messages}
        return reply(body, 200, 'text/javascript; charset="UTF-8"')

    async def _history(self, request: Request, path: list[str], params: dict[str, str]) -> Answer:
        channel = unquote(path[5])
        if refusal := self.access.refusal(request, params, [channel], "r"):
            return refusal

        def number(name: str) -> int | None:
            return int(params[name]) if params.get(name) else None

        try:
            limit, start, end = number("max") or 100, number("start"), number("end")
        except ValueError as wrong:
            return history_error(f"Invalid Arguments: {wrong}")
        if not 1 <= limit <= 100:
            return history_error("Invalid Arguments: max")
        page = self.channels.history(channel, limit, start, end)
        body: dict[str, Any] = {"status": 200, "error": False, "error_message": "", "channels": {}}
        if page:
            body["channels"][path[5]] = [entry(m, params) for m in page]
            if self.channels.history(channel, 1, page[0].tt, end):
                url = f"/v3/history/sub-key/{self.sub_key}/channel/{path[5]}"
                body["more"] = {"url": url, "start": str(page[0].tt), "max": limit}
        return reply(body)

    async def _history_delete(
        self, request: Request, path: list[str], params: dict[str, str]
    ) -> Answer:
        channel = unquote(path[5])
        if refusal := self.access.refusal(request, params, [channel], "d"):
            return refusal
        start = int(params["start"]) if "start" in params else None
        end = int(params["end"]) if "end" in params else None
        self.channels.delete(channel, start, end)
        return reply({"status": 200, "error": False, "error_message": ""})

    async def _presence(self, request: Request, path: list[str], params: dict[str, str]) -> Answer:
        return reply({"status": 200, "message": "OK", "service": "Presence"})

    async def _group(self, request: Request, path: list[str], params: dict[str, str]) -> Answer:
        group = self.channels.groups.setdefault(unquote(path[5]), [])
        group += [name for name in params.get("add", "").split(",") if name and name not in group]
        for name in params.get("remove", "").split(","):
            if name in group:
                group.remove(name)
        payload = {"channels": group, "group": unquote(path[5])}
        return reply(
            {"status": 200, "payload": payload, "service": "channel-registry", "error": False}
        )

    async def _time(self, request: Request, path: list[str], params: dict[str, str]) -> Answer:
        return reply([self.channels.tick()])


def reply(body: Any, status: int = 200, kind: str = "application/json") -> Answer:
    headers = {"Content-Type": kind, "Access-Control-Allow-Origin": "*"}
    return Answer(status, json_bytes(body), headers)


def files_error(status: int, message: str, code: int) -> Answer:
    error = {"message": message, "source": "Files", "code": code}
    return reply({"status": status, "error": error}, status)


def history_error(message: str) -> Answer:
    return reply({"status": 400, "error": True, "error_message": message, "channels": {}}, 400)


def denied(message: str) -> Answer:
    return storage_error(403, "AccessDenied", message)


def iso(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
