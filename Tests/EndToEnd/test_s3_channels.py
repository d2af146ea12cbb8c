"""Channels of kind s3: on servers that no one here wrote, with writers whose clocks differ."""

from __future__ import annotations

import base64
import json
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest
import s3_servers
from files import MIB, sha256, sha256_of, write_file
from s3 import S3Server
from s3_servers import BUCKET, Server
from sidecar import Sidecar

Spawn = Callable[..., Sidecar]
END = 10**17 - 1
SECOND = 10_000_000  # of timetokens


@pytest.fixture(scope="module", params=["seaweedfs", "rclone"])
def server(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    start = {"seaweedfs": s3_servers.seaweedfs, "rclone": s3_servers.rclone}[request.param]
    with start(tmp_path_factory.mktemp(request.param)) as running:
        yield running


class Room:
    """A bucket's folder that any number of processes with states of their own share."""

    def __init__(self, server: Server, spawn: Spawn, tmp_path: Path, prefix: str) -> None:
        self.server, self.spawn, self.folder = server, spawn, tmp_path
        self.prefix = "".join(c if c.isalnum() else "-" for c in prefix)
        self.machines = 0

    def machine(self, **more: Any) -> Sidecar:
        self.machines += 1
        return self.process(f"machine-{self.machines}", **more)

    def process(self, home: str, **more: Any) -> Sidecar:
        sidecar = self.spawn(home=self.folder / home)
        remote = {**self.server.settings, "prefix": self.prefix, "pollInterval": "1s", **more}
        client = {"name": home}
        config = {"default": "store", "remotes": {"store": remote}}
        sidecar.call("initialize", clientInfo=client, config=config)
        return sidecar

    def write(self, channel: str, timetoken: int, text: str, tail: str = "") -> None:
        """A message by a writer that is no ferry."""
        body = {"message": text, "file": {"id": "id", "name": "n"}}
        path = self.folder / "message.json"
        path.write_text(json.dumps(body))
        name = f"{END - timetoken:017}-{sha256(text.encode())[:24]}{tail}"
        key = f"s3://{BUCKET}/{self.prefix}/channels/{channel}/messages/{name}"
        self.server.aws("s3", "cp", path, key)


@pytest.fixture
def room(server: Server, spawn: Spawn, tmp_path: Path, request: Any) -> Room:
    return Room(server, spawn, tmp_path, request.node.name)


def now() -> int:
    return int(time.time() * SECOND)


def texts(messages: list[dict[str, Any]]) -> list[Any]:
    return [m.get("message") for m in messages]


def history(ferry: Sidecar, channel: str = "room", **params: Any) -> list[Any]:
    return texts(ferry.call("channel/history", channel=channel, **params)["messages"])


def test_a_file_goes_from_one_machine_to_another(room: Room) -> None:
    one, two = room.machine(), room.machine()
    assert two.call("channel/subscribe", channels=["room", "other"])["timetoken"]
    assert two.event("status")["state"] == "connected"
    digest = write_file(one.work / "a.bin", 17 * MIB)
    sent = one.call(
        "file/send", channel="room", path="a.bin", message={"t": "für dich"}, meta={"k": [1]},
        customMessageType="my-type", transferId="t",
    )  # fmt: skip
    event = two.event("message")
    assert event["file"].pop("url").startswith(room.server.endpoint)
    assert event == {
        "seq": event["seq"],
        "remote": "store",
        "channel": "room",
        "publisher": "machine-1",
        "timetoken": sent["timetoken"],
        "type": "file",
        "customMessageType": "my-type",
        "meta": {"k": [1]},
        "message": {"t": "für dich"},
        "file": {"id": sent["id"], "name": "a.bin", "size": 17 * MIB,
                 "contentType": "application/octet-stream"},
    }  # fmt: skip
    got = two.call("file/download", messageId=f"room:{sent['timetoken']}", target="b.bin")
    assert got["sha256"] == digest == sha256_of(two.work / "b.bin")
    again = two.call("message/get", messageId=f"room:{sent['timetoken']}")
    assert again["message"] == {"t": "für dich"}
    with urllib.request.urlopen(again["file"]["url"]) as answer:
        assert sha256(answer.read()) == digest
    listed = two.call("file/list", channel="room")["files"]
    assert [(f["id"], f["name"]) for f in listed] == [(sent["id"], "a.bin")]
    # Announced once more.
    second = two.call("file/publish", channel="room", id=sent["id"], name="a.bin", message="again")
    assert int(second["timetoken"]) > int(sent["timetoken"])
    assert two.event("message")["file"]["size"] == 17 * MIB
    assert history(one) == [{"t": "für dich"}, "again"]
    missing = two.error("file/publish", channel="room", id="none", name="a.bin")
    assert missing.code == "ERR_NOT_FOUND"
    one.call("message/delete", messageId=f"room:{sent['timetoken']}")
    assert history(two) == ["again"]
    for method in ("message/get", "message/delete"):
        gone = two.error(method, messageId=f"room:{sent['timetoken']}")
        assert gone.code == "ERR_NOT_FOUND"


def test_what_is_not_stored_is_delivered_and_not_kept(room: Room) -> None:
    one, two = room.machine(), room.machine()
    two.call("channel/subscribe", channels=["room"])
    live = one.call("file/send", channel="room", text="x", name="n", message="live", store=False)
    one.call("file/send", channel="room", text="x", name="n", message="kept", ttl=1)
    assert texts([two.event("message"), two.event("message")]) == ["live", "kept"]
    assert history(two) == ["kept"]
    error = two.error("message/get", messageId=f"room:{live['timetoken']}")
    assert error.code == "ERR_NOT_FOUND"
    # The hour is over.
    room.write("room", now() - 3601 * SECOND, "expired", f"-x{int(time.time()) - 1}")
    assert history(two) == ["kept"]


def test_history_has_one_order_and_pages(room: Room) -> None:
    ferry = room.machine()
    base = now()
    for number in (3, 0, 4, 1, 2):
        room.write("room", base - (5 - number) * SECOND, str(number))
    assert history(ferry) == ["0", "1", "2", "3", "4"]
    page = ferry.call("channel/history", channel="room", limit=2)
    assert texts(page["messages"]) == ["3", "4"]
    page = ferry.call("channel/history", channel="room", limit=2, start=page["more"]["start"])
    assert texts(page["messages"]) == ["1", "2"]
    page = ferry.call("channel/history", channel="room", limit=2, start=page["more"]["start"])
    assert texts(page["messages"]) == ["0"] and "more" not in page
    third = str(base - 3 * SECOND)
    assert history(ferry, end=third) == ["2", "3", "4"]
    assert history(ferry, start=third) == ["0", "1"]
    assert history(ferry, channel="empty") == []


def test_writers_whose_clocks_differ_are_heard_once_each(room: Room) -> None:
    ferry = room.machine()
    room.write("room", now() - SECOND, "before")
    ferry.call("channel/subscribe", channels=["room"])
    # Half a minute ahead, half a minute behind, and one that became visible late.
    room.write("room", now() + 30 * SECOND, "ahead")
    first = ferry.event("message")
    assert first["message"] == "ahead" and "late" not in first
    room.write("room", now() - 30 * SECOND, "behind")
    second = ferry.event("message")
    assert second["message"] == "behind" and second["late"] is True
    sent = ferry.call("file/send", channel="room", text="x", name="n", message="mine")
    third = ferry.event("message")
    assert third["message"] == "mine" and third["late"] is True
    room.write("room", now() + 40 * SECOND, "last")
    assert ferry.event("message")["message"] == "last"
    assert history(ferry) == ["behind", "before", "mine", "ahead", "last"]
    told = [m for m in ferry.received if m.get("method") == "message"]
    assert len(told) == 4 and sent["timetoken"] in [m["params"]["timetoken"] for m in told]


def test_since_brings_what_was_missed(room: Room) -> None:
    one = room.machine()
    sent = [
        one.call("file/send", channel="room", text="x", name="n", message=n)["timetoken"]
        for n in range(12)
    ]
    room.write("room", now() - 3600 * SECOND, "old")
    two = room.machine()
    two.call("channel/subscribe", channels=["room"], since=sent[1])
    got = texts([two.event("message") for _ in range(10)])
    assert got == list(range(2, 12))
    three = room.machine()
    three.call("channel/subscribe", channels=["room"], since=str(now() - 7200 * SECOND))
    assert texts([three.event("message") for _ in range(13)]) == ["old", *range(12)]
    one.call("file/send", channel="room", text="x", name="n", message="new")
    assert two.event("message")["message"] == three.event("message")["message"] == "new"


def test_several_writers_and_listeners_lose_and_double_nothing(room: Room) -> None:
    machines = [room.machine() for _ in range(3)]
    for machine in machines:
        machine.call("channel/subscribe", channels=["a", "b"])
    # rclone can hide, for minutes, what is written while another request makes the same folder.
    for channel in ("a", "b"):
        machines[0].call("file/send", channel=channel, text="x", name="n", message="first")
        for machine in machines:
            assert machine.event("message", channel=channel)["message"] == "first"
    calls = [
        (machine, machine.start("file/send", channel=channel, text="x", name="n", message=[i, n]))
        for n in range(8)
        for i, machine in enumerate(machines)
        for channel in ("a", "b")
    ]
    for machine, call in calls:
        machine.result(call)
    for machine in machines:
        for channel in ("a", "b"):
            got = [machine.event("message", channel=channel)["message"] for _ in range(24)]
            assert sorted(got) == [[i, n] for i in range(3) for n in range(8)]
    orders = [history(machine, channel="a") for machine in machines]
    assert orders[0] == orders[1] == orders[2] and len(orders[0]) == 25


# With faults.


@pytest.fixture
def emulator() -> Iterator[S3Server]:
    with S3Server() as running:
        yield running
        assert running.violations == []


def serve(spawn: Spawn, server: S3Server, home: Path | None = None, **more: Any) -> Sidecar:
    sidecar = spawn(home=home) if home else spawn()
    remote = {
        "kind": "s3", "endpoint": server.endpoint, "bucket": server.bucket_name,
        "accessKeyId": "KEY", "secretAccessKey": "SECRET", "checksum": "md5", "provider": "aws",
        "addressing": "path", "pollInterval": "1s", **more,
    }  # fmt: skip
    sidecar.call("initialize", config={"default": "store", "remotes": {"store": remote}})
    return sidecar


def keys(server: S3Server, folder: str) -> list[str]:
    return [key for key in server.bucket.objects if f"/{folder}/" in key]


def killed(
    spawn: Spawn, server: S3Server, remote: dict[str, Any] | None = None, **fault: Any
) -> Sidecar:
    """A send whose process is killed while the server keeps an answer; then the next process."""
    asked = threading.Event()
    hold = threading.Event()
    server.fault(before=asked.set, gate=hold, **fault)
    first = serve(spawn, server, **(remote or {}))
    first.call(
        "file/send", channel="c", name="n", text="hello", message="m", transferId="t", detach=True
    )
    assert asked.wait(30)
    first.kill()
    hold.set()
    later = serve(spawn, server, **(remote or {}))
    assert later.call("transfer/get", transferId="t")["state"] == "interrupted"
    return later


@pytest.mark.parametrize("folder", ["files", "messages"])
@pytest.mark.parametrize("arrives", [True, False])
def test_killed_on_the_way_it_is_sent_once(
    spawn: Spawn, emulator: S3Server, folder: str, arrives: bool
) -> None:
    fate = {"drop_after": True} if arrives else {"drop_before": True}
    later = killed(spawn, emulator, method="PUT", key=f"/{folder}/", **fate)
    later.call("transfer/resume", transferId="t")
    done = later.event("uploaded", transferId="t")["file"]
    assert len(keys(emulator, "files")) == len(keys(emulator, "messages")) == 1
    [message] = later.call("channel/history", channel="c")["messages"]
    assert message["timetoken"] == done["timetoken"] and message["file"]["id"] == done["id"]
    reply = later.call("file/download", messageId=f"c:{done['timetoken']}", target={"inline": True})
    assert base64.b64decode(reply["data"]) == b"hello"


def test_killed_and_cancelled_nothing_is_left(spawn: Spawn, emulator: S3Server) -> None:
    later = killed(spawn, emulator, method="PUT", key="/messages/", drop_after=True)
    later.call("transfer/cancel", transferId="t")
    emulator.wait_for(2, "DELETE")
    assert emulator.bucket.objects == {}


def test_a_refused_announcement_can_be_made_later(spawn: Spawn, emulator: S3Server) -> None:
    ferry = serve(spawn, emulator)
    emulator.fault(method="PUT", key="/messages/", status=403, code="AccessDenied")
    error = ferry.error("file/send", channel="c", name="n", text="x", transferId="t")
    assert error.code == "ERR_PUBLISH_FAILED" and error.data["fileUploaded"] is True
    assert error.data["name"] == "n" and keys(emulator, "messages") == []
    ferry.call("transfer/retry", transferId="t")
    done = ferry.event("uploaded", transferId="t")["file"]
    assert done["id"] == error.data["id"]
    assert len(keys(emulator, "files")) == len(keys(emulator, "messages")) == 1


def test_what_is_resumed_late_is_heard(spawn: Spawn, emulator: S3Server, tmp_path: Path) -> None:
    window = {"settleWindow": "10s"}
    ear = serve(spawn, emulator, home=tmp_path / "ear", **window)
    ear.call("channel/subscribe", channels=["c"])
    later = killed(spawn, emulator, window, method="PUT", key="/messages/", drop_before=True)
    # Both look at the server's clock, which goes on.
    emulator.clock_offset = 20.0
    emulator.wait_for(len(emulator.lines("GET")) + 2, "GET")
    later.call("transfer/resume", transferId="t")
    done = later.event("uploaded", transferId="t")["file"]
    assert ear.event("message")["timetoken"] == done["timetoken"]
    assert history(later, "c") == ["m"]
    first, second = (line for line in emulator.lines("PUT") if "/messages/" in line)
    assert first != second


def test_what_a_busy_server_takes_late_is_heard_once(spawn: Spawn, emulator: S3Server) -> None:
    ferry = serve(spawn, emulator, settleWindow="10s")
    ferry.call("channel/subscribe", channels=["c"])
    # Longer than a message is fresh; the second one is taken all the same.
    pause = {"Retry-After": "3"}
    emulator.fault(method="PUT", key="/messages/", status=503, code="SlowDown", headers=pause)
    emulator.fault(method="PUT", key="/messages/", status_shown=503, replace=pause)
    first = ferry.call("file/send", channel="c", name="n", text="x", message="m")
    assert ferry.event("message")["timetoken"] == first["timetoken"]
    asked = [line for line in emulator.lines("PUT") if "/messages/" in line]
    assert len(asked) == 2 and asked[0] != asked[1]
    assert [line for line in emulator.lines("HEAD") if "/messages/" in line] == [
        asked[0].replace("PUT", "HEAD"), asked[1].replace("PUT", "HEAD"),
    ]  # fmt: skip
    assert history(ferry, "c") == ["m"]


def test_a_listener_goes_on_after_failures_without_gap(spawn: Spawn, emulator: S3Server) -> None:
    ferry = serve(spawn, emulator, retries=0)
    ferry.call("channel/subscribe", channels=["c"])
    assert ferry.event("status")["state"] == "connected"
    emulator.fault(method="GET", query="list-type=2", status=503, code="SlowDown")
    assert ferry.event("status")["state"] == "reconnecting"
    emulator.fault(method="GET", key="/messages/", drop_before=True)
    for number in range(3):
        ferry.call("file/send", channel="c", name="n", text="x", message=number)
    assert texts([ferry.event("message") for _ in range(3)]) == [0, 1, 2]


def test_timetokens_are_by_the_servers_clock(spawn: Spawn, emulator: S3Server) -> None:
    emulator.clock_offset = 100.0
    ferry = serve(spawn, emulator)
    start = ferry.call("channel/subscribe", channels=["c"])["timetoken"]
    sent = ferry.call("file/send", channel="c", name="n", text="x", message="m")["timetoken"]
    for timetoken in (start, sent):
        assert abs(int(timetoken) - now() - 100 * SECOND) < 30 * SECOND
    assert ferry.event("message")["timetoken"] == sent


def test_a_quiet_channel_costs_one_short_list_a_turn(spawn: Spawn, emulator: S3Server) -> None:
    ferry = serve(spawn, emulator)
    ferry.call("channel/subscribe", channels=["c"])
    emulator.wait_for(4, "GET")
    assert all("max-keys=10&" in line for line in emulator.lines("GET")[1:])
    assert set(emulator.lines()) == set(emulator.lines("GET"))


def test_what_s3_has_not_is_refused(spawn: Spawn, emulator: S3Server) -> None:
    ferry = serve(spawn, emulator)
    for params in ({"filter": "a"}, {"groups": ["g"]}):
        error = ferry.error("channel/subscribe", channels=["c"], **params)
        assert error.code == "ERR_INVALID_ARGUMENT"
    error = ferry.error("file/send", channel="c", name="n", text="x", cipherKey="k")
    assert error.data["field"] == "/cipherKey"
    error = ferry.error("file/send", channel="c", name="n", text="x", message="m" * MIB)
    assert error.code == "ERR_INVALID_ARGUMENT" and error.data["field"] == "/message"
    assert ferry.error("message/get", messageId="c:17000000000000000").code == "ERR_NOT_FOUND"
