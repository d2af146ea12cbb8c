"""What helps to find a fault: logs, the trace of the protocol, test methods, statistics."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path
from typing import Any, Callable

import pytest
from contract import contract
from files import MIB, content, write_file
from sidecar import Sidecar

Spawn = Callable[..., Sidecar]
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def end(ferry: Sidecar) -> None:
    ferry.close_stdin()
    assert ferry.wait_exit() == 0


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def lines(path: Path, direction: str) -> list[Any]:
    """The messages of one direction; text that is no JSON as it is."""
    found: list[Any] = []
    for record in records(path):
        if record.get("dir") == direction:
            text = record["line"]
            found.append(text if text.startswith("<") else json.loads(text))
    return found


class TestTrace:
    @pytest.mark.parametrize("framing", ["ndjson", "lsp"])
    def test_it_mirrors_both_streams_whatever_the_framing(
        self, spawn: Spawn, home: Path, framing: str
    ) -> None:
        path = home / "trace"
        ferry = spawn("--trace-rpc", str(path))
        sent = [
            {"jsonrpc": "2.0", "id": "é\u2028", "method": "ping"},
            {"jsonrpc": "2.0", "id": 2, "method": "object/put", "params": {"ref": "a", "text": ""}},
        ]
        for message in sent:
            body = json.dumps(message).encode()
            head = b"Content-Length: %d\r\n\r\n" % len(body)
            ferry.send_raw(head + body if framing == "lsp" else body + b"\n")
        for message in sent:
            ferry.reply(message["id"])
        end(ferry)
        times = [r["t"] for r in records(path)]
        assert times == sorted(times) and times[0] > 1_600_000_000_000
        assert lines(path, "in") == sent
        ferry.finish()
        out = lines(path, "out")
        assert [m.get("method", m.get("id")) for m in out] == [
            m.get("method", m.get("id")) for m in ferry.received
        ]
        assert out[0] == ferry.received[0]
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def test_secrets_and_content_are_not_in_it(self, spawn: Spawn, home: Path) -> None:
        path = home / "trace"
        path.write_text("")
        path.chmod(0o644)
        ferry = spawn("--trace-rpc", str(path), "--enable-test-methods")
        secret = "s3cr3t"
        value = {
            "cipherKey": secret,
            "deep": [{"mySecretThing": {"a": secret}, "AUTHORIZATION": [secret]}],
            "note": f"see https://u:{secret}@x.io/a?sig={secret}&b=1#end and http://y/?{secret}",
            "proxy": f"user:{secret}@proxy:3128",
            "timetoken": "17000000000000000",
            "text": "x" * 64,
            "data": {"data": secret + "x" * 64, "text": "é" * 40},
            "number": 12345678901234567890,
        }
        assert ferry.call("test/echo", value=value)["value"] == value
        params = b'{"value":{"k\\u0065y":"%s"}}' % secret.encode()
        ferry.send_raw(b'{"jsonrpc":"2.0","id":1,"method":"test/echo","params":%s}\n' % params)
        assert ferry.reply(1)["result"]["value"] == {"key": secret}
        ferry.send_raw(b'{"jsonrpc":"2.0","id":1,"token":"%s"\n' % secret.encode())
        ferry.wait(lambda m: m.get("error", {}).get("code") == -32700, "the parse error")
        end(ferry)
        text = path.read_text()
        assert secret not in text
        shown = lines(path, "out")[0]["result"]["value"]
        assert shown == {
            "cipherKey": "***",
            "deep": [{"mySecretThing": "***", "AUTHORIZATION": "***"}],
            "note": "see https://***@x.io/a?***#end and http://y/?***",
            "proxy": "***",
            "timetoken": "17000000000000000",
            "text": "x" * 64,
            "data": {"data": "<70 bytes>", "text": "<80 bytes>"},
            "number": 12345678901234567890,
        }
        assert lines(path, "in")[2] == "<40 bytes that are no JSON>"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def test_a_slow_disk_costs_lines_and_no_time(self, spawn: Spawn, home: Path) -> None:
        fifo = home / "fifo"
        os.mkfifo(fifo)
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        ferry = spawn("--trace-rpc", str(fifo), "--enable-test-methods")
        value = ["y" * 1000] * 50
        count = 400  # 40 MB both ways, of which the trace may hold 8
        before = ferry.resident
        for _ in range(count):
            ferry.call("test/echo", value=value)
        assert ferry.resident - before < 64 * MIB
        # Now the disk is fast again: it tells how many are missing.
        os.set_blocking(reader, True)
        seen = b""
        while b'"dropped"' not in seen:
            seen += os.read(reader, 1 << 20)
        dropped = next(json.loads(r) for r in seen.split(b"\n") if b'"dropped"' in r)
        assert 0 < dropped["dropped"] < 2 * count
        os.close(reader)
        assert ferry.call("ping") == {}

    @pytest.mark.parametrize("target", ["/no/such/folder/trace", "/", "fifo"])
    def test_a_file_that_cannot_be_written_is_wrong_usage(
        self, run: Run, home: Path, target: str
    ) -> None:
        if target == "fifo":
            target = str(home / "fifo")
            os.mkfifo(target)
        done = run("serve", "--trace-rpc", target)
        assert (done.returncode, done.stdout) == (2, "")
        assert target in done.stderr and "trace" in done.stderr

    def test_it_is_appended_to(self, run: Run, home: Path) -> None:
        ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
        for _ in range(2):
            assert run("serve", "--trace-rpc", "trace", input=ping).returncode == 0
        assert len(lines(home / "trace", "in")) == 2


class TestMethods:
    def test_they_are_not_there_unless_enabled(self, ferry: Sidecar) -> None:
        for method in contract().test_methods:
            reply = ferry.reply(ferry.start(method))
            assert reply["error"]["code"] == -32601
            assert "--enable-test-methods" in reply["error"]["message"]

    def test_echo(self, spawn: Spawn) -> None:
        ferry = spawn("--enable-test-methods")
        for value in [None, 0, -1.5e300, "a\u2028\u0000é", [], {"a": {"b": [True]}}, 10**40]:
            assert ferry.call("test/echo", value=value) == {"value": value}
        assert ferry.error("test/echo").data["field"] == "/value"
        assert ferry.error("test/echo", value="x" * 61_000).data["field"] == "/value"
        assert len(ferry.call("test/echo", value="x" * 59_000)["value"]) == 59_000

    @pytest.mark.parametrize("code", sorted(contract().numbers))
    def test_error(self, spawn: Spawn, code: str) -> None:
        ferry = spawn("--enable-test-methods")
        assert ferry.error("test/error", code=code).code == code
        error = ferry.error("test/error", code=code, retryable=True, message="as asked")
        assert error.error["message"] == "as asked" and error.data["retryable"] is True

    def test_error_refuses_what_is_no_code(self, spawn: Spawn) -> None:
        ferry = spawn("--enable-test-methods")
        assert "ERR_NETWORK" in ferry.error("test/error", code="ERR_NETWROK").error["message"]

    def test_sleep_ends_in_time_and_can_be_cancelled(self, spawn: Spawn) -> None:
        ferry = spawn("--enable-test-methods")
        long = ferry.start("test/sleep", ms=3_600_000)
        assert ferry.call("test/sleep", ms=20) == {}
        ferry.notify("$/cancelRequest", id=long)
        assert ferry.reply(long, timeout=5)["error"]["data"]["code"] == "ERR_CANCELLED"

    def test_hundreds_of_sleeps_stand_in_nobodys_way(self, spawn: Spawn) -> None:
        ferry = spawn("--enable-test-methods")
        sleeps = [ferry.start("test/sleep", ms=3_600_000) for _ in range(300)]
        assert ferry.call("object/list")["items"] == []
        ferry.call("shutdown", mode="now")
        for sleep in sleeps:
            ferry.notify("$/cancelRequest", id=sleep)
            ferry.reply(sleep)

    def test_flood_comes_in_order_and_before_its_reply(self, spawn: Spawn) -> None:
        ferry = spawn("--enable-test-methods")
        request = ferry.start("test/flood", count=5_000, bytes=1_000)
        ferry.result(request)
        floods = [m["params"] for m in ferry.received if m.get("method") == "test/flood"]
        assert [f["index"] for f in floods] == list(range(5_000))
        assert {len(f["payload"]) for f in floods} == {1_000}
        assert ferry.received[-1]["id"] == request

    def test_flood_waits_for_a_host_that_does_not_read(self, spawn: Spawn) -> None:
        ferry = spawn("--enable-test-methods", reading=False)
        before = ferry.resident
        flood = ferry.start("test/flood", count=1_000_000, bytes=10_000)
        ferry.wait_readable()
        ping = ferry.start("ping")
        ferry.notify("$/cancelRequest", id=flood)
        ferry.start_reading()
        assert ferry.reply(flood)["error"]["code"] == -32800
        assert ferry.reply(ping)["result"] == {}
        assert ferry.resident - before < 16 * MIB


class TestLogs:
    def test_an_unread_stderr_stops_nothing(self, spawn: Spawn) -> None:
        reader, writer = os.pipe()
        ferry = spawn("--log-level", "debug", stderr=writer)
        os.close(writer)
        for _ in range(100):  # 100 × 200 lines of debug are some 500 KiB, the pipe holds 64
            for ping in [ferry.start("ping") for _ in range(200)]:
                ferry.result(ping)
        end(ferry)
        with os.fdopen(reader, "rb") as pipe:
            told = pipe.read()
        assert b"debug: request ping" in told

    def test_lines_that_were_dropped_are_told(self, spawn: Spawn, home: Path) -> None:
        fifo = home / "fifo"
        os.mkfifo(fifo)
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        ferry = spawn("--log-level", "debug", "--log-file", str(fifo))
        for _ in range(100):
            for ping in [ferry.start("ping") for _ in range(200)]:
                ferry.result(ping)
        os.set_blocking(reader, True)
        seen = b""
        while b"lines were dropped here" not in seen:
            seen += os.read(reader, 1 << 16)
        os.close(reader)
        end(ferry)

    def test_levels(self, spawn: Spawn, home: Path) -> None:
        told = {}
        for level in ["error", "warn", "info", "debug"]:
            log = home / f"{level}.log"
            ferry = spawn("--log-level", level, "--log-file", str(log))
            ferry.call("ping")
            end(ferry)
            assert stat.S_IMODE(log.stat().st_mode) == 0o600
            told[level] = {line.split(": ")[1] for line in log.read_text().splitlines()}
            assert ferry.stderr == ""
        assert told == {"error": set(), "warn": set(), "info": {"info"}, "debug": {"info", "debug"}}


class TestStats:
    def test_requests_are_counted_by_what_became_of_them(self, spawn: Spawn) -> None:
        ferry = spawn("--enable-test-methods")
        ferry.call("ping")
        ferry.reply(ferry.start("no/such"))
        sleeps = [ferry.start("test/sleep", ms=3_600_000) for _ in range(3)]
        stats = ferry.call("server/stats")
        assert stats["requests"] == {"received": 6, "inFlight": 4, "refused": 0}
        assert 0 <= stats["uptimeMs"] < 60_000
        for sleep in sleeps:
            ferry.notify("$/cancelRequest", id=sleep)
            ferry.reply(sleep)
        later = ferry.call("server/stats")
        assert later["requests"] == {"received": 7, "inFlight": 1, "refused": 0}
        assert later["uptimeMs"] >= stats["uptimeMs"]
        # The host may have the last reply before the writer has counted it as written.
        assert later["output"]["queuedBytes"] < 1024 and later["output"]["droppedProgress"] == 0

    @pytest.mark.skipif(
        "FERRY_SANITIZER" in os.environ, reason="a sanitizer's own memory is counted too"
    )
    def test_resident_bytes_are_those_of_the_kernel(self, ferry: Sidecar) -> None:
        told = ferry.call("server/stats")["residentBytes"]
        assert abs(told - ferry.resident) < 4 * MIB

    def test_transfers_and_bytes_are_counted_by_remote(self, ferry: Sidecar) -> None:
        size = 3 * MIB + 17
        write_file(ferry.work / "a.bin", size)
        assert ferry.call("server/stats")["remotes"]["local"]["bytesUp"] == 0
        ferry.call("object/put", ref="a", path="a.bin")
        ferry.call("object/put", ref="b", text="12345")
        ferry.call("object/get", ref="a", target="b.bin")
        ferry.call("object/get", ref="b", target={"inline": True})
        ferry.error("object/put", ref="c", path="missing")
        ferry.error("object/get", ref="missing", target="c.bin")
        ferry.call("object/put", ref="s", stream={}, transferId="s", detach=True)
        ferry.event("started", transferId="s")
        stats = ferry.call("server/stats")
        assert stats["remotes"]["local"] == {
            "queued": 0,
            "running": 1,
            "bytesUp": size + 5,
            "bytesDown": size + 5,
            "retries": 0,
        }
        ended = {"succeeded": 4, "failed": 0, "rejected": 2, "cancelled": 0}
        assert stats["transfers"] == {"queued": 0, "running": 1, "paused": 0, **ended}
        ferry.call("transfer/pause", transferId="s")
        ferry.event("paused", transferId="s")
        stats = ferry.call("server/stats")
        assert stats["transfers"] == {"queued": 0, "running": 0, "paused": 1, **ended}
        assert stats["remotes"]["local"]["running"] == 0
        ferry.call("transfer/cancel", transferId="s")
        ferry.event("cancelled", transferId="s")
        stats = ferry.call("server/stats")["transfers"]
        assert stats == {"queued": 0, "running": 0, "paused": 0, **ended, "cancelled": 1}

    def test_queued_transfers_are_counted(self, ferry: Sidecar) -> None:
        ferry.call("limits/set", concurrency=1, uploadRate=MIB)
        write_file(ferry.work / "a.bin", 8 * MIB)
        first = ferry.start("object/put", ref="a", path="a.bin", transferId="a")
        ferry.event("started", transferId="a")
        others = [ferry.start("object/put", ref=f"b{i}", text="x") for i in range(3)]
        stats = ferry.call("server/stats")
        assert stats["transfers"]["queued"] == 3 and stats["transfers"]["running"] == 1
        assert stats["remotes"]["local"]["queued"] == 3
        ferry.call("limits/set", uploadRate=None)
        for put in [first, *others]:
            ferry.result(put)

    def test_overload_is_counted(self, spawn: Spawn) -> None:
        ferry = spawn("--enable-test-methods", reading=False)
        data = ["z" * 1000] * 50
        echoes = [ferry.start("test/echo", value=data) for _ in range(60)]
        ferry.start_reading()
        refused = sum("error" in ferry.reply(echo) for echo in echoes)
        stats = ferry.call("server/stats")
        assert stats["requests"]["refused"] == refused > 0
        assert stats["output"]["queuedBytes"] < 1 << 16


def test_what_is_traced_of_an_upload_is_short(spawn: Spawn, home: Path) -> None:
    path = home / "trace"
    ferry = spawn("--trace-rpc", str(path))
    ferry.call("object/put", ref="s", stream={}, transferId="s", detach=True)
    for _ in range(4):
        ferry.call("stream/write", transferId="s", data=content(300_000).hex()[: 4 * 100_000])
    ferry.call("stream/close", transferId="s")
    ferry.event("uploaded", transferId="s")
    end(ferry)
    writes = [m for m in lines(path, "in") if m["method"] == "stream/write"]
    assert {m["params"]["data"] for m in writes} == {"<400000 bytes>"}
    assert path.stat().st_size < 10_000
