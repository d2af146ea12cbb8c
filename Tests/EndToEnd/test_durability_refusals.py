"""What cannot be gone on with now, for want of a key or a right, is kept until it can."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from files import MIB, content, parts, sha256, sha256_of, write_file
from pubnub_support import Chat, Emulator, Fault
from s3 import S3Server
from s3_support import Spawn, serve
from sidecar import TIMEOUT, Sidecar

NO_VARIABLE = {"authToken": "${NOT_SET}"}
FORBIDDEN = {"message": "Forbidden", "error": True, "service": "Access Manager", "status": 403}


def kill_while_publishing(ferry: Sidecar, emulator: Emulator, method: str, **params: Any) -> None:
    emulator.faults.append(Fault("publish", times=1, delay=TIMEOUT, drop="before"))
    ferry.call(method, **params)
    emulator.wait("publish")
    ferry.kill()


def require_one(ferry: Sidecar, emulator: Emulator, file_id: str) -> None:
    assert [message.kind for message in emulator.channels.messages] == [4]
    assert [file["id"] for file in ferry.call("file/list", channel="ch")["files"]] == [file_id]


def test_a_remote_that_cannot_be_opened(chat: Chat, emulator: Emulator) -> None:
    send = {"channel": "ch", "text": "x", "name": "n", "transferId": "t"}
    kill_while_publishing(chat(), emulator, "file/send", detach=True, **send)
    second = chat(**NO_VARIABLE)
    known = {"transferId": "t"}
    for method, params in {
        "transfer/resume": known,
        "transfer/retry": known,
        "file/send": send,
    }.items():
        assert second.error(method, **params).code == "ERR_CONFIG"
        assert second.call("transfer/get", **known)["state"] == "interrupted"
    second.close_stdin()
    second.wait_exit()
    third = chat()
    third.call("transfer/resume", transferId="t")
    require_one(third, emulator, third.event("uploaded", transferId="t")["file"]["id"])


def test_a_key_that_only_the_request_had(chat: Chat, emulator: Emulator) -> None:
    send = {"channel": "ch", "text": "x", "name": "n", "transferId": "t", "cipherKey": "enigma"}
    kill_while_publishing(chat(), emulator, "file/send", detach=True, **send)
    second = chat()
    error = second.error("transfer/resume", transferId="t")
    assert (error.code, error.data["field"]) == ("ERR_INVALID_ARGUMENT", "/cipherKey")
    assert second.call("transfer/get", transferId="t")["state"] == "interrupted"
    require_one(second, emulator, second.call("file/send", **send)["id"])


def test_a_batch_whose_remote_cannot_be_opened(chat: Chat, emulator: Emulator) -> None:
    first = chat()
    first.call("batch/create", channel="ch", batchId="b")
    emulator.faults.append(Fault("upload", times=1, delay=TIMEOUT, drop="before"))
    first.call("batch/upload", batchId="b", items=[{"fileId": "1", "text": "x", "name": "n"}])
    emulator.wait("upload")
    first.kill()
    second = chat(**NO_VARIABLE)
    second.call("batch/retry", batchId="b")
    error = second.event("failure", batchId="b", fileId="1")["error"]
    assert error["data"]["code"] == "ERR_CONFIG"
    second.close_stdin()
    second.wait_exit()
    third = chat()
    assert third.call("batch/retry", batchId="b") == {"retried": 1}
    third.event("uploaded", batchId="b", fileId="1")


def test_a_download_whose_place_is_refused_in_its_middle(chat: Chat, emulator: Emulator) -> None:
    ferry = chat()
    (ferry.work / "f").write_bytes(content(3 * MIB))
    sent = ferry.call("file/send", channel="ch", path="f")
    emulator.faults.append(Fault("blob", after=1, expire=True))
    emulator.faults.append(Fault("locate", after=1, times=1, status=403, body=FORBIDDEN))
    place = {"channel": "ch", "id": sent["id"], "name": sent["name"], "target": "got"}
    error = ferry.error("file/download", transferId="t", **place)
    assert (error.code, error.data["phase"]) == ("ERR_PERMISSION_DENIED", "download")
    assert ferry.event("failure", transferId="t")["error"] == error.error
    emulator.faults.clear()
    ferry.call("transfer/retry", transferId="t")
    ferry.event("downloaded", transferId="t")
    assert sha256_of(ferry.work / "got") == sent["sha256"]
    assert parts(ferry.home) == []


@pytest.mark.parametrize("how", ["upload", "download"])
def test_a_right_that_is_lost_over_a_restart(spawn: Spawn, how: str) -> None:
    data = content(40 * MIB)
    with S3Server() as server:
        arrived, hold = threading.Event(), threading.Event()
        first = serve(spawn, server)
        if how == "upload":
            (first.work / "f").write_bytes(data)
            server.fault(query="partNumber=4", before=arrived.set, gate=hold, drop_before=True)
            first.call("object/put", ref="k", path="f", transferId="t", detach=True)
        else:
            server.bucket.put("k", {}, data)
            server.fault(method="GET", skip=3, before=arrived.set, gate=hold, drop_before=True)
            first.call("object/get", ref="k", target="got", transferId="t", detach=True)
        assert arrived.wait(30)
        first.kill()
        hold.set()
        second = serve(spawn, server)
        server.fault(times=1000, status=403, code="AccessDenied")
        second.call("transfer/resume", transferId="t")
        error = second.event("failure", transferId="t")["error"]["data"]
        assert (error["code"], error["phase"]) == ("ERR_PERMISSION_DENIED", how)
        second.close_stdin()
        second.wait_exit()
        server.faults.clear()
        server.requests.clear()
        third = serve(spawn, server)
        third.call("transfer/retry", transferId="t")
        third.event(f"{how}ed", transferId="t")
        if how == "download":
            assert sha256_of(third.work / "got") == sha256(data)
        else:
            assert server.bucket.objects["k"].content == data
        assert server.bucket.uploads == {}
        assert parts(third.home) == []


@pytest.mark.parametrize("how", ["resume", "cancel"])
def test_an_upload_whose_remote_cannot_be_opened_meanwhile(spawn: Spawn, how: str) -> None:
    with S3Server() as server:
        arrived, hold = threading.Event(), threading.Event()
        first = serve(spawn, server)
        write_file(first.work / "f", 40 * MIB)
        server.fault(query="partNumber=4", before=arrived.set, gate=hold, drop_before=True)
        ref = f"s3://{server.bucket_name}/k" if how == "resume" else "k"
        first.call("object/put", ref=ref, path="f", transferId="t", detach=True)
        assert arrived.wait(30)
        first.kill()
        hold.set()
        second = serve(spawn, server, secretAccessKey="${NOT_SET}")
        if how == "cancel":
            second.call("transfer/cancel", transferId="t")
            second.event("cancelled", transferId="t")
        second.close_stdin()
        second.wait_exit()
        assert len(server.bucket.uploads) == 1
        third = serve(spawn, server)
        if how == "resume":
            third.call("transfer/resume", transferId="t")
            third.event("uploaded", transferId="t")
        else:
            third.call("transfer/list")
            server.wait_for(1, "DELETE")
        assert server.bucket.uploads == {}
