"""Ids, order and numbers of requests; cancel in every window."""

from __future__ import annotations

import json
from typing import Any, Callable

import pytest
from files import MIB, parts, slow_upload
from sidecar import RpcError, Sidecar


def test_ten_thousand_pipelined_requests_are_answered_once_each(ferry: Sidecar) -> None:
    lines = [{"jsonrpc": "2.0", "id": i, "method": "ping"} for i in range(10_000)]
    ferry.send_raw("".join(json.dumps(line) + "\n" for line in lines).encode())
    for i in range(10_000):
        ferry.result(i)


def test_a_batch_array_waits_for_its_slowest_member(ferry: Sidecar) -> None:
    put = {"ref": "a", "stream": {"size": 1}, "transferId": "s"}
    ferry.send(
        [
            {"jsonrpc": "2.0", "id": "put", "method": "object/put", "params": put},
            {"jsonrpc": "2.0", "id": "ping", "method": "ping"},
        ]
    )
    ferry.event("started", transferId="s")
    ferry.call("stream/write", transferId="s", data="eA==")
    ferry.call("stream/close", transferId="s")
    ferry.event("uploaded", transferId="s")
    batch = ferry.next_message()
    while not isinstance(batch, list):
        batch = ferry.next_message()
    assert {m["id"] for m in batch} == {"put", "ping"}
    assert all("result" in m for m in batch)


def test_an_id_is_free_as_soon_as_it_was_answered(ferry: Sidecar) -> None:
    for _ in range(300):
        ferry.send({"jsonrpc": "2.0", "id": "same", "method": "ping"})
        ferry.result("same")


def test_an_id_twice_in_a_batch_array_is_refused(ferry: Sidecar) -> None:
    put = {"ref": "a", "stream": {"size": 0}, "transferId": "s"}
    ferry.send(
        [
            {"jsonrpc": "2.0", "id": 1, "method": "object/put", "params": put},
            {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        ]
    )
    ferry.event("started", transferId="s")
    ferry.call("stream/close", transferId="s")
    ferry.event("uploaded", transferId="s")
    batch = ferry.next_message()
    while not isinstance(batch, list):
        batch = ferry.next_message()
    assert sorted(str(m["id"]) for m in batch) == ["1", "None"]


def test_more_requests_in_flight_than_announced_are_refused(ferry: Sidecar) -> None:
    limit = ferry.call("initialize")["limits"]["maxInFlight"]
    puts = [
        b'{"jsonrpc":"2.0","id":"r%d","method":"object/put",'
        b'"params":{"ref":"a","stream":{},"transferId":"t%d"}}\n' % (i, i)
        for i in range(limit + 10)
    ]
    ferry.send_raw(b"".join(puts))
    for i in range(limit, limit + 10):
        error = ferry.reply(f"r{i}")["error"]
        assert error["data"]["code"] == "ERR_OVERLOADED" and error["data"]["retryAfterMs"] > 0
    assert ferry.call("server/stats")["requests"]["refused"] == 10
    # Cancelling overtakes even then, and makes room.
    ferry.notify("$/cancelRequest", id=f"r{limit - 1}")
    assert ferry.reply(f"r{limit - 1}")["error"]["code"] == -32800
    assert ferry.call("object/list")["items"] == []
    ferry.kill()  # the replies to all others are not worth the time


class TestCancel:
    """Before the start, in the middle, at the last byte, after the reply."""

    def check_cancelled(self, ferry: Sidecar, request: Any, transfer: str) -> None:
        event = ferry.event("cancelled", transferId=transfer, timeout=2)
        error = ferry.reply(request)["error"]
        assert error["data"]["code"] == "ERR_CANCELLED"
        assert error == event["error"]
        assert ferry.call("transfer/get", transferId=transfer)["state"] == "cancelled"
        assert parts(ferry.home) == []

    def test_before_it_starts(self, ferry: Sidecar) -> None:
        ferry.call("limits/set", concurrency=1)
        first = slow_upload(ferry, size=6 * MIB)
        second = ferry.start("object/put", ref="b", text="x", transferId="second")
        assert ferry.call("transfer/get", transferId="second")["state"] == "queued"
        ferry.notify("$/cancelRequest", id=second)
        event = ferry.event("cancelled", transferId="second", timeout=2)
        assert ferry.reply(second)["error"] == event["error"]
        ferry.result(first)
        assert ferry.error("object/metadata", ref="b").code == "ERR_NOT_FOUND"

    def test_in_the_middle_of_an_upload(self, ferry: Sidecar) -> None:
        request = slow_upload(ferry)
        ferry.notify("$/cancelRequest", id=request)
        self.check_cancelled(ferry, request, "big")
        assert ferry.error("object/metadata", ref="big").code == "ERR_NOT_FOUND"

    def test_in_the_middle_of_a_download(self, ferry: Sidecar) -> None:
        ferry.call("object/put", ref="a", text="x" * (8 * MIB))
        ferry.call("limits/set", downloadRate=MIB)
        request = ferry.start("object/get", ref="a", target="copy", transferId="get")
        ferry.event("progress", transferId="get")
        ferry.notify("$/cancelRequest", id=request)
        self.check_cancelled(ferry, request, "get")
        assert list(ferry.work.iterdir()) == []

    def test_at_the_last_byte(self, ferry: Sidecar) -> None:
        request = ferry.start("object/put", ref="a", stream={"size": 2}, transferId="s")
        ferry.event("started", transferId="s")
        ferry.call("stream/write", transferId="s", data="aGk=")
        ferry.notify("$/cancelRequest", id=request)
        self.check_cancelled(ferry, request, "s")

    def test_while_it_is_paused(self, ferry: Sidecar) -> None:
        request = slow_upload(ferry)
        ferry.call("transfer/pause", transferId="big")
        ferry.event("paused", transferId="big")
        ferry.notify("$/cancelRequest", id=request)
        self.check_cancelled(ferry, request, "big")

    def test_while_the_host_does_not_read_a_stream(self, ferry: Sidecar) -> None:
        ferry.call("object/put", ref="a", text="x" * (8 * MIB))
        request = ferry.start("object/get", ref="a", target={"stream": True}, transferId="get")
        ferry.call("stream/read", transferId="get")
        ferry.notify("$/cancelRequest", id=request)
        self.check_cancelled(ferry, request, "get")
        assert ferry.error("stream/read", transferId="get").data

    def test_a_detached_one_by_its_id(self, ferry: Sidecar) -> None:
        slow_upload(ferry, detach=True)
        # Its request was answered long ago: cancelling that is too late and does nothing.
        assert ferry.call("transfer/cancel", transferId="big")["state"] in ("running", "cancelled")
        ferry.event("cancelled", transferId="big", timeout=2)
        assert ferry.call("transfer/cancel", transferId="big")["state"] == "cancelled"

    def test_one_that_waits_for_bytes_to_read(self, ferry: Sidecar) -> None:
        ferry.call("limits/set", downloadRate=1024)
        ferry.call("object/put", ref="a", text="x" * MIB)
        request = ferry.start("object/get", ref="a", target={"stream": True}, transferId="get")
        ferry.event("started", transferId="get")
        reads = [ferry.start("stream/read", transferId="get", maxBytes=32768)]
        ferry.call("transfer/cancel", transferId="get")
        ferry.event("cancelled", transferId="get", timeout=2)
        assert ferry.reply(request)["error"]["code"] == -32800
        ferry.reply(reads[0])

    def test_racing_the_end_leaves_either_all_or_nothing(self, ferry: Sidecar) -> None:
        outcomes = set()
        for i in range(300):
            put = {"ref": f"r{i}", "text": "x" * (i * 64), "transferId": f"t{i}"}
            lines = [{"jsonrpc": "2.0", "id": f"p{i}", "method": "object/put", "params": put}]
            if i % 3:
                ferry.send(lines[0])
                if i % 3 == 2:
                    ferry.event("started", transferId=f"t{i}")
                ferry.notify("$/cancelRequest", id=f"p{i}")
            else:
                cancel = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": f"p{i}"}}
                ferry.send_raw("".join(json.dumps(m) + "\n" for m in [*lines, cancel]).encode())
            try:
                ferry.result(f"p{i}")
                done = True
            except RpcError as error:
                assert error.code == "ERR_CANCELLED"
                done = False
            outcomes.add(done)
            if done:
                ferry.call("object/metadata", ref=f"r{i}")
            else:
                assert ferry.error("object/metadata", ref=f"r{i}").code == "ERR_NOT_FOUND"
        assert False in outcomes


@pytest.mark.parametrize("alias", ["$/cancelRequest", "$/cancel_request"])
def test_cancel_overtakes_everything_queued(spawn: Callable[..., Sidecar], alias: str) -> None:
    ferry = spawn()
    request = slow_upload(ferry)
    names = [f"list-{i}" for i in range(2000)]
    flood = [{"jsonrpc": "2.0", "id": name, "method": "object/list"} for name in names]
    ferry.send_raw("".join(json.dumps(m) + "\n" for m in flood).encode())
    ferry.notify(alias, id=request)
    assert ferry.reply(request, timeout=5)["error"]["code"] == -32800
    for name in names:
        ferry.reply(name)
