"""Kind s3 against a strict server that misbehaves as told: nothing is mixed, lost or left."""

from __future__ import annotations

import base64
import subprocess
import threading
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from files import MIB, content, parts, sha256, sha256_of, write_file
from s3 import S3Server
from s3_support import Spawn, checked_server, serve
from sidecar import Sidecar

LARGE = 20 * MIB  # three parts up; a first piece of 1 MiB and three more down
ALWAYS = -1


@pytest.fixture
def server() -> Iterator[S3Server]:
    yield from checked_server()


@pytest.fixture
def ferry(spawn: Spawn, server: S3Server) -> Sidecar:
    return serve(spawn, server)


def put_large(ferry: Sidecar, **params: Any) -> tuple[str, Any]:
    digest = write_file(ferry.work / "large", LARGE)
    return digest, ferry.call("object/put", ref="large", path="large", **params)


def stored_large(server: S3Server, seed: int = 1) -> bytes:
    """An object that somebody else put there."""
    data = content(LARGE, seed)
    server.bucket.put("large", {}, data)
    return data


def get_large(ferry: Sidecar) -> str:
    reply = ferry.call("object/get", ref="large", target="back")
    assert sha256_of(ferry.work / "back") == reply["sha256"]
    assert parts(ferry.work) == []
    return str(reply["sha256"])


def retries(ferry: Sidecar) -> int:
    return int(ferry.call("server/stats")["remotes"]["store"]["retries"])


# Names, metadata and lists, as signed and sent.

NAMES = [
    "a b+c%20%#?&='\".txt", "é/e\u0301/🙂", "~!*()@:,;$[]{}|^`<>", "\u0301mark", "x" * 1000,
    "..", "a/./b", "back\\slash", " leading", "trailing ", "%", "100%",
]  # fmt: skip


def test_every_name_and_all_metadata_come_back(ferry: Sidecar, server: S3Server) -> None:
    metadata = {
        "contentType": "text/x; charset=utf-8",
        "cacheControl": "no-cache",
        "custom": {"authorName": "Ada Größe", "k": "  two  blanks ", "日本": "語", "empty": ""},
    }
    for name in NAMES:
        stored = ferry.call("object/put", ref=name, text=name, metadata=metadata)["metadata"]
        assert server.bucket.objects[name].content == name.encode()
        seen = ferry.call("object/metadata", ref=name)["metadata"]
        assert {key: seen[key] for key in metadata} == metadata
        assert {key: stored[key] for key in metadata} == metadata
        reply = ferry.call("object/get", ref=name, target={"inline": True})
        assert base64.b64decode(reply["data"]).decode() == name
        url = ferry.call("object/url", ref=name)["url"]
        with urllib.request.urlopen(url, timeout=30) as answer:
            assert answer.read().decode() == name
    listed = ferry.call("object/list", recursive=True)
    assert [item["ref"] for item in listed["items"]] == sorted(NAMES, key=str.encode)
    patch = {"cacheControl": None, "custom": {"authorName": None, "newKey": "ü"}}
    changed = ferry.call("object/update", ref=NAMES[0], metadata=patch)["metadata"]
    assert changed["custom"] == {"k": "  two  blanks ", "日本": "語", "empty": "", "newKey": "ü"}
    assert "cacheControl" not in changed
    for name in NAMES:
        ferry.call("object/delete", ref=name)
        assert ferry.error("object/delete", ref=name).code == "ERR_NOT_FOUND"
    assert server.bucket.objects == {}


def test_long_lists_come_in_pages(ferry: Sidecar, server: S3Server) -> None:
    names = [f"f {i % 7}/{i:04} +é.txt" for i in range(1500)]
    for name in names:
        server.bucket.put(name, {}, b"x")
    server.bucket.put("f 0/", {}, b"")  # how consoles make a folder
    seen, following = [], None
    while True:
        more = {"next": following} if following else {}
        page = ferry.call("object/list", recursive=True, **more)
        seen += [item["ref"] for item in page["items"]]
        if (following := page["next"]) is None:
            break
    assert seen == sorted(names)
    assert ferry.call("object/list")["prefixes"] == [f"f {i}" for i in range(7)]
    assert ferry.error("object/list", next="made up").data["field"] == "/next"


def test_files_of_channels_are_listed_linked_fetched_and_removed(
    ferry: Sidecar, server: S3Server
) -> None:
    server.bucket.put("channels/a~2Fb/files/1/x ~5C.txt", {}, b"hello")
    page = ferry.call("file/list", channel="a/b")
    assert [(f["id"], f["name"], f["size"]) for f in page["files"]] == [("1", "x \\.txt", 5)]
    key = {"channel": "a/b", "id": "1", "name": "x \\.txt"}
    url = ferry.call("file/url", **key)["url"]
    for place in (key, {"url": url}):
        reply = ferry.call("file/download", target={"inline": True}, **place)
        assert base64.b64decode(reply["data"]) == b"hello"
    ferry.call("file/delete", **key)
    assert ferry.error("file/delete", **key).code == "ERR_NOT_FOUND"


# Uploads.


def test_parts_are_checked_by_crc32c(spawn: Spawn, server: S3Server) -> None:
    ferry = serve(spawn, server, checksum="crc32c")
    digest, reply = put_large(ferry)
    assert sha256(server.bucket.objects["large"].content) == digest
    assert reply["metadata"]["etag"] == server.bucket.objects["large"].etag.strip('"')
    assert {r.headers.get("x-amz-checksum-crc32c") is None for r in server.requests} == {
        True,
        False,
    }


@pytest.mark.parametrize(
    "fault",
    [
        {"drop_before": True},
        {"drop_during": MIB},
        {"drop_after": True},
        {"status": 500, "code": "InternalError"},
        {"status": 503, "code": "SlowDown", "headers": {"Retry-After": "0"}},
        {"status": 400, "code": "RequestTimeout"},
        {"status": 400, "code": "BadDigest"},
        {"status": 502},
    ],
    ids=str,
)
@pytest.mark.parametrize("query", ["partNumber=2", "uploadId"])
def test_a_part_or_the_completion_that_fails_once_is_sent_again(
    ferry: Sidecar, server: S3Server, fault: dict[str, Any], query: str
) -> None:
    method = "PUT" if "partNumber" in query else "POST"
    if method == "POST" and "drop_during" in fault:
        fault = {"drop_during": 10}
    met = server.fault(method=method, query=query, **fault)
    digest, reply = put_large(ferry)
    assert met.met == 1
    assert reply["metadata"]["sha256"] == digest
    assert sha256(server.bucket.objects["large"].content) == digest
    # A dead connection that was reused may be tried again by libcurl itself.
    assert retries(ferry) <= 1
    assert len(server.lines("PUT")) <= 4


@pytest.mark.parametrize(
    "fault",
    [{"drop_before": True}, {"drop_after": True}, {"status": 503, "code": "SlowDown"}],
    ids=str,
)
def test_a_beginning_that_fails_once_is_tried_again(
    ferry: Sidecar, server: S3Server, fault: dict[str, Any]
) -> None:
    server.fault(query="uploads", **fault)
    digest, _ = put_large(ferry)
    assert sha256(server.bucket.objects["large"].content) == digest
    left = server.bucket.uploads
    assert len(left) == (1 if "drop_after" in fault else 0)
    assert all(upload.parts == {} for upload in left.values())
    left.clear()


@pytest.mark.parametrize("body", [b"", b"   ", b"<Error><Code>InternalError</Code></Error>"])
def test_a_completion_of_status_200_is_not_believed(
    ferry: Sidecar, server: S3Server, body: bytes
) -> None:
    server.fault(method="POST", query="uploadId", body=body)
    digest, _ = put_large(ferry)
    assert sha256(server.bucket.objects["large"].content) == digest
    assert len(server.lines("POST")) == 3


def test_an_object_that_looks_like_an_error_is_an_object(ferry: Sidecar) -> None:
    text = "<Error><Code>NoSuchKey</Code></Error>"
    ferry.call("object/put", ref="k", text=text)
    reply = ferry.call("object/get", ref="k", target={"inline": True})
    assert base64.b64decode(reply["data"]) == text.encode()


def test_a_lost_answer_to_a_conditional_put_is_settled(ferry: Sidecar, server: S3Server) -> None:
    server.fault(method="PUT", drop_after=True)
    ferry.call("object/put", ref="k", text="mine", ifNoneMatch="*")
    assert server.lines() == ["PUT k", "PUT k", "HEAD k"]
    server.fault(method="PUT", drop_after=True)
    error = ferry.error("object/put", ref="k", text="other", ifNoneMatch="*")
    assert error.code == "ERR_PRECONDITION_FAILED"
    assert server.bucket.objects["k"].content == b"mine"


def test_a_lost_answer_to_a_conditional_completion_is_settled(
    ferry: Sidecar, server: S3Server
) -> None:
    server.fault(method="POST", query="uploadId", drop_after=True)
    digest, _ = put_large(ferry, ifNoneMatch="*")
    assert sha256(server.bucket.objects["large"].content) == digest


@pytest.mark.parametrize("code", ["InvalidPart", "NoSuchUpload"])
def test_an_upload_that_is_lost_is_begun_anew(ferry: Sidecar, server: S3Server, code: str) -> None:
    status = 404 if code == "NoSuchUpload" else 400
    forget = server.bucket.uploads.clear if code == "NoSuchUpload" else None
    server.fault(method="POST", query="uploadId", status=status, code=code, before=forget)
    digest, _ = put_large(ferry)
    assert sha256(server.bucket.objects["large"].content) == digest
    assert len(server.lines("PUT")) == 6


def test_a_part_that_stalls_is_sent_again(ferry: Sidecar, server: S3Server) -> None:
    held = threading.Event()
    server.fault(query="partNumber=1", gate=held)
    digest, _ = put_large(ferry)
    held.set()
    assert sha256(server.bucket.objects["large"].content) == digest
    assert retries(ferry) == 1


@pytest.mark.parametrize("query", ["partNumber=2", "uploadId"])
def test_what_is_refused_for_good_leaves_no_parts(
    ferry: Sidecar, server: S3Server, query: str
) -> None:
    method = "PUT" if "partNumber" in query else "POST"
    server.fault(method=method, query=query, status=403, code="AccessDenied")
    write_file(ferry.work / "large", LARGE)
    error = ferry.error("object/put", ref="large", path="large")
    assert error.code == "ERR_PERMISSION_DENIED"
    assert error.data["serverCode"] == "AccessDenied"
    assert not error.data["retryable"]
    assert server.bucket.objects == {}


def test_retries_end_and_what_was_sent_is_kept_for_the_next(spawn: Spawn, server: S3Server) -> None:
    ferry = serve(spawn, server, retries=1)
    others = lambda: server.wait_for(2, "PUT")  # noqa: E731
    fault = server.fault(
        query="partNumber=3", status=500, code="InternalError", times=2, before=others
    )
    digest = write_file(ferry.work / "large", LARGE)
    error = ferry.error("object/put", ref="large", path="large", transferId="t")
    assert (error.code, error.data["retryable"]) == ("ERR_SERVER", True)
    assert fault.met == 2
    assert len(server.bucket.uploads) == 1
    ferry.call("transfer/retry", transferId="t")
    ferry.event("uploaded", transferId="t")
    assert sha256(server.bucket.objects["large"].content) == digest
    # The third, twice in vain, and never one that the server had.
    assert sorted(server.lines("PUT"))[-3:] == [server.lines("PUT")[-1]] * 3
    assert len(server.lines("PUT")) == 5


def test_a_source_that_shrinks_becomes_no_object(ferry: Sidecar, server: S3Server) -> None:
    write_file(ferry.work / "large", LARGE)
    path = ferry.work / "large"
    server.fault(query="uploads", before=lambda: path.write_bytes(b"x" * (17 * MIB)))
    error = ferry.error("object/put", ref="large", path="large")
    assert error.code == "ERR_FILE_CHANGED"
    assert server.bucket.objects == {}


# Downloads.


def test_an_object_that_is_replaced_is_never_mixed(ferry: Sidecar, server: S3Server) -> None:
    stored_large(server)
    new: list[bytes] = []
    server.fault(method="GET", skip=2, before=lambda: new.append(stored_large(server, seed=2)))
    assert get_large(ferry) == sha256(new[0])


def test_an_object_that_never_stays_the_same_fails(ferry: Sidecar, server: S3Server) -> None:
    stored_large(server)
    seeds = iter(range(2, 100))
    server.fault(method="GET", times=ALWAYS, before=lambda: stored_large(server, seed=next(seeds)))
    error = ferry.error("object/get", ref="large", target="back")
    assert (error.code, error.data["retryable"]) == ("ERR_CHECKSUM_MISMATCH", True)
    assert not (ferry.work / "back").exists()
    assert parts(ferry.work) == []


@pytest.mark.parametrize(
    "fault",
    [
        {"drop_before": True},
        {"drop_after": True},
        {"truncate": 100_000},
        {"truncate": 0},
        {"stall": 100_000},
        {"stall": 0},
        {"drip": 400_000, "pause": 0.01},
        {"status": 500},
        {"status": 503, "code": "SlowDown", "headers": {"x-amz-retry-after": "10"}},
        {"status_shown": 200},
        {"replace": {"ETag": '"other"'}},
    ],
    ids=str,
)
@pytest.mark.parametrize("piece", [0, 2])
def test_a_range_that_fails_once_is_fetched_again(
    ferry: Sidecar, server: S3Server, fault: dict[str, Any], piece: int
) -> None:
    digest = sha256(stored_large(server))
    met = server.fault(method="GET", skip=piece, **fault)
    assert get_large(ferry) == digest
    assert met.met == 1
    # Nothing is fetched twice but the range in question, unless the object was another one.
    if "replace" not in fault:
        assert len(server.lines("GET")) <= 5


def test_a_server_that_knows_no_ranges_sends_all_at_once(ferry: Sidecar, server: S3Server) -> None:
    digest = sha256(stored_large(server))
    server.fault(method="GET", whole=True, times=ALWAYS)
    assert get_large(ferry) == digest
    small = ferry.call("object/put", ref="small", text="hello")
    reply = ferry.call(
        "object/get", ref="small", target={"inline": True}, range={"offset": 1, "length": 3}
    )
    assert base64.b64decode(reply["data"]) == b"ell"
    assert reply["metadata"]["etag"] == small["metadata"]["etag"]
    error = ferry.error("object/get", ref="large", target={"stream": True}, transferId="s")
    assert error.code == "ERR_UNSUPPORTED"


@pytest.mark.parametrize("piece", [0, 1])
def test_other_bytes_than_were_asked_for_are_refused(
    ferry: Sidecar, server: S3Server, piece: int
) -> None:
    stored_large(server)
    wrong = {"Content-Range": f"bytes 5-1048580/{LARGE}"}
    server.fault(method="GET", skip=piece, replace=wrong)
    error = ferry.error("object/get", ref="large", target="back")
    assert error.code == "ERR_SERVER"
    assert parts(ferry.work) == []


def test_damage_that_nobody_else_notices_is_found(ferry: Sidecar, server: S3Server) -> None:
    ferry.call("object/put", ref="small", text="hello")
    server.bucket.objects["small"].content = b"hellO"
    error = ferry.error("object/get", ref="small", target={"inline": True})
    assert error.code == "ERR_CHECKSUM_MISMATCH"
    # Who wants no digest computed has nothing to compare.
    got = ferry.call("object/get", ref="small", target={"inline": True}, digest="none")
    assert base64.b64decode(got["data"]) == b"hellO"
    assert "sha256" not in got


def test_an_object_without_an_etag_has_its_own_digest(ferry: Sidecar, server: S3Server) -> None:
    data = stored_large(server)
    server.fault(method="GET", replace={"ETag": None}, times=ALWAYS)
    assert get_large(ferry) == sha256(data)


def test_a_part_of_which_nobody_says_where_it_lies_is_refused(
    ferry: Sidecar, server: S3Server
) -> None:
    stored_large(server)
    server.fault(method="GET", replace={"Content-Range": None}, times=ALWAYS)
    error = ferry.error("object/get", ref="large", target="back")
    assert error.code == "ERR_SERVER"
    assert parts(ferry.work) == []


# Ways there.


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("certificate")
    cert, key = str(folder / "cert.pem"), str(folder / "key.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key,
         "-out", cert, "-subj", "/CN=ferry test", "-addext", "subjectAltName=IP:127.0.0.1,IP:::1"],
        check=True, capture_output=True,
    )  # fmt: skip
    return cert, key


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("isSecure", [False, True])
def test_http_and_https_over_both_families(
    spawn: Spawn, certificate: tuple[str, str], host: str, isSecure: bool
) -> None:
    with S3Server(host=host, certificate=certificate if isSecure else None) as server:
        ferry = serve(spawn, server, caFile=certificate[0] if isSecure else None)
        digest, _ = put_large(ferry)
        assert get_large(ferry) == digest
        assert server.violations == []
        if isSecure:
            stranger = serve(spawn, server, retries=0)
            error = stranger.error("object/metadata", ref="large")
            assert (error.code, error.data["retryable"]) == ("ERR_NETWORK", False)


def test_no_connection_is_left_when_the_process_ends(ferry: Sidecar, server: S3Server) -> None:
    put_large(ferry)
    assert server.connections <= 10
    ferry.close_stdin()
    ferry.wait_exit()
    for connection in list(server._open):
        assert connection.recv(1) == b""
