"""Kind s3: clocks, regions, credentials, and what a kill must not make of kept content."""

from __future__ import annotations

import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from files import MIB, sha256, write_file
from s3 import S3Server
from s3_support import Spawn, checked_server, serve
from sidecar import Sidecar

LARGE = 20 * MIB


@pytest.fixture
def server() -> Iterator[S3Server]:
    yield from checked_server()


@pytest.fixture
def ferry(spawn: Spawn, server: S3Server) -> Sidecar:
    return serve(spawn, server)


def test_a_clock_that_is_off_is_learned_once(ferry: Sidecar, server: S3Server) -> None:
    server.clock_offset = 7200
    for number in range(3):
        ferry.call("object/put", ref=f"k{number}", text="x")
    assert [r.status for r in server.requests] == [403, 200, 200, 200]
    with urllib.request.urlopen(ferry.call("object/url", ref="k0")["url"], timeout=30) as answer:
        assert answer.read() == b"x"


def test_a_region_is_learned_once(ferry: Sidecar, server: S3Server) -> None:
    server.region = "eu-central-1"
    for number in range(3):
        ferry.call("object/put", ref=f"k{number}", text="x")
    assert [r.status for r in server.requests] == [400, 200, 200, 200]


@pytest.mark.parametrize("what", ["region", "clock"])
def test_what_one_answer_teaches_holds_for_requests_under_way(
    ferry: Sidecar, server: S3Server, what: str
) -> None:
    if what == "region":
        server.region = "eu-central-1"
    else:
        server.clock_offset = 7200
    together = threading.Barrier(4)
    server.fault(method="PUT", before=together.wait, times=4)
    puts = [ferry.start("object/put", ref=f"k{number}", text="x") for number in range(4)]
    for put in puts:
        ferry.result(put)
    assert sorted(server.bucket.objects) == ["k0", "k1", "k2", "k3"]


def test_a_spool_that_was_damaged_is_not_sent(spawn: Spawn, server: S3Server, home: Path) -> None:
    arrived, release = threading.Event(), threading.Event()

    def hold() -> None:
        arrived.set()
        release.wait(30)

    server.fault(method="PUT", before=hold, drop_before=True)
    ferry = serve(spawn, server)
    ferry.call("object/put", ref="k", text="x" * 20_000, transferId="t", detach=True)
    assert arrived.wait(30)
    ferry.kill()
    [spool] = [f for f in home.rglob("*") if f.is_file() and f.stat().st_size == 20_000]
    with spool.open("r+b") as file:
        file.truncate(7_000)
    release.set()
    later = serve(spawn, server)
    later.call("transfer/resume", transferId="t")
    failure = later.event("error", transferId="t")["error"]["data"]
    assert failure["code"] == "ERR_FILE_CHANGED"
    assert server.bucket.objects == {}


def test_new_credentials_go_on_with_what_the_old_ones_began(spawn: Spawn, server: S3Server) -> None:
    server.keys = {"KEY": ("SECRET", "token-1")}
    ferry = serve(spawn, server, sessionToken="token-1")
    digest = write_file(ferry.work / "large", LARGE)
    expire = lambda: server.keys.update(KEY=("SECRET", "token-2"))  # noqa: E731
    server.fault(query="partNumber=3", before=expire)
    error = ferry.error("object/put", ref="large", path="large", transferId="t")
    assert error.code == "ERR_UNAUTHENTICATED"
    assert "token-1" not in str(error.error)
    ferry.call(
        "remote/credentials",
        remote="store",
        accessKeyId="KEY",
        secretAccessKey="SECRET",
        sessionToken="token-2",
    )
    ferry.call("transfer/retry", transferId="t")
    ferry.event("uploaded", transferId="t")
    assert sha256(server.bucket.objects["large"].content) == digest
    server.bucket.uploads.clear()  # the first try's, which its key could no longer abort


def test_keys_are_found_where_awss_own_tools_look(
    spawn: Spawn, server: S3Server, home: Path
) -> None:
    (home / ".aws").mkdir()
    (home / ".aws" / "credentials").write_text(
        "[default]\naws_access_key_id = OLD\naws_secret_access_key = old\n"
    )
    ferry = serve(spawn, server, accessKeyId=None, secretAccessKey=None)
    assert ferry.error("object/put", ref="k", text="x").code == "ERR_UNAUTHENTICATED"
    (home / ".aws" / "credentials").write_text(
        "[default]\naws_access_key_id = KEY\naws_secret_access_key = SECRET\n"
    )
    ferry.call("object/put", ref="k", text="x")


def test_without_keys_the_error_says_where_they_are_looked_for(
    spawn: Spawn, server: S3Server
) -> None:
    ferry = serve(spawn, server, accessKeyId=None, secretAccessKey=None)
    error = ferry.error("object/put", ref="k", text="x")
    assert error.code == "ERR_UNAUTHENTICATED"
    assert "AWS_ACCESS_KEY_ID" in str(error)
    assert server.requests == []
