"""Lines and headers: torn, huge, deep, broken."""

from __future__ import annotations

import json
from typing import Any, Callable

import pytest
from files import MIB
from sidecar import Sidecar

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


def ping(identity: Any) -> bytes:
    message = {"jsonrpc": "2.0", "id": identity, "method": "ping"}
    return json.dumps(message, ensure_ascii=False).encode()


def test_one_byte_at_a_time(ferry: Sidecar) -> None:
    for byte in ping("a😀\u2028b") + b"\r\n\n" + ping(2) + b"\n":
        ferry.send_raw(bytes([byte]))
    assert ferry.reply("a😀\u2028b") and ferry.reply(2)


@pytest.mark.parametrize("cut", range(0, 45, 3))
def test_two_writes_cut_anywhere(ferry: Sidecar, cut: int) -> None:
    whole = ping("😀") + b"\n" + ping(2) + b"\n"
    ferry.send_raw(whole[:cut])
    ferry.send_raw(whole[cut:])
    assert ferry.reply("😀") and ferry.reply(2)


@pytest.mark.parametrize("size", [65_535, 65_536, 65_537, MIB, 15 * MIB])
def test_long_lines_are_read(ferry: Sidecar, size: int) -> None:
    text = "x" * size
    ferry.call("object/put", ref="a", text=text)
    assert ferry.call("object/metadata", ref="a")["metadata"]["size"] == size


def test_a_line_over_the_limit_is_skipped_in_flat_memory(ferry: Sidecar) -> None:
    ferry.call("ping")
    before = ferry.resident
    line = b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"'
    ferry.send_raw(line)
    for _ in range(64):
        ferry.send_raw(b"x" * MIB)
    ferry.send_raw(b'"}}\n' + ping(8) + b"\n")
    error = ferry.wait(lambda m: m.get("id", 0) is None, "the refusal")["error"]
    assert error["code"] == -32600
    assert error["data"]["code"] == "ERR_LINE_TOO_LONG"
    assert "16777216" in error["message"]
    ferry.result(8)
    assert ferry.resident - before < 24 * MIB


@pytest.mark.parametrize("depth", [129, 513, 100_000])
def test_deep_nesting_is_refused(ferry: Sidecar, depth: int) -> None:
    ferry.send_raw(b"[" * depth + b"]" * depth + b"\n" + ping(1) + b"\n")
    assert ferry.next_message()["error"]["code"] == -32700
    ferry.result(1)


def test_nothing_is_written_before_something_is_asked(ferry: Sidecar) -> None:
    ferry.close_stdin()
    assert ferry.next_message() is None
    assert bytes(ferry.raw) == b""


def test_output_escapes_what_breaks_lines_elsewhere(ferry: Sidecar) -> None:
    odd = "a\u2028b\u2029c\u0085d\x7fe/f"
    ferry.call("object/put", ref=odd, text="x")
    listed = ferry.call("object/list", ref=odd.rpartition("/")[0])
    assert [i["ref"] for i in listed["items"]] == [odd]
    output = bytes(ferry.raw).decode()
    assert not set(output) & set("\u2028\u2029\u0085\x7f\r")
    assert r"\u2028" in output and r"e/f" in output


def test_lines_stay_under_60_kib_and_lists_are_paged_by_size(ferry: Sidecar) -> None:
    names = {f"{'ä' * 100}{i:04}" for i in range(500)}
    requests = [ferry.start("object/put", ref=name, text="", progress=False) for name in names]
    for request in requests:
        ferry.result(request)
    seen: list[str] = []
    page = ferry.call("object/list", limit=1000)
    pages = 1
    while True:
        seen += [item["ref"] for item in page["items"]]
        if page["next"] is None:
            break
        page = ferry.call("object/list", limit=1000, next=page["next"])
        pages += 1
    assert seen == sorted(names, key=str.encode)
    assert pages > 1
    assert max(map(len, bytes(ferry.raw).split(b"\n"))) <= 60 * 1024


def test_a_host_can_ask_for_longer_lines(ferry: Sidecar) -> None:
    result = ferry.call("initialize", maxOutLineBytes=4 * MIB)
    assert result["limits"]["maxOutLineBytes"] == 4 * MIB
    ferry.call("object/put", ref="a", text="x" * MIB)
    assert ferry.call("object/get", ref="a", target={"inline": True})["size"] == MIB


def test_lsp_output_is_framed_with_the_length_in_bytes(spawn: Callable[..., Sidecar]) -> None:
    ferry = spawn("--framing", "lsp")
    body = ping("😀")
    ferry.send_raw(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    ferry.reply("😀")
    head, _, rest = bytes(ferry.raw).partition(b"\r\n\r\n")
    assert head == b"Content-Length: %d" % len(rest)


def test_the_framing_can_be_fixed_to_lines(spawn: Callable[..., Sidecar]) -> None:
    ferry = spawn("--framing", "ndjson")
    ferry.send_raw(b"Content-Length: 40\n" + PING + b"\n")
    assert ferry.next_message()["error"]["code"] == -32700
    ferry.result(1)


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: abc\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Type: x\r\n\r\n",
        b"Content-Length: 99999999999999999999999\r\n\r\n",
    ],
)
def test_a_broken_header_ends_the_connection_with_a_reason(
    spawn: Callable[..., Sidecar], head: bytes
) -> None:
    ferry = spawn("--framing", "lsp")
    ferry.quiet, ferry.expected_code = False, None
    ferry.send_raw(b"Content-Length: 40\r\n\r\n" + PING)
    ferry.result(1)
    ferry.send_raw(head + PING)
    error = ferry.next_message()["error"]
    assert error["code"] == -32700 and "content-length" in error["message"].lower()
    assert ferry.next_message() is None
    ferry.wait_exit()


def test_an_lsp_body_over_the_limit_is_skipped(spawn: Callable[..., Sidecar]) -> None:
    ferry = spawn()
    ferry.send_raw(b"Content-Length: %d\r\n\r\n" % (17 * MIB))
    for _ in range(17):
        ferry.send_raw(b" " * MIB)
    ferry.send_raw(b"Content-Length: 40\r\n\r\n" + PING)
    assert ferry.next_message()["error"]["data"]["code"] == "ERR_LINE_TOO_LONG"
    assert ferry.next_message()["result"] == {}


def test_socketpairs_work_as_pipes_do(spawn: Callable[..., Sidecar]) -> None:
    ferry = spawn(transport="socketpair")
    requests = [ferry.start("ping") for _ in range(500)]
    for request in requests:
        ferry.result(request)
