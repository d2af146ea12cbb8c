"""Files that ferry reads for an S3 store: such as change meanwhile, and very large ones."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest
from files import MIB, write_file
from s3 import S3Server
from s3_support import Spawn, checked_server, serve
from sidecar import Sidecar


@pytest.fixture
def server() -> Iterator[S3Server]:
    yield from checked_server()


@pytest.fixture
def ferry(spawn: Spawn, server: S3Server) -> Sidecar:
    return serve(spawn, server)


def test_a_source_that_changes_while_it_is_put_is_no_success(
    ferry: Sidecar, server: S3Server
) -> None:
    source = ferry.work / "k"
    source.write_bytes(b"before")
    server.fault(method="PUT", before=lambda: source.write_bytes(b"behind") and None)
    error = ferry.error("object/put", ref="k", path="k")
    assert error.code == "ERR_FILE_CHANGED"
    ferry.call("object/put", ref="k", path="k")
    assert server.bucket.objects["k"].content == b"behind"


def test_a_source_whose_end_changes_before_it_is_read_is_told_as_such(
    ferry: Sidecar, server: S3Server
) -> None:
    source = ferry.work / "k"
    write_file(source, 15 * MIB)  # more than two sockets hold: its end is still to be read

    def change() -> None:
        with source.open("r+b") as file:
            file.seek(-1, 2)
            file.write(b"!")

    # The checksum in the request's head is of the bytes before.
    server.fault(method="PUT", before=change)
    error = ferry.error("object/put", ref="k", path="k")
    assert (error.code, error.data["retryable"]) == ("ERR_FILE_CHANGED", False)
    assert "k" not in server.bucket.objects


def test_digests_of_large_files_leave_threads_to_others(ferry: Sidecar, server: S3Server) -> None:
    # More than there may be threads to read them, of which each takes minutes.
    ferry.call("limits/set", uploadRate=MIB)
    names = ["x", "y", "z"]
    for name in names:
        (ferry.work / name).touch()
        os.truncate(ferry.work / name, 200 << 30)
        ferry.start("object/put", ref=name, path=name, transferId=name)
    for name in names:
        ferry.event("started", transferId=name)
    for name in names:
        ferry.event("progress", transferId=name)  # parts are under way
    for name in names:
        assert ferry.call("transfer/cancel", transferId=name) == {"state": "cancelled"}
        ferry.event("cancelled", transferId=name)


@pytest.mark.parametrize("how", ["cancel", "pause"])
def test_an_upload_that_begins_while_it_is_stopped_is_not_left(
    ferry: Sidecar, server: S3Server, how: str
) -> None:
    write_file(ferry.work / "k", 17 * MIB)
    gate = threading.Event()
    reached = threading.Event()
    server.fault(method="POST", before=reached.set, gate=gate)
    put = ferry.start("object/put", ref="k", path="k", transferId="t")
    assert reached.wait(30)
    ferry.call(f"transfer/{how}", transferId="t")
    gate.set()
    if how == "pause":
        ferry.event("paused")
        ferry.call("transfer/resume", transferId="t")
        ferry.result(put)
        assert [line for line in server.lines("POST") if line.endswith("uploads=")] == [
            "POST k?uploads="
        ]
    else:
        ferry.event("cancelled")


def test_sends_that_are_paused_at_any_moment_go_on(ferry: Sidecar, server: S3Server) -> None:
    names = [f"t{number}" for number in range(400)]
    send = {"channel": "c", "name": "n", "text": "hello", "detach": True}
    for before, name in zip(["t0", *names], names):
        ferry.call("file/send", transferId=name, **send)
        ferry.call("transfer/pause", transferId=before)
    for name in names:
        ferry.call("transfer/resume", transferId=name)
    for name in names:
        ferry.event("uploaded", transferId=name)
    messages = [key for key in server.bucket.objects if "/messages/" in key]
    assert len(messages) == len(names)
