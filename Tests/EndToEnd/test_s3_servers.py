"""Ferry against S3 servers that no one here wrote, checked by clients that no one here wrote."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest
import s3_servers
from files import MIB, content, parts, sha256, sha256_of, write_file
from s3_servers import BUCKET, Server
from sidecar import Sidecar

Spawn = Callable[..., Sidecar]
PART = 5 * MIB
SIZES = [0, 1, PART - 1, PART, PART + 1, 16 * MIB, 16 * MIB + 1, 10 * PART]
NAMES = [
    "plain.txt",
    "with space.txt",
    "plus+percent%hash#question?.txt",
    "amp&single'double\".txt",
    "semi;colon:at@comma,equals=.txt",
    "emoji 🚢.txt",
    "nfc-\u00e9.txt",
    "nfd-e\u0301.txt",
    "brackets[](){}<>.txt",
    "tilde~star*pipe|.txt",
    "deep/er/and deeper/file.txt",
]


@pytest.fixture(scope="module", params=["seaweedfs", "rclone"])
def server(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    start = {"seaweedfs": s3_servers.seaweedfs, "rclone": s3_servers.rclone}[request.param]
    with start(tmp_path_factory.mktemp(request.param)) as running:
        yield running
        assert running.uploads() == [], "uploads are left that nobody will complete"


@pytest.fixture
def ferry(server: Server, spawn: Spawn, request: Any) -> Sidecar:
    """A process whose only remote is the server, below a prefix of the test's own."""
    return serve(spawn, server, request.node.name)


def serve(spawn: Spawn, server: Server, prefix: str, **more: Any) -> Sidecar:
    sidecar = spawn()
    prefix = "".join(c if c.isalnum() else "-" for c in prefix)
    remote = {**server.settings, "prefix": prefix, "partSize": "5 MiB", **more}
    sidecar.call("initialize", config={"default": "store", "remotes": {"store": remote}})
    sidecar.prefix = prefix  # type: ignore[attr-defined]
    return sidecar


def fetch(ferry: Sidecar, ref: str) -> bytes:
    reply = ferry.call("object/get", ref=ref, target={"inline": True, "maxSize": 8 * MIB})
    return base64.b64decode(reply["data"])


@pytest.mark.parametrize("size", SIZES)
def test_every_size_goes_up_and_comes_down(ferry: Sidecar, server: Server, size: int) -> None:
    digest = write_file(ferry.work / "source", size)
    stored = ferry.call("object/put", ref="a/file.bin", path="source", transferId="up")
    assert stored["metadata"]["size"] == size
    assert stored["metadata"]["sha256"] == digest
    assert stored["metadata"]["bucket"] == BUCKET
    reply = ferry.call("object/get", ref="a/file.bin", target="copy", transferId="down")
    assert (reply["size"], reply["sha256"]) == (size, digest)
    assert sha256_of(ferry.work / "copy") == digest
    assert parts(ferry.work) == []
    # And as somebody else sees it.
    away = ferry.work / "away"
    server.aws("s3", "cp", f"s3://{BUCKET}/{ferry.prefix}/a/file.bin", away)  # type: ignore[attr-defined]
    assert sha256_of(away) == digest
    assert ferry.call("object/metadata", ref="a/file.bin")["metadata"]["size"] == size
    ferry.call("object/delete", ref="a/file.bin")
    assert ferry.error("object/get", ref="a/file.bin").code == "ERR_NOT_FOUND"


@pytest.mark.parametrize("client", ["aws", "s5cmd", "rclone"])
def test_others_read_what_ferry_wrote(ferry: Sidecar, server: Server, client: str) -> None:
    prefix = ferry.prefix  # type: ignore[attr-defined]
    for number, name in enumerate(NAMES):
        ferry.call("object/put", ref=name, text=f"content {number}")
    folder = ferry.work / "theirs"
    folder.mkdir()
    copy_tree(server, client, f"s3://{BUCKET}/{prefix}/", folder)
    found = {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}
    assert found == {name: f"content {number}" for number, name in enumerate(NAMES)}


@pytest.mark.parametrize("client", ["aws", "s5cmd", "rclone"])
def test_ferry_reads_what_others_wrote(ferry: Sidecar, server: Server, client: str) -> None:
    prefix = ferry.prefix  # type: ignore[attr-defined]
    folder = ferry.work / "ours"
    for number, name in enumerate(NAMES):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"content {number}")
    (folder / "large.bin").write_bytes(content(17 * MIB))
    copy_tree(server, client, folder, f"s3://{BUCKET}/{prefix}/")
    listed = ferry.call("object/list", recursive=True)
    assert sorted(item["ref"] for item in listed["items"]) == sorted([*NAMES, "large.bin"])
    for number, name in enumerate(NAMES):
        assert fetch(ferry, name) == f"content {number}".encode()
    reply = ferry.call("object/get", ref="large.bin", target="large.bin")
    assert reply["sha256"] == sha256(content(17 * MIB))


def copy_tree(server: Server, client: str, source: str | Path, target: str | Path) -> None:
    if client == "aws":
        server.aws("s3", "cp", "--recursive", source, target)
    elif client == "s5cmd":
        wildcard = f"{source}*" if str(source).startswith("s3://") else f"{source}/"
        server.client("s5cmd", "--endpoint-url", server.endpoint, "cp", wildcard, f"{target}/"
                      if not str(target).endswith("/") else target)  # fmt: skip
    else:
        as_rclone = [str(p).replace("s3://", "x:") for p in (source, target)]
        server.client("rclone", "copy", *as_rclone)


def test_metadata_is_kept_changed_and_seen_by_others(ferry: Sidecar, server: Server) -> None:
    prefix = ferry.prefix  # type: ignore[attr-defined]
    metadata = {
        "contentType": "text/x-ferry",
        "cacheControl": "max-age=60",
        "contentDisposition": 'attachment; filename="a.txt"',
        "contentLanguage": "de",
        "custom": {"colour": "blue", "size-of-it": "12 cm"},
    }
    stored = ferry.call("object/put", ref="m.txt", text="hello", metadata=metadata)["metadata"]
    assert {key: stored[key] for key in metadata} == metadata
    if server.kind == "rclone":
        return  # it keeps no metadata beyond its own process and shows none on HEAD
    seen = json.loads(
        server.aws("s3api", "head-object", "--bucket", BUCKET, "--key", f"{prefix}/m.txt")
    )
    assert seen["ContentType"] == "text/x-ferry"
    assert seen["CacheControl"] == "max-age=60"
    assert {"colour": "blue", "size-of-it": "12 cm"}.items() <= seen["Metadata"].items()
    patch = {"cacheControl": None, "custom": {"colour": None, "shape": "round"}}
    updated = ferry.call("object/update", ref="m.txt", metadata=patch)["metadata"]
    assert updated["custom"] == {"size-of-it": "12 cm", "shape": "round"}
    assert updated.get("cacheControl") is None
    assert updated["contentType"] == "text/x-ferry"
    assert fetch(ferry, "m.txt") == b"hello"


def test_lists_are_paged_with_prefixes(ferry: Sidecar) -> None:
    names = [f"top/{letter}/{number}.txt" for letter in "ab" for number in range(3)]
    for name in [*names, "top/z.txt"]:
        ferry.call("object/put", ref=name, text=name)
    page = ferry.call("object/list", ref="top")
    assert [item["ref"] for item in page["items"]] == ["top/z.txt"]
    assert page["prefixes"] == ["top/a", "top/b"]
    seen: list[str] = []
    following: str | None = None
    while True:
        more = {"next": following} if following else {}
        page = ferry.call("object/list", ref="top", recursive=True, limit=2, **more)
        assert len(page["items"]) <= 2
        seen += [item["ref"] for item in page["items"]]
        following = page["next"]
        if following is None:
            break
    assert seen == sorted([*names, "top/z.txt"])


def test_a_signed_url_works_without_credentials(ferry: Sidecar) -> None:
    import urllib.request

    ferry.call("object/put", ref="u r+l.txt", text="fetched")
    reply = ferry.call("object/url", ref="u r+l.txt", expiresIn=60)
    assert reply["expires"]
    with urllib.request.urlopen(reply["url"], timeout=30) as answer:
        assert answer.read() == b"fetched"


def test_names_a_server_would_merge_are_refused(ferry: Sidecar, server: Server) -> None:
    if server.kind == "seaweedfs":
        for name in ("back\\slash", "dot/./dot", "dot/../dot"):
            error = ferry.error("object/put", ref=name, text="x")
            assert error.code == "ERR_INVALID_REFERENCE", name
    else:
        error = ferry.error("object/put", ref="x" * 300, text="x")
        assert error.code == "ERR_INVALID_REFERENCE"


def test_conditions_hold_or_are_refused(ferry: Sidecar, server: Server) -> None:
    if server.kind == "rclone":
        error = ferry.error("object/put", ref="c.txt", text="x", ifNoneMatch="*")
        assert error.code == "ERR_UNSUPPORTED"
        return
    stored = ferry.call("object/put", ref="c.txt", text="one", ifNoneMatch="*")["metadata"]
    error = ferry.error("object/put", ref="c.txt", text="two", ifNoneMatch="*")
    assert error.code == "ERR_PRECONDITION_FAILED"
    ferry.call("object/put", ref="c.txt", text="three", ifMatch=stored["etag"])
    error = ferry.error("object/put", ref="c.txt", text="four", ifMatch=stored["etag"])
    assert error.code == "ERR_PRECONDITION_FAILED"
    assert fetch(ferry, "c.txt") == b"three"


def test_a_cancelled_upload_leaves_nothing(ferry: Sidecar, server: Server) -> None:
    write_file(ferry.work / "large", 40 * MIB)
    ferry.call("limits/set", uploadRate=8 * MIB)
    request = ferry.start("object/put", ref="large", path="large", transferId="t")
    ferry.event("progress", transferId="t")
    ferry.call("transfer/cancel", transferId="t")
    assert ferry.reply(request)["error"]["data"]["code"] == "ERR_CANCELLED"
    assert server.uploads() == []
    assert ferry.error("object/metadata", ref="large").code == "ERR_NOT_FOUND"


def test_an_upload_pauses_and_goes_on(ferry: Sidecar) -> None:
    digest = write_file(ferry.work / "large", 40 * MIB)
    ferry.call("limits/set", uploadRate=16 * MIB)
    request = ferry.start("object/put", ref="large", path="large", transferId="t")
    ferry.event("progress", transferId="t")
    ferry.call("transfer/pause", transferId="t")
    ferry.event("paused", transferId="t")
    ferry.call("limits/set", uploadRate=None)
    ferry.call("transfer/resume", transferId="t")
    assert ferry.result(request)["metadata"]["sha256"] == digest
    assert ferry.call("object/get", ref="large", target="back")["sha256"] == digest


def test_a_killed_upload_goes_on_where_it_was(server: Server, spawn: Spawn, request: Any) -> None:
    first = serve(spawn, server, request.node.name)
    digest = write_file(first.work / "large", 60 * MIB)
    first.call("limits/set", uploadRate=20 * MIB)
    first.start("object/put", ref="large", path="large", transferId="t")
    while first.event("progress", transferId="t")["loaded"] < 30 * MIB:
        pass
    first.kill()
    second = serve(spawn, server, request.node.name)
    assert second.call("transfer/get", transferId="t")["state"] == "interrupted"
    before = second.call("server/stats")["remotes"]["store"]["bytesUp"]
    result = second.result(second.start("object/put", ref="large", path="large", transferId="t"))
    assert result["metadata"]["sha256"] == digest
    again = second.call("server/stats")["remotes"]["store"]["bytesUp"] - before
    if server.kind == "seaweedfs":
        # What was in flight on four connections is sent again, and no more.
        assert again <= 60 * MIB - 30 * MIB + 4 * PART + PART
    assert second.call("object/get", ref="large", target="back")["sha256"] == digest
    assert server.uploads() == []


def test_an_upload_that_nobody_heard_of_is_removed(
    server: Server, spawn: Spawn, request: Any
) -> None:
    first = serve(spawn, server, request.node.name)
    write_file(first.work / "large", 20 * MIB)
    first.call("limits/set", uploadRate=8 * MIB)
    name = "a+b & 50% é.txt"
    first.start("file/send", channel="c", path="large", name=name, transferId="t")
    first.event("progress", transferId="t")
    first.kill()
    [key] = server.uploads("Key")
    # As if its answer had been lost; and another's.
    for stray in (key, "k"):
        server.aws("s3api", "create-multipart-upload", "--bucket", BUCKET, "--key", stray)
    assert len(server.uploads()) == 3
    second = serve(spawn, server, request.node.name)
    second.call("transfer/resume", transferId="t")
    second.event("uploaded", transferId="t")
    assert server.uploads("Key") == ["k"]
    [other] = server.uploads()
    server.aws(
        "s3api", "abort-multipart-upload", "--bucket", BUCKET, "--key", "k", "--upload-id", other
    )


def test_a_killed_download_goes_on_where_it_was(server: Server, spawn: Spawn, request: Any) -> None:
    first = serve(spawn, server, request.node.name)
    digest = write_file(first.work / "large", 80 * MIB)
    first.call("object/put", ref="large", path="large")
    first.call("limits/set", downloadRate=20 * MIB)
    first.start("object/get", ref="large", target="back", transferId="t")
    while first.event("progress", transferId="t")["loaded"] < 45 * MIB:
        pass
    first.kill()
    second = serve(spawn, server, request.node.name)
    assert second.call("transfer/get", transferId="t")["state"] == "interrupted"
    result = second.result(second.start("object/get", ref="large", target="back", transferId="t"))
    assert result["sha256"] == digest
    assert sha256_of(second.work / "back") == digest
    assert second.call("server/stats")["remotes"]["store"]["bytesDown"] <= 80 * MIB - 12 * MIB
    assert parts(second.work) == []


def test_a_stream_goes_up_and_comes_down(ferry: Sidecar) -> None:
    data = content(18 * MIB)
    request = ferry.start("object/put", ref="s", stream={}, transferId="up")
    for offset in range(0, len(data), MIB):
        piece = base64.b64encode(data[offset : offset + MIB]).decode()
        ferry.call("stream/write", transferId="up", data=piece)
    ferry.call("stream/close", transferId="up")
    assert ferry.result(request)["metadata"]["sha256"] == sha256(data)
    request = ferry.start("object/get", ref="s", target={"stream": True}, transferId="down")
    got = bytearray()
    while True:
        reply = ferry.call("stream/read", transferId="down")
        got += base64.b64decode(reply["data"])
        if reply["eof"]:
            break
    assert bytes(got) == data
    assert ferry.result(request)["sha256"] == sha256(data)


def test_a_range_is_fetched_alone(ferry: Sidecar) -> None:
    data = content(20 * MIB)
    (ferry.work / "f").write_bytes(data)
    ferry.call("object/put", ref="f", path="f")
    for offset, length in [(0, 1), (17, 100), (3 * MIB + 1, 12 * MIB), (20 * MIB - 5, 5)]:
        wanted = {"offset": offset, "length": length}
        reply = ferry.call("object/get", ref="f", target="r", range=wanted)
        assert reply["size"] == length
        assert (ferry.work / "r").read_bytes() == data[offset : offset + length]
        (ferry.work / "r").unlink()


def test_wrong_keys_are_told(server: Server, spawn: Spawn) -> None:
    sidecar = serve(spawn, server, "wrong", secretAccessKey="not-the-secret")
    error = sidecar.error("object/put", ref="x", text="y")
    assert error.code in {"ERR_UNAUTHENTICATED", "ERR_PERMISSION_DENIED"}
    assert "not-the-secret" not in json.dumps(error.error)
    sidecar.call(
        "remote/credentials",
        remote="store",
        accessKeyId=s3_servers.KEY_ID,
        secretAccessKey=s3_servers.SECRET,
    )
    sidecar.call("object/put", ref="x", text="y")
