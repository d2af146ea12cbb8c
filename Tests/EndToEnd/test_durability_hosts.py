"""Rates and slots that change while transfers run, and hosts that read slowly, never, or vanish."""

from __future__ import annotations

import base64
import os
import select
import signal
import time
from pathlib import Path
from typing import Any, Callable

import pytest
from durable import everything, forget_all, leftovers, process, seeded, settle
from files import MIB, content, sha256, sha256_of, slow_upload, write_file
from sidecar import Sidecar

Spawn = Callable[..., Sidecar]


def processor_time(ferry: Sidecar) -> float:
    """Seconds of processor time the process has used."""
    fields = Path(f"/proc/{ferry.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def listen(ferry: Sidecar, seconds: float) -> None:
    """Takes what comes for a while."""
    end = time.monotonic() + seconds
    try:
        while (rest := end - time.monotonic()) > 0:
            ferry.wait(lambda _: True, "anything", timeout=rest)
    except AssertionError:
        pass  # the time is over


class TestRates:
    @pytest.mark.parametrize("direction", ["up", "down"])
    def test_one_byte_a_second_does_not_spin(self, ferry: Sidecar, direction: str) -> None:
        write_file(ferry.work / "f", 4 * MIB)
        ferry.call("object/put", ref="a", path="f")
        ferry.call("limits/set", concurrency=8)
        if direction == "up":
            ferry.call("limits/set", uploadRate=1)
            requests = [ferry.start("object/put", ref=f"r{i}", path="f") for i in range(8)]
        else:
            ferry.call("limits/set", downloadRate=1)
            requests = [ferry.start("object/get", ref="a", target=f"copy{i}") for i in range(8)]
        for _ in requests:
            ferry.event("started")
        before = processor_time(ferry)
        listen(ferry, 1.5)
        assert processor_time(ferry) - before < 0.15
        # A new rate acts at once, also on those who wait for their byte.
        ferry.call("limits/set", uploadRate=None, downloadRate=None)
        begun = time.monotonic()
        for request in requests:
            ferry.result(request)
        assert time.monotonic() - begun < 3, "at the old rate the last would wait for 6 s more"

    def test_an_idle_process_and_a_paused_transfer_cost_nothing(self, ferry: Sidecar) -> None:
        slow_upload(ferry)
        ferry.call("transfer/pause", transferId="big")
        ferry.event("paused", transferId="big")
        before = processor_time(ferry)
        listen(ferry, 1.5)
        assert processor_time(ferry) - before < 0.05
        ferry.call("transfer/cancel", transferId="big")

    def test_a_rate_acts_on_what_runs_both_ways(self, ferry: Sidecar) -> None:
        size = 16 * MIB
        request = slow_upload(ferry, size=size, rate=MIB)
        ferry.call("limits/set", uploadRate=None)
        begun = time.monotonic()
        ferry.result(request)
        assert time.monotonic() - begun < 5, "15 s at the old rate"
        ferry.call("limits/set", downloadRate=8 * MIB)
        request = ferry.start("object/get", ref="big", target="copy", transferId="get")
        ferry.event("progress", transferId="get")
        ferry.call("limits/set", downloadRate=1024)
        held = ferry.call("transfer/get", transferId="get")
        assert held["state"] == "running" and held["loaded"] < size
        listen(ferry, 0.5)
        later = ferry.call("transfer/get", transferId="get")
        assert later["loaded"] - held["loaded"] <= 4 * MIB + 1024
        ferry.call("limits/set", downloadRate=None)
        assert ferry.result(request)["sha256"] == sha256_of(ferry.work / "big.bin")

    def test_slots_may_come_and_go_while_transfers_run(self, ferry: Sidecar) -> None:
        chance = seeded("slots")
        data = content(200_000)
        (ferry.work / "f").write_bytes(data)
        requests = []
        for number in range(120):
            requests.append(ferry.start("object/put", ref=f"r{number}", path="f", progress=False))
            if number % 5 == 0:
                rate = chance.choice([None, 8 * MIB, 64 * MIB])
                ferry.call("limits/set", concurrency=chance.randrange(1, 9), uploadRate=rate)
                assert ferry.call("limits/get")["uploadRate"] == rate
        ferry.call("limits/set", uploadRate=None)
        for request in requests:
            assert ferry.result(request)["metadata"]["sha256"] == sha256(data)

    def test_nothing_is_lost_where_one_slot_is_left(self, ferry: Sidecar) -> None:
        ferry.call("limits/set", concurrency=8, uploadRate=2 * MIB)
        write_file(ferry.work / "f", MIB)
        requests = [ferry.start("object/put", ref=f"r{i}", path="f") for i in range(8)]
        ferry.event("started")
        ferry.call("limits/set", concurrency=1)
        late = ferry.start("object/put", ref="late", text="x", transferId="late")
        assert ferry.call("transfer/get", transferId="late")["state"] == "queued"
        ferry.call("limits/set", uploadRate=None)
        for request in [*requests, late]:
            ferry.result(request)


class TestHosts:
    """Whatever the host does with its ends, a later process finds all, done or interrupted."""

    def transfers(self, ferry: Sidecar, prefix: str) -> list[str]:
        """Starts one of each: their ids."""
        write_file(ferry.work / "big", 24 * MIB)
        (ferry.work / "small").write_bytes(content(50_000))
        data = base64.b64encode(content(30_000)).decode()
        ferry.start("limits/set", uploadRate=16 * MIB, downloadRate=16 * MIB)
        requests: list[tuple[str, str, dict[str, Any]]] = [
            ("big", "object/put", {"ref": f"{prefix}big", "path": "big"}),
            ("small", "object/put", {"ref": f"{prefix}small", "path": "small"}),
            ("data", "object/put", {"ref": f"{prefix}data", "data": data}),
            ("send", "file/send", {"channel": f"{prefix}c", "path": "small"}),
            ("get", "object/get", {"ref": "stored", "target": f"{prefix}copy"}),
        ]
        for name, method, params in requests:
            ferry.start(method, **params, transferId=prefix + name)
        return [prefix + name for name, _, _ in requests]

    def take_up(self, home: Path, ids: list[str], prefix: str) -> None:
        with process(home) as heir:
            found = {t["transferId"]: t["state"] for t in everything(heir)}
            assert set(found) == set(ids), found
            assert set(found.values()) <= {"interrupted", "succeeded"}, found
            for name in ids:
                if found[name] == "interrupted":
                    heir.call("transfer/resume", transferId=name)
            for name in ids:
                assert settle(heir, name)["state"] == "succeeded"
            digest = sha256_of(home / "work" / "big")
            metadata = heir.call("object/metadata", ref=f"{prefix}big")["metadata"]
            assert metadata["sha256"] == digest
            assert sha256_of(home / "work" / f"{prefix}copy") == sha256_of(home / "work" / "kept")
            assert len(heir.call("channel/history", channel=f"{prefix}c")["messages"]) == 1
            forget_all(heir)

    @pytest.fixture
    def stored(self, home: Path) -> None:
        with process(home) as ferry:
            write_file(ferry.work / "kept", 24 * MIB, seed=2)
            ferry.call("object/put", ref="stored", path="kept", transferId="t")
            ferry.call("transfer/forget", transferId="t")

    @pytest.mark.parametrize("transport", ["pipe", "socketpair"])
    @pytest.mark.parametrize("way", ["both ends", "only stdout", "killed unread"])
    def test_a_host_that_vanishes(self, home: Path, stored: None, transport: str, way: str) -> None:
        ferry = Sidecar(home, transport=transport, reading=False)
        ids = self.transfers(ferry, "v")
        journal = home / ".local/state/ferry/journal/default"
        wait_until(lambda: held(journal, ids), "all requests to be written down")
        if way == "killed unread":
            ferry.signal(signal.SIGKILL)
        else:
            ferry.close_stdout()
            if way == "both ends":
                ferry.close_stdin()
        code = ferry.wait_exit()
        assert code in (0, 74, -signal.SIGKILL), code
        ferry.dispose()
        self.take_up(home, ids, "v")
        assert leftovers(home) == []

    def test_a_host_that_reads_a_byte_at_a_time(self, home: Path, stored: None) -> None:
        ferry = Sidecar(home, reading=False)
        ids = self.transfers(ferry, "s")
        output = b""
        while output.count(b'"uploaded"') < 2:
            output += os.read(ferry._stdout, 1)
        ferry.signal(signal.SIGKILL)
        ferry.wait_exit()
        ferry.dispose()
        self.take_up(home, ids, "s")

    def test_a_host_that_never_reads_and_is_ended_by_a_signal(
        self, home: Path, stored: None
    ) -> None:
        with process(home, reading=False) as ferry:
            ferry.quiet, ferry.all_answered, ferry.may_be_torn = False, False, True
            ferry.expected_code = 128 + signal.SIGTERM
            ids = self.transfers(ferry, "n")
            journal = home / ".local/state/ferry/journal/default"
            wait_until(lambda: held(journal, ids), "all requests to be written down")
            for _ in range(3000):
                ferry.start("object/list")  # fills the pipe
            begun = time.monotonic()
            ferry.signal(signal.SIGTERM)
            ferry.wait_exit()
            assert time.monotonic() - begun < 3
        self.take_up(home, ids, "n")


def held(journal: Path, ids: list[str]) -> bool:
    """Whether the lock files say that all ids are written down."""
    return sum(lock.stat().st_size for lock in journal.glob("*.lock")) >= 8 * len(ids)


def wait_until(holds: Callable[[], bool], what: str) -> None:
    """Watches files of another process, which tells nobody when it has written them."""
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end, f"{what} took more than 30 s"
        select.select([], [], [], 0.005)
