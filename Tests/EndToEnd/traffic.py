"""What must hold of everything a ferry process writes, whatever the test is about."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from contract import contract

TRANSFER_METHODS = {"file/send", "file/download", "object/put", "object/get"}
TERMINALS = {"uploaded", "downloaded", "error", "failure", "cancelled"}
SILENT = {"batch/remove", "batch/clear", "transfer/cancel"}


class TransferLog:
    """The notifications of one transfer, held to the grammar
    `started (progress | paused | resumed)* terminal`, again per attempt.

    A queued transfer may pause too, so `paused` and `resumed` may come before the first `started`;
    a rejected or cancelled one may end without having started.
    """

    def __init__(self, transfer_id: str) -> None:
        self.id = transfer_id
        self.attempt = 0
        self.running = False
        self.paused = False
        self.ended: str | None = None
        self.loaded = 0
        self.total: int | None = None
        self.saw_progress = False
        self.batch: str | None = None

    def take(self, name: str, params: dict[str, Any], retried: bool) -> None:
        where = f"{name} of {self.id}: {params}"
        if self.ended:
            may = self.ended == "failure" and retried and name in ("started", "paused", "cancelled")
            assert may, f"after {self.ended}, without a retry: {where}"
            self.ended = None
            self.running = False
        if name == "started":
            assert not self.running, f"started twice: {where}"
            # The first one seen may follow attempts of earlier processes.
            is_next = params["attempt"] == self.attempt + 1 or self.attempt == 0
            assert is_next, f"attempt is not the next: {where}"
            self.attempt = params["attempt"]
            self.running, self.loaded, self.saw_progress = True, 0, False
            self.total = params["total"]
        elif name == "progress":
            assert self.running and not self.paused, f"progress while not running: {where}"
            assert params["attempt"] == self.attempt, f"progress of another attempt: {where}"
            assert params["loaded"] >= self.loaded, f"loaded fell from {self.loaded}: {where}"
            self.loaded, self.total, self.saw_progress = params["loaded"], params["total"], True
            if self.total is None:
                assert params["percent"] is None, f"percent of an unknown total: {where}"
            else:
                assert self.loaded <= self.total, f"more than the total: {where}"
                exact = 100 if self.total == 0 else self.loaded * 100 / self.total
                assert exact - 1.01 < params["percent"] <= exact, f"percent is {exact}: {where}"
        elif name == "paused":
            assert not self.paused, f"paused twice: {where}"
            self.paused = True
        elif name == "resumed":
            assert self.paused, f"resumed while not paused: {where}"
            self.paused = False
        else:
            self.finish(name, where)

    def finish(self, name: str, where: str) -> None:
        self.ended = name
        self.paused = False
        if name in ("uploaded", "downloaded", "failure"):
            assert self.running, f"ended before it started: {where}"
        if name in ("uploaded", "downloaded") and self.saw_progress:
            assert self.loaded == self.total, f"the last progress was not the total: {where}"


def identity(value: Any) -> str:
    """Tells `1` from `"1"` and keeps integers of any size."""
    return json.dumps(value)


def requests_in(sent: Iterable[Any]) -> list[dict[str, Any]]:
    """Every request among what was sent, batch arrays opened."""
    flat = (m for message in sent for m in (message if isinstance(message, list) else [message]))
    return [
        m
        for m in flat
        if isinstance(m, dict) and isinstance(m.get("method"), str) and is_id(m.get("id"))
    ]


def named_in(requests: list[dict[str, Any]], method: str) -> set[Any]:
    """The transferIds that requests of a method named."""
    return {params_of(r).get("transferId") for r in requests if r["method"] == method}


def params_of(request: dict[str, Any]) -> dict[str, Any]:
    """The params by name; none where they are of another kind."""
    params = request.get("params")
    return params if isinstance(params, dict) else {}


def is_id(value: Any) -> bool:
    return isinstance(value, (int, str)) and not isinstance(value, bool)


def check(sent: list[Any], received: list[Any], all_answered: bool) -> None:
    """Fails on the first message that breaks the contract.

    `sent` and `received` are parsed messages in order; `all_answered` is false where the process
    was killed or lost its reader.
    """
    requests = requests_in(sent)
    by_id: dict[str, list[dict[str, Any]]] = {}
    for request in requests:
        by_id.setdefault(identity(request["id"]), []).append(request)
    retried = named_in(requests, "transfer/retry")
    forgotten = named_in(requests, "transfer/forget")
    replies: dict[str, int] = {}
    logs: dict[str, TransferLog] = {}
    order = Order(requests)
    last_seq = 0
    for message in received:
        for part in message if isinstance(message, list) else [message]:
            assert part.get("jsonrpc") == "2.0", f"no jsonrpc member: {part}"
            if "method" in part:
                assert set(part) == {"jsonrpc", "method", "params"}, f"odd notification: {part}"
                name, params = part["method"], part["params"]
                contract().check_notification(name, params)
                assert params["seq"] > last_seq, f"seq did not rise over {last_seq}: {part}"
                last_seq = params["seq"]
                if "transferId" in params:
                    key = params["transferId"]
                    log = logs.setdefault(key, TransferLog(key))
                    if log.ended and key in forgotten and params.get("attempt", 1) == 1:
                        log = logs[key] = TransferLog(key)  # the id is used again
                    if not order.opted_out:
                        log.batch = params.get("batchId")
                        log.take(name, params, key in retried or log.batch is not None)
                    order.event(name, params)
            else:
                check_reply(part, by_id, replies)
                order.reply(part)
    if all_answered:
        missing = [r for key, rs in by_id.items() if key not in replies for r in rs]
        assert not missing, f"never answered: {missing[:3]}"
        # A file that is removed from its batch ends without an event.
        silent = any(r["method"] in SILENT for r in requests)
        open_ones = [
            g.id
            for g in logs.values()
            if g.running and not g.ended and not g.paused and not (silent and g.batch)
        ]
        assert not open_ones, f"started and never ended: {open_ones}"


def check_reply(
    reply: dict[str, Any], by_id: dict[str, list[dict[str, Any]]], replies: dict[str, int]
) -> None:
    has_result = "result" in reply
    expected = {"jsonrpc", "id", "result" if has_result else "error"}
    assert set(reply) == expected, f"a reply holds exactly {expected}: {reply}"
    if not has_result:
        contract().check_error(reply["error"])
    if reply["id"] is None:
        assert not has_result, f"a result for nobody: {reply}"
        return
    key = identity(reply["id"])
    replies[key] = replies.get(key, 0) + 1
    if key not in by_id:
        # Not a request after all (its method is no string, say), yet its id could be read.
        assert not has_result, f"a result nobody asked for: {reply}"
        return
    assert replies[key] <= len(by_id[key]), f"answered twice: {reply}"
    if has_result:
        methods = {r["method"] for r in by_id[key]}
        if len(methods) == 1:
            contract().check_result(methods.pop(), reply["result"])


class Order:
    """Not detached: the terminal notification, then the reply with the same error.
    Detached: the reply first."""

    def __init__(self, requests: list[dict[str, Any]]) -> None:
        self.opted_out = any("optOutNotifications" in params_of(r) for r in requests)
        transfers = [r for r in requests if r["method"] in TRANSFER_METHODS]
        self.pending = {identity(r["id"]): params_of(r) for r in transfers}
        self.watched = not self.opted_out and len(self.pending) == len(transfers)
        self.events: dict[str, tuple[str, dict[str, Any]]] = {}

    def event(self, name: str, params: dict[str, Any]) -> None:
        self.events[params["transferId"]] = (name, params)

    def reply(self, reply: dict[str, Any]) -> None:
        params = self.pending.pop(identity(reply["id"]), None)
        if params is None or not self.watched:
            return
        if "error" in reply:
            key = reply["error"].get("data", {}).get("transferId")
            name, event = self.events.get(key, ("", {}))
            if name in TERMINALS and event.get("error", {}).get("code") == reply["error"]["code"]:
                assert event["error"] == reply["error"], f"event and reply differ: {event} {reply}"
        elif not params.get("detach"):
            key = reply["result"]["transferId"]
            name, _ = self.events.get(key, ("uploaded", {}))
            assert name in ("uploaded", "downloaded"), f"the reply came before its event: {reply}"
