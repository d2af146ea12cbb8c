"""What goes wrong on the way to PubNub, and what must not happen then."""

from __future__ import annotations

import base64
import threading
import time

import pytest
from files import content, sha256
from pubnub_support import Chat, Emulator, Fault
from sidecar import TIMEOUT, Sidecar


def announced(emulator: Emulator) -> list[str]:
    return [m.payload["file"]["id"] for m in emulator.channels.messages if m.kind == 4]


@pytest.mark.parametrize("fault", [{"status": 500}, {"status": 503}, {"drop": "before"}])
def test_calls_are_asked_again(chat: Chat, emulator: Emulator, fault: dict) -> None:
    emulator.faults += [Fault(route, times=2, **fault) for route in ("slot", "list", "history")]
    ferry = chat()
    sent = ferry.call("file/send", channel="ch", name="n", text="x")
    assert ferry.call("file/list", channel="ch")["count"] == 1
    assert len(ferry.call("channel/history", channel="ch")["messages"]) == 1
    stats = ferry.call("server/stats")
    retries = stats["remotes"]["chat"]["retries"]
    # libcurl itself asks again where a connection that was used before turns out to be dead.
    assert retries == 6 if "status" in fault else 3 <= retries <= 6
    assert announced(emulator) == [sent["id"]]


def test_pace_is_kept(chat: Chat, emulator: Emulator) -> None:
    emulator.faults.append(Fault("list", status=429, headers={"Retry-After": "1"}))
    ferry = chat()
    start = time.monotonic()
    ferry.call("file/list", channel="ch")
    assert time.monotonic() - start >= 1


def test_retries_can_be_switched_off(chat: Chat, emulator: Emulator) -> None:
    emulator.faults.append(Fault("list", status=500))
    error = chat(retries=0).error("file/list", channel="ch")
    assert error.code == "ERR_SERVER" and error.data["httpStatus"] == 500
    assert len(emulator.requests("list")) == 1


def test_the_form_is_sent_once(chat: Chat, emulator: Emulator) -> None:
    emulator.faults.append(Fault("upload", status=500, body="<html>not XML</html>"))
    ferry = chat()
    error = ferry.error("file/send", channel="ch", name="n", text="x", transferId="t")
    assert error.code == "ERR_S3_UPLOAD_FAILED" and error.data["fileUploaded"] is False
    assert error.data["phase"] == "upload" and error.data["retryable"]
    assert len(emulator.storage.posts) == 0 and len(emulator.requests("upload")) == 1
    ferry.event("failure", transferId="t")
    ferry.call("transfer/retry", transferId="t")
    ferry.event("uploaded", transferId="t")
    assert len(announced(emulator)) == 1


def test_the_storages_words_are_told(chat: Chat, emulator: Emulator) -> None:
    emulator.storage.max_size = 3
    ferry = chat()
    error = ferry.error("file/send", channel="ch", name="n", text="hello")
    assert error.code == "ERR_FILE_SIZE_EXCEEDED" and not error.data["retryable"]
    assert error.data["serverCode"] == "EntityTooLarge"
    assert error.data["serverMessage"] == "Your proposed upload exceeds the maximum allowed size"


def test_a_slot_that_expired_is_asked_for_again(chat: Chat, emulator: Emulator) -> None:
    emulator.faults.append(Fault("upload", times=2, expire=True))
    ferry = chat()
    sent = ferry.call("file/send", channel="ch", name="n", text="hello")
    assert [s.route for s in emulator.seen] == [*(["slot", "upload"] * 3), "publish"]
    assert announced(emulator) == [sent["id"]]
    emulator.faults.append(Fault("upload", times=9, expire=True))
    error = ferry.error("file/send", channel="ch", name="n", text="hello")
    assert error.code == "ERR_PRESIGNED_URL_EXPIRED"


def test_a_refused_slot(chat: Chat, emulator: Emulator) -> None:
    body = {"status": 400, "error": {"message": "no", "source": "Files", "code": 3001}}
    emulator.faults.append(Fault("slot", status=400, body=body))
    error = chat().error("file/send", channel="ch", name="n", text="x")
    assert error.code == "ERR_PRESIGNED_URL_FAILED" and not error.data["retryable"]
    assert error.data["serverCode"] == "3001"


@pytest.mark.parametrize("status", [500, 429])
def test_announcing_is_tried_again(chat: Chat, emulator: Emulator, status: int) -> None:
    emulator.faults.append(Fault("publish", times=2, status=status))
    ferry = chat()
    sent = ferry.call("file/send", channel="ch", name="n", text="x")
    assert len(emulator.requests("publish")) == 3 and len(emulator.requests("upload")) == 1
    assert announced(emulator) == [sent["id"]]


def test_an_announcement_whose_answer_was_lost_is_not_made_twice(
    chat: Chat, emulator: Emulator
) -> None:
    emulator.faults.append(Fault("publish", times=1, drop="after"))
    ferry = chat()
    sent = ferry.call("file/send", channel="ch", name="n", text="x")
    assert announced(emulator) == [sent["id"]]
    assert sent["timetoken"] == str(emulator.channels.messages[-1].tt)


def test_nothing_is_announced_while_history_fails(chat: Chat, emulator: Emulator) -> None:
    emulator.faults.append(Fault("publish", times=1, drop="after"))
    emulator.faults.append(Fault("history", times=1, status=500))
    ferry = chat(retries=0)
    error = ferry.error("file/send", channel="ch", name="n", text="x", transferId="t")
    assert error.code == "ERR_PUBLISH_FAILED" and error.data["retryable"]
    assert error.data["cause"] == {"code": "ERR_SERVER", "httpStatus": 500}
    assert announced(emulator) == [error.data["id"]]
    ferry.event("failure", transferId="t")
    ferry.call("transfer/retry", transferId="t")
    ferry.event("uploaded", transferId="t")
    assert announced(emulator) == [error.data["id"]]


@pytest.mark.parametrize("crypto", [None, {"cipherKey": "enigma"}])
def test_what_is_stored_and_not_announced(
    chat: Chat, emulator: Emulator, crypto: dict | None
) -> None:
    emulator.faults.append(Fault("publish", times=3, status=500))
    ferry = chat(publishRetryLimit=3, crypto=crypto)
    error = ferry.error("file/send", channel="ch", name="n", text="x", transferId="t")
    assert error.code == "ERR_PUBLISH_FAILED" and error.data["retryable"]
    assert error.data["fileUploaded"] is True and error.data["phase"] == "publish"
    assert error.data["cause"] == {"code": "ERR_SERVER", "httpStatus": 500}
    assert error.data["name"] == "n"
    [blob] = emulator.storage.blobs
    assert blob.split("/")[2] == error.data["id"]
    ferry.event("failure", transferId="t")
    ferry.call("transfer/retry", transferId="t")
    done = ferry.event("uploaded", transferId="t")
    assert done["file"]["id"] == error.data["id"]
    assert len(emulator.requests("upload")) == 1 and len(emulator.channels.messages) == 1
    # Or by hand.
    emulator.faults.append(Fault("publish", times=3, status=500))
    error = ferry.error("file/send", channel="ch", name="m", text="x")
    ferry.call("file/publish", channel="ch", id=error.data["id"], name=error.data["name"])
    assert len(emulator.channels.messages) == 2 and len(emulator.requests("upload")) == 2


def test_what_is_refused_for_good_is_not_tried_again(chat: Chat, emulator: Emulator) -> None:
    emulator.faults.append(Fault("publish", status=403, body={"message": "Forbidden"}))
    error = chat().error("file/send", channel="ch", name="n", text="x")
    assert error.code == "ERR_PUBLISH_FAILED"
    assert error.data["cause"]["code"] == "ERR_PERMISSION_DENIED"
    assert len(emulator.requests("publish")) == 1


def test_killed_between_upload_and_publish(chat: Chat, emulator: Emulator) -> None:
    emulator.faults.append(Fault("publish", times=1, delay=TIMEOUT, drop="before"))
    ferry = chat()
    (ferry.work / "a").write_bytes(content(100_000))
    ferry.call("file/send", channel="ch", path="a", transferId="t", detach=True)
    emulator.wait("publish")
    ferry.kill()
    later = chat()
    assert later.call("transfer/get", transferId="t")["state"] == "interrupted"
    assert announced(emulator) == []
    later.call("transfer/resume", transferId="t")
    done = later.event("uploaded", transferId="t")
    assert announced(emulator) == [done["file"]["id"]]
    assert len(emulator.requests("upload")) == 1
    assert done["file"]["sha256"] == sha256(content(100_000)) and done["file"]["size"] == 100_000


def test_killed_after_publish_was_taken(chat: Chat, emulator: Emulator) -> None:
    emulator.faults.append(Fault("publish", times=1, drop="after"))
    emulator.faults.append(Fault("history", times=1, delay=TIMEOUT))
    ferry = chat()
    ferry.call("file/send", channel="ch", name="n", text="x", transferId="t", detach=True)
    emulator.wait("history")
    ferry.kill()
    later = chat()
    later.call("transfer/resume", transferId="t")
    done = later.event("uploaded", transferId="t")
    assert announced(emulator) == [done["file"]["id"]]


def test_killed_after_publish_and_many_messages_later(chat: Chat, emulator: Emulator) -> None:
    for number in range(300):
        emulator.publish("ch", number)
    # Of long before, so that nobody needs to look at them.
    for message in emulator.channels.messages[:200]:
        message.tt -= 3600 * 10_000_000
    emulator.faults.append(Fault("publish", times=1, drop="after"))
    emulator.faults.append(Fault("history", times=1, delay=TIMEOUT))
    ferry = chat()
    ferry.call("file/send", channel="ch", name="n", text="x", transferId="t", detach=True)
    emulator.wait("history")
    ferry.kill()
    [file_id] = announced(emulator)
    for number in range(250):
        emulator.publish("ch", number)
    later = chat()
    later.call("transfer/resume", transferId="t")
    later.event("uploaded", transferId="t")
    assert announced(emulator) == [file_id]
    # One was cut short by the kill; the file is in the third page after it.
    assert len(emulator.requests("history")) == 4


def test_killed_during_the_upload(chat: Chat, emulator: Emulator) -> None:
    emulator.faults.append(Fault("upload", times=1, delay=TIMEOUT, drop="before"))
    ferry = chat(crypto={"cipherKey": "enigma"})
    (ferry.work / "a").write_bytes(content(100_000))
    ferry.call("file/send", channel="ch", path="a", transferId="t", detach=True)
    emulator.wait("upload")
    ferry.kill()
    later = chat(crypto={"cipherKey": "enigma"})
    later.call("transfer/resume", transferId="t")
    later.event("uploaded", transferId="t")
    assert len(emulator.channels.messages) == 1 and len(emulator.storage.blobs) == 1


def test_a_key_of_a_request_is_not_kept_over_a_kill(chat: Chat, emulator: Emulator) -> None:
    emulator.faults.append(Fault("upload", times=1, delay=TIMEOUT, drop="before"))
    ferry = chat()
    send = {"channel": "ch", "name": "n", "text": "hello", "transferId": "t", "cipherKey": "k1"}
    ferry.call("file/send", **send, detach=True)
    emulator.wait("upload")
    ferry.kill()
    later = chat()
    assert later.error("transfer/resume", transferId="t").data["field"] == "/cipherKey"
    assert emulator.storage.blobs == {}


def test_asked_for_again_with_its_key_it_goes_on(chat: Chat, emulator: Emulator) -> None:
    emulator.faults.append(Fault("upload", times=1, delay=TIMEOUT, drop="before"))
    ferry = chat()
    send = {"channel": "ch", "name": "n", "text": "hello", "transferId": "t", "cipherKey": "k1"}
    ferry.call("file/send", **send, detach=True)
    emulator.wait("upload")
    ferry.kill()
    later = chat()
    sent = later.call("file/send", **send)
    got = later.call(
        "file/download",
        channel="ch",
        id=sent["id"],
        name="n",
        target={"inline": True},
        cipherKey="k1",
    )
    assert base64.b64decode(got["data"]) == b"hello"


def test_pause_and_cancel(chat: Chat, emulator: Emulator) -> None:
    emulator.faults.append(Fault("upload", times=2, delay=TIMEOUT, drop="before"))
    ferry = chat()
    (ferry.work / "a").write_bytes(content(100_000))
    for name in ("p", "c"):
        ferry.call("file/send", channel="ch", path="a", transferId=name, detach=True)
    emulator.wait("upload", 2)
    ferry.call("transfer/pause", transferId="p")
    ferry.event("paused", transferId="p")
    ferry.call("transfer/cancel", transferId="c")
    ferry.event("cancelled", transferId="c")
    ferry.call("transfer/resume", transferId="p")
    ferry.event("uploaded", transferId="p")
    assert len(announced(emulator)) == 1 and len(emulator.storage.blobs) == 1


def test_cancelled_after_the_upload_it_is_removed(chat: Chat, emulator: Emulator) -> None:
    emulator.faults.append(Fault("publish", times=1, delay=TIMEOUT, drop="before"))
    ferry = chat()
    ferry.call("file/send", channel="ch", name="n", text="x", transferId="t", detach=True)
    emulator.wait("publish")
    ferry.call("transfer/cancel", transferId="t")
    ferry.event("cancelled", transferId="t")
    assert emulator.storage.blobs == {} and announced(emulator) == []


def sent_file(ferry: Sidecar, size: int) -> dict:
    (ferry.work / "a").write_bytes(content(size))
    sent = ferry.call("file/send", channel="ch", path="a")
    return {"channel": "ch", "id": sent["id"], "name": "a"}


@pytest.mark.parametrize(
    "fault", [{"truncate": 1000}, {"drop": "before"}, {"status": 503, "body": "x"}]
)
@pytest.mark.parametrize("crypto", [None, {"cipherKey": "enigma"}])
def test_downloads_go_on_after_faults(
    chat: Chat, emulator: Emulator, fault: dict, crypto: dict | None
) -> None:
    ferry = chat(crypto=crypto)
    key = sent_file(ferry, 4_000_000)
    emulator.faults.append(Fault("blob", times=2, after=1, **fault))
    ferry.call("file/download", **key, target="b")
    assert (ferry.work / "b").read_bytes() == content(4_000_000)


def test_urls_that_expire_are_asked_for_again(chat: Chat, emulator: Emulator) -> None:
    ferry = chat()
    key = sent_file(ferry, 4_000_000)
    emulator.faults.append(Fault("blob", times=1, after=1, expire=True))
    ferry.call("file/download", **key, target="b")
    assert (ferry.work / "b").read_bytes() == content(4_000_000)
    assert len(emulator.requests("locate")) == 2
    emulator.faults.append(Fault("blob", times=99, expire=True))
    error = ferry.error("file/download", **key, target="c")
    assert error.code == "ERR_PERMISSION_DENIED"
    assert len(emulator.requests("locate")) == 5


def test_redirects_do_not_lead_on_for_ever(chat: Chat, emulator: Emulator) -> None:
    ferry = chat()
    key = sent_file(ferry, 10)
    loop = f"{emulator.origin}/demo/a/b/c"
    emulator.faults += [Fault("locate", redirect=loop), Fault("blob", times=99, redirect=loop)]
    error = ferry.error("file/download", **key, target="b")
    assert error.code == "ERR_SERVER" and "redirect" in str(error)
    assert len(emulator.requests("blob")) == 5
    emulator.faults[:] = [Fault("locate", redirect="ftp://x/y")]
    assert ferry.error("file/download", **key, target="b").code == "ERR_INVALID_URL"
    assert sorted(p.name for p in ferry.work.iterdir()) == ["a"]


def test_a_download_goes_on_after_a_kill(chat: Chat, emulator: Emulator) -> None:
    ferry = chat(limits={"maxFileSize": "40 MiB"})
    emulator.storage.max_size = 40 << 20
    key = sent_file(ferry, 20 << 20)
    emulator.faults.append(Fault("blob", times=1, after=2, delay=TIMEOUT, drop="before"))
    ferry.call("file/download", **key, target="b", transferId="t", detach=True)
    emulator.wait("blob", 3)
    ferry.kill()
    later = chat(limits={"maxFileSize": "40 MiB"})
    seen = len(emulator.requests("blob"))
    later.call("transfer/resume", transferId="t")
    later.event("downloaded", transferId="t")
    assert (later.work / "b").read_bytes() == content(20 << 20)
    ranges = [s.request.headers["range"] for s in emulator.requests("blob")[seen:]]
    # What was written down last, which may be less than what came.
    assert ranges[0] in (
        f"bytes={512 << 10}-{(512 << 10) + (8 << 20) - 1}",
        f"bytes={(512 << 10) + (8 << 20)}-{(512 << 10) + (16 << 20) - 1}",
    )


@pytest.mark.parametrize("body", ["", "<html>", '"x"', "[1]", '{"t":{}}'])
def test_answers_that_are_none(chat: Chat, emulator: Emulator, body: str) -> None:
    ferry = chat(retries=0)
    emulator.faults += [
        Fault(route, status=200, body=body) for route in ("slot", "list", "history", "publish")
    ]
    assert ferry.error("file/send", channel="ch", name="n", text="x").code in (
        "ERR_SERVER",
        "ERR_PRESIGNED_URL_FAILED",
    )
    error = ferry.error("file/publish", channel="ch", id="i", name="n")
    assert error.code in ("ERR_SERVER",), error
    for method in ("file/list", "channel/history"):
        try:
            reply = ferry.call(method, channel="ch")
        except Exception as refused:
            assert "ERR_SERVER" in str(refused)
        else:
            assert not reply.get("files") and not reply.get("messages")


def test_errors_that_are_no_json(chat: Chat, emulator: Emulator) -> None:
    emulator.faults.append(Fault("list", status=403, body="<html>Proxy says no</html>"))
    error = chat().error("file/list", channel="ch")
    assert error.code == "ERR_PERMISSION_DENIED" and error.data["httpStatus"] == 403


def test_a_source_that_changes_is_not_announced(chat: Chat, emulator: Emulator) -> None:
    gate = threading.Event()
    emulator.faults.append(Fault("upload", gate=gate))
    ferry = chat()
    (ferry.work / "a").write_bytes(content(100_000))
    request = ferry.start("file/send", channel="ch", path="a")
    emulator.wait("upload")
    with (ferry.work / "a").open("r+b") as file:
        file.write(b"changed")
    gate.set()
    assert ferry.reply(request)["error"]["data"]["code"] == "ERR_FILE_CHANGED"
    assert emulator.storage.blobs == {} and announced(emulator) == []


def test_nobody_there(chat: Chat, emulator: Emulator) -> None:
    ferry = chat(origin="http://127.0.0.1:9", retries=0)
    error = ferry.error("file/send", channel="ch", name="n", text="x")
    assert error.code == "ERR_NETWORK" and error.data["retryable"]
    assert error.data["fileUploaded"] is False


@pytest.mark.parametrize(
    "fault",
    [
        {"drop": "after"},
        {"status": 200, "body": "<Error><Code>InternalError</Code><Message>m</Message></Error>"},
    ],
)
def test_a_form_that_came_to_nothing_known(chat: Chat, emulator: Emulator, fault: dict) -> None:
    emulator.faults.append(Fault("upload", **fault))
    ferry = chat()
    error = ferry.error("file/send", channel="ch", name="n", text="x", transferId="t")
    assert error.data["fileUploaded"] is False and error.data["retryable"]
    assert announced(emulator) == []
    ferry.event("failure", transferId="t")
    ferry.call("transfer/retry", transferId="t")
    done = ferry.event("uploaded", transferId="t")
    assert announced(emulator) == [done["file"]["id"]]
    [file] = ferry.call("file/list", channel="ch")["files"]
    assert file["id"] == done["file"]["id"]


def test_a_form_that_was_killed_leaves_one_file(chat: Chat, emulator: Emulator) -> None:
    gate = threading.Event()
    emulator.faults.append(Fault("upload", drop="after", gate=gate))
    ferry = chat()
    (ferry.work / "a").write_bytes(b"x")
    ferry.call("file/send", channel="ch", path="a", transferId="t", detach=True)
    emulator.wait("upload")
    # Taken in once it is written down, as all that was to be written before.
    ferry.call("file/send", channel="other", name="n", text="y", detach=True)
    ferry.kill()
    gate.set()
    later = chat()
    later.call("transfer/resume", transferId="t")
    done = later.event("uploaded", transferId="t")
    [file] = later.call("file/list", channel="ch")["files"]
    assert file["id"] == done["file"]["id"]


def test_what_the_service_says_of_an_announcement_is_told(chat: Chat, emulator: Emulator) -> None:
    body = {"message": "slow", "error": True, "service": "Balancer", "status": 429}
    headers = {"Retry-After": "1"}
    emulator.faults.append(Fault("publish", status=429, body=body, headers=headers))
    error = chat(publishRetryLimit=1).error("file/send", channel="ch", name="n", text="x")
    assert error.code == "ERR_PUBLISH_FAILED"
    assert error.data["serverCode"] == "Balancer" and error.data["serverMessage"] == "slow"
    assert error.data["retryAfterMs"] == 1000


def test_a_form_whose_transfer_is_given_up_leaves_nothing(chat: Chat, emulator: Emulator) -> None:
    emulator.faults.append(Fault("upload", drop="after"))
    ferry = chat()
    ferry.error("file/send", channel="ch", name="n", text="x", transferId="t")
    ferry.event("failure", transferId="t")
    assert len(emulator.storage.blobs) == 1
    ferry.call("transfer/forget", transferId="t")
    emulator.wait("delete")
    assert ferry.call("file/list", channel="ch")["files"] == []
