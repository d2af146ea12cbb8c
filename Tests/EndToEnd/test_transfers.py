"""Uploads and downloads: every source, target and size; what is verified and what is left."""

from __future__ import annotations

import base64
import json
import os
import stat
from typing import Any, Callable

import pytest
from files import MIB, content, parts, sha256, sha256_of, slow_upload, write_file
from sidecar import Sidecar, few

Spawn = Callable[..., Sidecar]
SIZES = [0, 1, 65_535, 65_536, 65_537, 5 * MIB]


def put_stream(ferry: Sidecar, data: bytes, piece: int = 96 * 1024, **params: Any) -> Any:
    request = ferry.start("object/put", **params)
    ferry.event("started", transferId=params["transferId"])
    for offset in range(0, len(data), piece):
        encoded = base64.b64encode(data[offset : offset + piece]).decode()
        ferry.call("stream/write", transferId=params["transferId"], data=encoded)
    ferry.call("stream/close", transferId=params["transferId"])
    return ferry.result(request)


def put(ferry: Sidecar, source: str, data: bytes) -> Any:
    if source == "path":
        (ferry.work / "source.bin").write_bytes(data)
        return ferry.call("object/put", ref="a.bin", path="source.bin", transferId="up")
    if source == "data":
        encoded = base64.b64encode(data).decode()
        return ferry.call("object/put", ref="a.bin", data=encoded, transferId="up")
    if source == "text":
        return ferry.call("object/put", ref="a.bin", text=data.decode(), transferId="up")
    size = {"size": len(data)} if source == "sized stream" else {}
    return put_stream(ferry, data, ref="a.bin", stream=size, transferId="up")


def read_stream(ferry: Sidecar, **more: Any) -> bytes:
    data = bytearray()
    while True:
        piece = ferry.call("stream/read", transferId="down", **more)
        data += base64.b64decode(piece["data"])
        if piece["eof"]:
            return bytes(data)


def get(ferry: Sidecar, target: str) -> tuple[bytes, Any]:
    params: dict[str, Any] = {"ref": "a.bin", "transferId": "down"}
    if target == "stream":
        request = ferry.start("object/get", target={"stream": True}, **params)
        data = read_stream(ferry)
        return data, ferry.result(request)
    if target == "inline":
        result = ferry.call("object/get", target={"inline": True}, **params)
        return base64.b64decode(result["data"]), result
    result = ferry.call("object/get", **params, **({"target": "copy"} if target == "path" else {}))
    path = ferry.work / result["path"]
    assert result["temporary"] == (target == "temporary")
    return path.read_bytes(), result


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("source", ["path", "data", "text", "stream", "sized stream"])
def test_every_source_arrives_whole(ferry: Sidecar, source: str, size: int) -> None:
    data = content(size) if source != "text" else ("ä€😀" * size).encode()[: size - size % 9]
    result = put(ferry, source, data)
    metadata = result["metadata"]
    assert (metadata["size"], metadata["sha256"]) == (len(data), sha256(data))
    assert ferry.event("uploaded", transferId="up")["sha256"] == sha256(data)
    snapshot = ferry.call("transfer/get", transferId="up")
    assert (snapshot["state"], snapshot["loaded"], snapshot["percent"]) == (
        "succeeded",
        len(data),
        100,
    )
    got, _ = get(ferry, "path")
    assert got == data


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("target", ["path", "temporary", "inline", "stream"])
def test_every_target_gets_it_whole(ferry: Sidecar, target: str, size: int) -> None:
    ferry.call("initialize", maxOutLineBytes=16 * MIB)
    data = content(size)
    put(ferry, "path", data)
    got, result = get(ferry, target)
    assert got == data
    assert (result["size"], result["sha256"]) == (size, sha256(data))
    assert ferry.event("downloaded", transferId="down")["sha256"] == sha256(data)


def test_200_mib_in_flat_memory(ferry: Sidecar) -> None:
    size = 200 * MIB
    digest = write_file(ferry.work / "big.bin", size)
    ferry.call("ping")
    before = ferry.resident
    result = ferry.call("object/put", ref="big", path="big.bin", transferId="up")
    assert result["metadata"]["sha256"] == digest
    got = ferry.call("object/get", ref="big", target="copy.bin", transferId="down")
    assert got["sha256"] == digest == sha256_of(ferry.work / "copy.bin")
    assert ferry.resident - before < 48 * MIB


def test_a_stream_is_read_at_the_pace_of_the_host_in_flat_memory(ferry: Sidecar) -> None:
    ferry.call("initialize", maxOutLineBytes=4 * MIB)
    digest = write_file(ferry.work / "a.bin", few(100) * MIB)
    ferry.call("object/put", ref="a.bin", path="a.bin")
    before = ferry.resident
    request = ferry.start("object/get", ref="a.bin", target={"stream": True}, transferId="down")
    data = read_stream(ferry, maxBytes=2 * MIB)
    assert sha256(data) == digest == ferry.result(request)["sha256"]
    assert ferry.resident - before < 64 * MIB


def test_ranges(ferry: Sidecar) -> None:
    data = content(100_000)
    put(ferry, "path", data)
    for offset, length in [(0, 1), (0, 100_000), (99_999, 1), (65_535, 2), (50_000, 10**12)]:
        result = ferry.call(
            "object/get",
            ref="a.bin",
            target="copy",
            overwrite=True,
            range={"offset": offset, "length": length},
        )
        wanted = data[offset : offset + length]
        assert (ferry.work / "copy").read_bytes() == wanted
        assert (result["size"], result["sha256"]) == (len(wanted), sha256(wanted))
    past = ferry.error("object/get", ref="a.bin", target="x", range={"offset": 100_001})
    assert past.code == "ERR_INVALID_ARGUMENT"


class TestTargets:
    def test_nothing_is_overwritten_unless_asked(self, ferry: Sidecar) -> None:
        ferry.call("object/put", ref="a", text="new")
        (ferry.work / "copy").write_text("old")
        error = ferry.error("object/get", ref="a", target="copy")
        assert error.code == "ERR_TARGET_EXISTS" and "overwrite" in str(error)
        assert (ferry.work / "copy").read_text() == "old"
        ferry.call("object/get", ref="a", target="copy", overwrite=True)
        assert (ferry.work / "copy").read_text() == "new"

    def test_a_file_that_appears_meanwhile_is_kept(self, ferry: Sidecar) -> None:
        ferry.call("object/put", ref="a", text="x" * (4 * MIB))
        ferry.call("limits/set", downloadRate=2 * MIB)
        request = ferry.start("object/get", ref="a", target="copy", transferId="get")
        ferry.event("progress", transferId="get")
        (ferry.work / "copy").write_text("mine")
        assert ferry.reply(request)["error"]["data"]["code"] == "ERR_TARGET_EXISTS"
        assert (ferry.work / "copy").read_text() == "mine"
        assert parts(ferry.home) == []

    @pytest.mark.parametrize(
        ("target", "codes"),
        [
            ("missing/folder/copy", {"ERR_FILE_NOT_FOUND"}),
            (".", {"ERR_TARGET_EXISTS", "ERR_INVALID_FILE_OBJECT", "ERR_INVALID_ARGUMENT"}),
            ("/proc/nothing", {"ERR_FILE_NOT_FOUND", "ERR_FILE_ACCESS_DENIED"}),
            ("", {"ERR_INVALID_ARGUMENT"}),
            ("a\0b", {"ERR_INVALID_ARGUMENT"}),
            ("x" * 300, {"ERR_INVALID_ARGUMENT"}),
            ({"stream": False}, {"ERR_INVALID_ARGUMENT"}),
            ({}, {"ERR_INVALID_ARGUMENT"}),
            ({"inline": True, "stream": True}, {"ERR_INVALID_ARGUMENT"}),
        ],
    )
    def test_bad_targets_are_refused_and_leave_nothing(
        self, ferry: Sidecar, target: Any, codes: set[str]
    ) -> None:
        ferry.call("object/put", ref="a", text="x")
        assert ferry.error("object/get", ref="a", target=target).code in codes
        assert list(ferry.work.iterdir()) == []

    def test_a_new_file_has_the_mode_the_umask_gives(self, ferry: Sidecar) -> None:
        ferry.call("object/put", ref="a", text="x")
        ferry.call("object/get", ref="a", target="copy")
        umask = os.umask(0)
        os.umask(umask)
        assert stat.S_IMODE((ferry.work / "copy").stat().st_mode) == 0o666 & ~umask

    def test_a_temporary_file_goes_when_its_transfer_is_forgotten(self, ferry: Sidecar) -> None:
        ferry.call("object/put", ref="a", text="secret")
        result = ferry.call("object/get", ref="a", transferId="t")
        path = ferry.work / result["path"]
        assert path.read_text() == "secret" and stat.S_IMODE(path.stat().st_mode) == 0o600
        ferry.call("transfer/forget", transferId="t")
        assert not path.exists()

    def test_inline_content_has_a_limit(self, ferry: Sidecar) -> None:
        ferry.call("object/put", ref="a", text="x" * 1000)
        ferry.call("object/put", ref="b", text="x" * 60_000)
        ok = ferry.call("object/get", ref="a", target={"inline": True, "maxSize": 1000})
        assert ok["size"] == 1000
        for ref, target in [("a", {"inline": True, "maxSize": 999}), ("b", {"inline": True})]:
            error = ferry.error("object/get", ref=ref, target=target)
            assert error.code == "ERR_DOWNLOAD_SIZE_EXCEEDED"


class TestStates:
    def test_pause_frees_the_slot_and_resume_goes_on(self, ferry: Sidecar) -> None:
        ferry.call("limits/set", concurrency=1)
        big = slow_upload(ferry, size=8 * MIB)
        waiting = ferry.start("object/put", ref="b", text="x", transferId="next")
        assert ferry.call("transfer/get", transferId="next")["state"] == "queued"
        ferry.call("transfer/pause", transferId="big")
        loaded = ferry.event("paused", transferId="big")["loaded"]
        ferry.result(waiting)
        assert ferry.call("transfer/get", transferId="big")["state"] == "paused"
        assert ferry.call("transfer/resume", transferId="big")["state"] in ("queued", "running")
        assert ferry.event("resumed", transferId="big")["loaded"] in (0, loaded)
        assert ferry.result(big)["metadata"]["sha256"] == sha256_of(ferry.work / "big.bin")

    def test_a_queued_transfer_may_pause(self, ferry: Sidecar) -> None:
        ferry.call("limits/set", concurrency=1)
        big = slow_upload(ferry, size=8 * MIB)
        waiting = ferry.start("object/put", ref="b", text="x", transferId="next")
        assert ferry.call("transfer/pause", transferId="next")["state"] == "paused"
        ferry.event("paused", transferId="next")
        ferry.result(big)
        assert ferry.call("transfer/get", transferId="next")["state"] == "paused"
        ferry.call("transfer/resume", transferId="next")
        ferry.result(waiting)

    def test_a_failed_transfer_can_be_retried(self, ferry: Sidecar) -> None:
        ferry.call("object/put", ref="a", text="old")
        put = {"ref": "a", "text": "new", "transferId": "t", "ifNoneMatch": "*"}
        assert ferry.error("object/put", **put).code == "ERR_PRECONDITION_FAILED"
        assert ferry.event("failure")["error"]["data"]["code"] == "ERR_PRECONDITION_FAILED"
        for _ in range(2):  # its text is kept until something changes
            assert ferry.call("transfer/get", transferId="t")["state"] == "failed"
        ferry.call("object/delete", ref="a")
        assert ferry.call("transfer/retry", transferId="t")["state"] in (
            "queued",
            "running",
            "succeeded",
        )
        assert ferry.event("started", attempt=2, transferId="t")
        ferry.event("uploaded", transferId="t")
        snapshot = ferry.call("transfer/get", transferId="t")
        assert (snapshot["state"], snapshot["attempt"]) == ("succeeded", 2)

    def test_a_rejected_one_is_accepted_again_by_detached_requests(self, ferry: Sidecar) -> None:
        put = {"ref": "a", "path": "missing", "transferId": "t", "detach": True}
        assert ferry.call("object/put", **put) == {"transferId": "t"}
        ferry.event("error", transferId="t")
        assert ferry.call("object/put", **put) == {"transferId": "t"}

    def test_a_stream_cannot_be_joined_by_other_bytes_nor_a_file_that_changed(
        self, ferry: Sidecar
    ) -> None:
        (ferry.work / "f").write_text("one")
        put = {"ref": "a", "path": "f", "transferId": "t"}
        first = ferry.call("object/put", **put)
        assert ferry.call("object/put", **put) == first
        (ferry.work / "f").write_text("two!")
        assert ferry.error("object/put", **put).code == "ERR_DUPLICATE_TRANSFER"
        assert len([m for m in ferry.received if m.get("method") == "started"]) == 1

    @pytest.mark.parametrize("transfer_id", ["", "x" * 129])
    def test_ids_have_1_to_128_characters(self, ferry: Sidecar, transfer_id: str) -> None:
        error = ferry.error("object/put", ref="a", text="x", transferId=transfer_id)
        assert (error.code, error.data["field"]) == ("ERR_INVALID_ARGUMENT", "/transferId")
        ferry.call("object/put", ref="a", text="x", transferId="ü" * 128)

    def test_one_that_ends_twice_counts_from_its_last_end(self, ferry: Sidecar) -> None:
        def put(count: int, prefix: str) -> None:
            for i in [ferry.start("object/put", ref=f"{prefix}{n}", text="") for n in range(count)]:
                ferry.result(i)

        ferry.call("object/put", ref="a", text="old")
        ferry.error("object/put", ref="a", text="new", transferId="t", ifNoneMatch="*")
        put(900, "x")
        ferry.call("transfer/retry", transferId="t")
        ferry.event("failure", transferId="t")
        ferry.event("failure", transferId="t")
        put(700, "y")
        assert ferry.call("transfer/get", transferId="t")["attempt"] == 2

    def test_a_thousand_finished_ones_are_remembered(self, ferry: Sidecar) -> None:
        puts = [
            ferry.start("object/put", ref="a", text="", transferId=f"t{i}", progress=False)
            for i in range(1000)
        ]
        for request in puts:
            ferry.result(request)
        seen: list[str] = []
        page = ferry.call("transfer/list", limit=300)
        while True:
            seen += [t["transferId"] for t in page["transfers"]]
            if page["next"] is None:
                break
            page = ferry.call("transfer/list", limit=300, next=page["next"])
        assert seen == [f"t{i}" for i in range(1000)]


class TestStreams:
    def test_more_bytes_than_announced_fail(self, ferry: Sidecar) -> None:
        request = ferry.start("object/put", ref="a", stream={"size": 3}, transferId="t")
        ferry.event("started", transferId="t")
        ferry.start("stream/write", transferId="t", data=base64.b64encode(b"four").decode())
        assert ferry.reply(request)["error"]["data"]["code"] == "ERR_FILE_CHANGED"
        assert ferry.error("object/metadata", ref="a").code == "ERR_NOT_FOUND"

    def test_writes_wait_for_the_disk_of_a_slow_remote(self, ferry: Sidecar) -> None:
        ferry.call("limits/set", uploadRate=MIB)
        request = ferry.start("object/put", ref="a", stream={}, transferId="t")
        ferry.event("started", transferId="t")
        piece = base64.b64encode(content(256 * 1024)).decode()
        before = ferry.resident
        for _ in range(12):
            ferry.call("stream/write", transferId="t", data=piece)
        ferry.call("stream/close", transferId="t")
        assert ferry.result(request)["metadata"]["size"] == 3 * MIB
        assert ferry.resident - before < 24 * MIB


def test_replies_hold_no_more_than_the_contract_says(ferry: Sidecar) -> None:
    """One of each, so that the schema check at the end sees every shape."""
    ferry.call("initialize", clientInfo={"name": "host"})
    sent = ferry.call("file/send", channel="c", name="n", text="x", meta="m", message=[1])
    messages = ferry.call("channel/history", channel="c")["messages"]
    assert json.dumps(messages[0]["message"]) == "[1]" and messages[0]["meta"] == "m"
    ferry.call("file/download", channel="c", id=sent["id"], name="n", transferId="d")
    snapshot = ferry.call("transfer/get", transferId=sent["transferId"])
    assert snapshot["file"]["id"] == sent["id"] and snapshot["channel"] == "c"
    ferry.call("server/stats")
