"""Disks that are full, read-only or damaged, and processes with few descriptors."""

from __future__ import annotations

import base64
import contextlib
import os
import resource
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from durable import STATE, STORE, everything, process, settle, state_of
from files import MIB, content, parts, sha256, slow_upload, write_file
from sidecar import Sidecar

JOURNAL = f"{STATE}/journal/default"


def mount(*words: str) -> None:
    done = subprocess.run(["mount", *words], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"cannot mount here: {done.stderr.strip()}")


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A file system of its own of that size, mounted on the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    mount("-t", "tmpfs", "-o", f"size={size},mode=755", "tmpfs", str(folder))
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """The folder as one that not even root may write to."""
    folder.mkdir(parents=True, exist_ok=True)
    mount("--bind", str(folder), str(folder))
    try:
        mount("-o", "remount,bind,ro", str(folder))
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path, leave: int = 0) -> Path:
    """Takes all room but so many bytes."""
    ballast = folder / "ballast"
    with ballast.open("ab") as file:
        for step in (MIB, 4096):
            with contextlib.suppress(OSError):
                while room(folder) >= leave + step:
                    file.write(b"x" * step)
                    file.flush()
    return ballast


def room(folder: Path) -> int:
    status = os.statvfs(folder)
    return status.f_bavail * status.f_bsize


def every_upload(work: Path, size: int) -> dict[str, tuple[str, dict[str, Any]]]:
    """Requests of each kind that bring so many bytes."""
    (work / "f").write_bytes(content(size))
    data = base64.b64encode(content(size)).decode()
    return {
        "path": ("object/put", {"ref": "path", "path": "f"}),
        "data": ("object/put", {"ref": "data", "data": data}),
        "text": ("object/put", {"ref": "text", "text": "x" * size}),
        "send": ("file/send", {"channel": "c", "path": "f"}),
        "stream": ("object/put", {"ref": "stream", "stream": {}, "transferId": "s"}),
    }


def perform(ferry: Sidecar, method: str, params: dict[str, Any], data: bytes) -> dict[str, Any]:
    """One upload, streams fed; its reply."""
    request = ferry.start(method, **params)
    if "stream" in params:
        ferry.event("started", transferId=params["transferId"])
        for offset in range(0, len(data), 128 * 1024):
            piece = base64.b64encode(data[offset : offset + 128 * 1024]).decode()
            if "error" in ferry.reply(ferry.start("stream/write", transferId="s", data=piece)):
                return ferry.reply(request)
        ferry.start("stream/close", transferId="s")
    return ferry.reply(request)


class TestStateFolder:
    """Work goes on without durability, and one line says so."""

    def work(self, ferry: Sidecar) -> None:
        for number in range(5):
            text = "x" * 10_000 * number
            ferry.call("object/put", ref=f"r{number}", text=text, transferId=f"t{number}")
        sent = ferry.call("file/send", channel="c", name="n", text="hello")
        ferry.call("file/download", channel="c", id=sent["id"], name="n", target="copy")
        assert (ferry.work / "copy").read_text() == "hello"
        slow_upload(ferry, size=4 * MIB)
        ferry.call("transfer/pause", transferId="big")
        ferry.event("paused", transferId="big")
        ferry.call("limits/set", uploadRate=None)
        ferry.call("transfer/resume", transferId="big")
        assert settle(ferry, "big")["state"] == "succeeded"
        assert len(everything(ferry)) == 8

    def said_once(self, ferry: Sidecar, *words: str) -> None:
        ferry.quiet = False
        [line] = ferry.stderr.splitlines()
        assert all(word in line for word in words), line

    def test_read_only(self, home: Path) -> None:
        with read_only(home / STATE), process(home) as ferry:
            self.work(ferry)
            self.said_once(ferry, "journal", "may not survive a restart")
        assert list((home / STATE).iterdir()) == []

    def test_full_from_the_start(self, home: Path) -> None:
        with small_disk(home / STATE, "64k") as disk:
            fill(disk)
            with process(home) as ferry:
                self.work(ferry)
                self.said_once(ferry, "disk is full", "may not survive a restart")

    def test_full_later_and_then_not(self, home: Path) -> None:
        with small_disk(home / STATE, "1m") as disk:
            with process(home) as ferry:
                ferry.call("object/put", ref="a", text="x", transferId="before")
                # Taking in the next one writes down how the one before it ended.
                ferry.call("object/put", ref="a", text="x", transferId="next")
                ballast = fill(disk)
                self.work_in_the_dark(ferry)
                self.said_once(ferry, "disk is full")
                ballast.unlink()
                ferry.call("object/put", ref="a", text="x", transferId="after")
                ferry.call("ping")
                slow_upload(ferry, ref="later", transferId="later")
                self.said_once(ferry, "disk is full")
                ferry.kill()
            with process(home) as heir:
                assert state_of(heir, "before") == "succeeded"
                assert state_of(heir, "after") == "succeeded"
                assert state_of(heir, "later") == "interrupted"

    def work_in_the_dark(self, ferry: Sidecar) -> None:
        for number in range(200):
            text = f"{number}" * 2000
            ferry.call("object/put", ref=f"r{number}", text=text, transferId=f"dark{number}")
        assert len(everything(ferry)) == 202

    def test_a_temporary_download_says_that_its_disk_is_full(self, home: Path) -> None:
        with small_disk(home / STATE, "2m") as disk, process(home) as ferry:
            ferry.quiet = False  # the journal may say that the disk is full
            write_file(ferry.work / "f", 4 * MIB)
            ferry.call("object/put", ref="a", path="f")
            assert ferry.error("object/get", ref="a").code == "ERR_DISK_FULL"
            assert parts(disk) == []
            ferry.call("object/get", ref="a", target="copy")


class TestDamagedJournals:
    """Moved aside, said once, and work goes on."""

    @pytest.fixture
    def journal(self, home: Path) -> Path:
        """A journal with rows, whose process was killed."""
        with process(home) as ferry:
            for number in range(40):
                ferry.call("object/put", ref="a", text="x" * 3000, transferId=f"t{number}")
            ferry.close_stdin()
            ferry.wait_exit()
        [path] = (home / JOURNAL).glob("*.db")
        return path

    @pytest.mark.parametrize(
        "damage",
        ["zero bytes", "no database", "truncated", "another database", "flipped header", "flipped"],
    )
    def test_it_is_moved_aside(self, home: Path, journal: Path, damage: str) -> None:
        data = journal.read_bytes()
        if damage == "zero bytes":
            data = bytes(len(data))
        elif damage == "no database":
            data = b"just some text, no database at all\n" * 300
        elif damage == "truncated":
            data = data[: len(data) // 2]
        elif damage == "another database":
            journal.unlink()
            with contextlib.closing(sqlite3.connect(journal)) as other:
                other.execute("CREATE TABLE mine (a)")
                other.commit()
            data = journal.read_bytes()
        elif damage == "flipped header":
            data = bytes([data[0] ^ 0xFF]) + data[1:]
        else:
            flipped = bytearray(data)
            for place in range(4096, len(flipped), 4096):
                flipped[place : place + 12] = bytes(b ^ 0xFF for b in flipped[place : place + 12])
            data = bytes(flipped)
        journal.write_bytes(data)
        with process(home) as ferry:
            ferry.quiet = False
            assert everything(ferry) == []
            ferry.call("object/put", ref="a", text="new", transferId="t0")
            [line] = ferry.stderr.splitlines()
            assert str(journal) in line and "renamed" in line
        assert list((home / JOURNAL).glob(f"{journal.name}.damaged-*"))
        with process(home) as again:
            assert [t["transferId"] for t in everything(again)] == ["t0"]

    def test_one_from_the_future_is_left_alone(self, home: Path, journal: Path) -> None:
        with contextlib.closing(sqlite3.connect(journal)) as database:
            database.execute("PRAGMA user_version = 99")
        before = journal.read_bytes()
        for _ in range(2):
            with process(home) as ferry:
                ferry.quiet = False
                assert "t0" not in [t["transferId"] for t in everything(ferry)]
                ferry.call("object/put", ref="a", text="new", transferId="mine")
                [line] = ferry.stderr.splitlines()
                assert str(journal) in line and "99" in line and "left alone" in line
        assert journal.read_bytes() == before

    def test_one_damaged_in_use_is_told_and_work_goes_on(self, home: Path, journal: Path) -> None:
        with process(home) as ferry:
            ferry.quiet = False
            assert len(everything(ferry)) == 40
            shutil.rmtree(home / STATE)
            ferry.call("object/put", ref="a", text="new", transferId="after")
            assert state_of(ferry, "after") == "succeeded"


class TestFullStore:
    def test_every_kind_of_write_fails_cleanly_and_the_next_works(self, home: Path) -> None:
        with small_disk(home / STORE, "12m") as disk, process(home) as ferry:
            ferry.call("limits/set", concurrency=1)
            ferry.call("object/put", ref="keep", text="kept")
            size = 3 * MIB
            data = content(size)
            for kind, (method, params) in every_upload(ferry.work, size).items():
                ballast = fill(disk, leave=MIB)
                error = perform(ferry, method, params, data)["error"]
                assert error["data"]["code"] == "ERR_DISK_FULL", (kind, error)
                assert parts(disk) == [], kind
                assert room(disk) >= MIB, kind
                ballast.unlink()
                if kind != "stream":
                    assert "result" in ferry.reply(ferry.start(method, **params)), kind
                if method == "object/put" and kind != "stream":
                    ferry.call("object/delete", ref=params["ref"])
                else:
                    for file in ferry.call("file/list", channel="c")["files"]:
                        ferry.call("file/delete", channel="c", id=file["id"], name=file["name"])
            assert ferry.call("object/get", ref="keep", target={"inline": True})["size"] == 4

    def test_small_writes_and_the_index_on_a_disk_without_a_byte(self, home: Path) -> None:
        with small_disk(home / STORE, "4m") as disk, process(home) as ferry:
            for number in range(20):
                ferry.call("object/put", ref=f"a{number}", text="x" * 5000)
            ballast = fill(disk)
            for method, params in [
                ("object/put", {"ref": "b", "text": "x" * 5000}),
                ("file/send", {"channel": "c", "name": "n", "text": "x" * 5000}),
            ]:
                for _ in range(3):
                    assert ferry.error(method, **params).code == "ERR_DISK_FULL"
            assert parts(disk) == []
            assert len(ferry.call("object/list", limit=100)["items"]) == 20
            for number in range(10):
                ferry.call("object/delete", ref=f"a{number}")
            ferry.call("object/put", ref="b", text="x" * 5000)
            ballast.unlink()
            ferry.call("file/send", channel="c", name="n", text="x")

    def test_a_disk_that_fills_up_while_ten_upload(self, home: Path) -> None:
        with small_disk(home / STORE, "24m") as disk, process(home) as ferry:
            ferry.call("limits/set", concurrency=4)
            write_file(ferry.work / "f", 5 * MIB)
            requests = {
                number: ferry.start("object/put", ref=f"r{number}", path="f")
                for number in range(10)
            }
            replies = {number: ferry.reply(request) for number, request in requests.items()}
            stored = [number for number, reply in replies.items() if "result" in reply]
            refused = [reply["error"] for reply in replies.values() if "error" in reply]
            assert 1 <= len(stored) <= 4
            assert {error["data"]["code"] for error in refused} == {"ERR_DISK_FULL"}
            assert parts(disk) == []
            assert len(ferry.call("object/list")["items"]) == len(stored)
            ferry.call("object/delete", ref=f"r{stored[0]}")
            ferry.call("object/put", ref="again", path="f")

    def test_a_full_target_disk(self, home: Path) -> None:
        with small_disk(home / "work" / "disk", "2m") as disk, process(home) as ferry:
            write_file(ferry.work / "f", 4 * MIB)
            ferry.call("object/put", ref="a", path="f")
            sent = ferry.call("file/send", channel="c", path="f")
            ferry.call("limits/set", concurrency=1)
            small = ferry.call("object/put", ref="small", text="x")["metadata"]
            for method, params in [
                ("object/get", {"ref": "a"}),
                ("file/download", {"channel": "c", "id": sent["id"], "name": "f"}),
            ]:
                error = ferry.error(method, target="disk/copy", **params)
                assert error.code == "ERR_DISK_FULL" and "disk/copy" in str(error)
                assert list(disk.iterdir()) == []
            ferry.call("object/get", ref="small", target="disk/small")
            assert (disk / "small").stat().st_size == small["size"]


class TestPermissions:
    def test_a_store_that_may_only_be_read(self, home: Path) -> None:
        with process(home) as ferry:
            ferry.call("object/put", ref="a", text="x")
        with read_only(home / STORE), process(home) as ferry:
            (ferry.work / "f").write_text("x")
            for method, params in [
                ("object/put", {"ref": "b", "text": "x"}),
                ("object/put", {"ref": "b", "path": "f"}),
                ("file/send", {"channel": "c", "path": "f"}),
            ]:
                assert ferry.error(method, **params).code == "ERR_FILE_ACCESS_DENIED"
        with process(home) as ferry:
            ferry.call("object/put", ref="b", text="x")
            assert len(ferry.call("object/list")["items"]) == 2
        assert parts(home) == []

    def test_a_target_folder_that_may_only_be_read(self, home: Path) -> None:
        with read_only(home / "work" / "fixed"), process(home) as ferry:
            ferry.call("object/put", ref="a", text="x")
            error = ferry.error("object/get", ref="a", target="fixed/copy")
            assert error.code == "ERR_FILE_ACCESS_DENIED" and "read-only" in str(error)
            ferry.call("object/get", ref="a", target="copy")
        assert parts(home) == []

    def test_a_file_that_nobody_may_change_is_not_overwritten(self, home: Path) -> None:
        fixed = home / "work" / "fixed"
        fixed.parent.mkdir()
        fixed.write_text("old")
        if subprocess.run(["chattr", "+i", str(fixed)], capture_output=True).returncode != 0:
            pytest.skip("this file system has no immutable files")
        try:
            with process(home) as ferry:
                ferry.call("object/put", ref="a", text="new")
                error = ferry.error("object/get", ref="a", target="fixed", overwrite=True)
                assert error.code == "ERR_FILE_ACCESS_DENIED"
                assert fixed.read_text() == "old" and parts(home) == []
        finally:
            subprocess.run(["chattr", "-i", str(fixed)], check=True)


@contextlib.contextmanager
def with_256_descriptors(home: Path) -> Iterator[Sidecar]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256 if hard < 0 else hard))
    try:
        ferry = Sidecar(home)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    try:
        resource.prlimit(ferry.process.pid, resource.RLIMIT_NOFILE, (256, 256))
        yield ferry
    finally:
        ferry.dispose()


def test_many_paused_ones_with_256_descriptors(home: Path) -> None:
    count = 200
    with with_256_descriptors(home) as ferry:
        digest = write_file(ferry.work / "f", 2 * MIB)
        ferry.call("limits/set", uploadRate=4 * MIB)
        requests = []
        for n in range(count):
            requests.append(ferry.start("object/put", ref=f"d/{n}", path="f", transferId=f"t{n}"))
            ferry.event("started", transferId=f"t{n}")
            ferry.call("transfer/pause", transferId=f"t{n}")
            ferry.event("paused", transferId=f"t{n}")
        assert len(list(Path(f"/proc/{ferry.process.pid}/fd").iterdir())) < 100
        ferry.call("limits/set", uploadRate=None)
        for n in range(count):
            ferry.call("transfer/resume", transferId=f"t{n}")
        for request in requests:
            assert ferry.result(request)["metadata"]["sha256"] == digest
        ferry.finish()
    assert parts(home) == []


def test_ten_thousand_files_with_256_descriptors(home: Path) -> None:
    count, size = 10_000, 4096
    with with_256_descriptors(home) as ferry:
        files = [ferry.work / f"f{number}" for number in range(16)]
        digests = {}
        for number, file in enumerate(files):
            data = content(size, seed=number)
            file.write_bytes(data)
            digests[number] = sha256(data)
        ferry.call("limits/set", concurrency=64)
        requests = []
        for number in range(count):
            source = {"path": f"f{number % 16}"}
            quiet: dict[str, Any] = {"progress": False}
            requests.append(ferry.start("object/put", ref=f"d/{number}", **source, **quiet))
        for number, request in enumerate(requests):
            result = ferry.result(request, timeout=120)
            assert result["metadata"]["sha256"] == digests[number % 16]
        assert len(list(Path(f"/proc/{ferry.process.pid}/fd").iterdir())) < 64
        ferry.finish()
    assert parts(home) == []
