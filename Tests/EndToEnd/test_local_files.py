"""Local files as sources, names from remotes, and the limits of a configuration."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any, Callable
from urllib.parse import unquote, urlsplit

import pytest
from files import MIB, parts, sha256_of, slow_upload, write_file
from sidecar import Sidecar

Spawn = Callable[..., Sidecar]


def rejected(ferry: Sidecar, **source: Any) -> str:
    """The code an upload is rejected with; nothing of it may remain."""
    error = ferry.error("object/put", ref="a", transferId="t", **source)
    assert parts(ferry.home) == []
    assert ferry.error("object/metadata", ref="a").code == "ERR_NOT_FOUND"
    if error.code != "ERR_INVALID_ARGUMENT":
        assert ferry.event("error", transferId="t")["error"] == error.error
        assert ferry.call("transfer/get", transferId="t")["state"] == "rejected"
    return error.code


class TestSources:
    def test_missing(self, ferry: Sidecar) -> None:
        assert rejected(ferry, path="missing") == "ERR_FILE_NOT_FOUND"

    def test_below_a_file(self, ferry: Sidecar) -> None:
        (ferry.work / "file").touch()
        assert rejected(ferry, path="file/x") in ("ERR_FILE_NOT_FOUND", "ERR_INVALID_FILE_OBJECT")

    def test_directory(self, ferry: Sidecar) -> None:
        assert rejected(ferry, path=".") == "ERR_INVALID_FILE_OBJECT"

    def test_device(self, ferry: Sidecar) -> None:
        assert rejected(ferry, path="/dev/null") == "ERR_INVALID_FILE_OBJECT"

    def test_fifo_without_a_writer(self, ferry: Sidecar) -> None:
        os.mkfifo(ferry.work / "pipe")
        assert rejected(ferry, path="pipe") == "ERR_INVALID_FILE_OBJECT"

    def test_socket(self, ferry: Sidecar) -> None:
        with socket.socket(socket.AF_UNIX) as listener:
            os.chdir(ferry.work)  # the path of a socket has a length limit
            listener.bind("socket")
            assert rejected(ferry, path="socket") == "ERR_INVALID_FILE_OBJECT"

    def test_links_in_a_circle(self, ferry: Sidecar) -> None:
        (ferry.work / "loop").symlink_to("loop")
        codes = ("ERR_FILE_NOT_FOUND", "ERR_INVALID_FILE_OBJECT", "ERR_INVALID_ARGUMENT")
        assert rejected(ferry, path="loop") in codes

    def test_unreadable(self, ferry: Sidecar) -> None:
        if os.geteuid() == 0:
            pytest.skip("root reads everything")
        (ferry.work / "closed").touch(mode=0)
        assert rejected(ferry, path="closed") == "ERR_FILE_ACCESS_DENIED"

    @pytest.mark.parametrize("path", ["", "a\0b", "x" * 5000, "file://host.example/a", "file://"])
    def test_paths_that_cannot_be(self, ferry: Sidecar, path: str) -> None:
        assert rejected(ferry, path=path) == "ERR_INVALID_ARGUMENT"

    @pytest.mark.parametrize("data", ["a", "====", "YQ", "YQ==YQ==", "Y Q=="])
    def test_bad_base64(self, ferry: Sidecar, data: str) -> None:
        assert rejected(ferry, data=data) == "ERR_INVALID_ARGUMENT"

    @pytest.mark.parametrize(
        "source", [{}, {"text": "a", "data": "YQ=="}, {"path": "a", "stream": {}}]
    )
    def test_exactly_one_source(self, ferry: Sidecar, source: dict[str, Any]) -> None:
        assert rejected(ferry, **source) == "ERR_INVALID_ARGUMENT"

    def test_two_content_types(self, ferry: Sidecar) -> None:
        metadata = {"contentType": "text/html"}
        code = rejected(ferry, text="x", contentType="text/plain", metadata=metadata)
        assert code == "ERR_INVALID_ARGUMENT"

    @pytest.mark.parametrize("name", ["a b%20ä😀.txt", "sep\u2028arator", "%", "#?", "-"])
    def test_odd_names_as_paths_and_uris(self, ferry: Sidecar, name: str) -> None:
        path = ferry.work / name
        path.write_text("x")
        for given in (name, str(path), path.as_uri()):
            sent = ferry.call("file/send", channel="c", path=given, digest="none")
            assert sent["name"] == name

    def test_relative_to_the_root_path_of_the_host(self, ferry: Sidecar) -> None:
        (ferry.work / "sub").mkdir()
        (ferry.work / "sub" / "f.png").write_text("x")
        ferry.call("initialize", rootPath=str(ferry.work / "sub"))
        metadata = ferry.call("object/put", ref="a", path="f.png")["metadata"]
        assert metadata["contentType"] == "image/png"
        got = ferry.call("object/get", ref="a", target="copy")
        assert got["path"] == str(ferry.work / "sub" / "copy")


class TestChanges:
    """A source that changes while it is sent must not arrive as if nothing had happened."""

    def check(self, ferry: Sidecar, request: Any) -> None:
        ferry.call("limits/set", uploadRate=None)
        assert ferry.reply(request)["error"]["data"]["code"] == "ERR_FILE_CHANGED"
        assert (
            ferry.event("failure", transferId="big")["error"]["data"]["code"] == "ERR_FILE_CHANGED"
        )
        assert ferry.error("object/metadata", ref="big").code == "ERR_NOT_FOUND"
        assert parts(ferry.home) == []

    def test_shrunk(self, ferry: Sidecar) -> None:
        request = slow_upload(ferry)
        os.truncate(ferry.work / "big.bin", 30 * MIB)
        self.check(ferry, request)

    def test_grown(self, ferry: Sidecar) -> None:
        request = slow_upload(ferry)
        with (ferry.work / "big.bin").open("ab") as file:
            file.write(b"more")
        self.check(ferry, request)

    def test_overwritten_in_place(self, ferry: Sidecar) -> None:
        request = slow_upload(ferry)
        with (ferry.work / "big.bin").open("r+b") as file:
            file.write(b"changed")
        self.check(ferry, request)

    def test_replaced_by_another_file_the_old_one_arrives(self, ferry: Sidecar) -> None:
        request = slow_upload(ferry, size=8 * MIB)
        digest = sha256_of(ferry.work / "big.bin")
        (ferry.work / "other").write_text("other")
        os.replace(ferry.work / "other", ferry.work / "big.bin")
        ferry.call("limits/set", uploadRate=None)
        reply = ferry.reply(request)
        if "result" in reply:
            assert reply["result"]["metadata"]["sha256"] == digest
        else:
            assert reply["error"]["data"]["code"] == "ERR_FILE_CHANGED"


NASTY = [
    "../../../etc/passwd", "..", ".", "/etc/passwd", "a/../../b", "a\\..\\b", ".bashrc", "...",
    "~", "-rf", "con", "x" * 255, "ä" * 200 + ".txt", "😀" * 100, "\u202egpj.exe", "a\u2028b",
    "del\x7f", "%2e%2e%2f", "a:b", "name.", "  ", "$(touch x)", "`x`",
]  # fmt: skip


@pytest.mark.parametrize("name", NASTY, ids=ascii)
def test_a_name_from_a_remote_never_leaves_the_folder(ferry: Sidecar, name: str) -> None:
    before = {p for p in ferry.home.rglob("*")}
    sent = ferry.call("file/send", channel="c", text="x", name=name)
    assert sent["name"] == name
    [listed] = ferry.call("file/list", channel="c")["files"]
    assert listed["name"] == name
    got = ferry.call("file/download", channel="c", id=sent["id"], name=name)
    path = Path(got["path"])
    assert path.read_text() == "x"
    assert ferry.home.resolve() in path.resolve().parents
    assert len(os.fsencode(path.name)) <= 255
    assert not [c for c in path.name if c < " " or c in "\x7f\u202e"]
    created = {p for p in ferry.home.rglob("*")} - before
    assert path in created
    assert not (ferry.work / "x").exists()


@pytest.mark.parametrize("name", ["", "nul\0", "tab\tname", "line\nname", "x" * 1025], ids=ascii)
def test_names_that_cannot_be(ferry: Sidecar, name: str) -> None:
    error = ferry.error("file/send", channel="c", text="x", name=name)
    assert (error.code, error.data["field"]) == ("ERR_INVALID_ARGUMENT", "/name")


@pytest.mark.parametrize("size", [5, 5 * MIB])
@pytest.mark.parametrize("target", ["file", "temporary", "inline"])
def test_a_stored_copy_that_was_damaged_is_told(ferry: Sidecar, target: str, size: int) -> None:
    if target == "inline" and size > MIB:
        pytest.skip("fits no line")
    write_file(ferry.work / "source", size)
    stored = ferry.call("object/put", ref="a", path="source")
    copy = Path(unquote(urlsplit(stored["url"]).path))
    copy.chmod(0o600)
    with copy.open("r+b") as file:
        file.seek(size - 1)
        file.write(b"!")
    ask: dict[str, Any] = {"file": {"target": "got"}, "inline": {"target": {"inline": True}}}
    ask = ask.get(target, {})
    assert ferry.error("object/get", ref="a", **ask).code == "ERR_CHECKSUM_MISMATCH"
    assert parts(ferry.home) == []
    assert not (ferry.work / "got").exists()
    # Who wants no digest computed has nothing to compare.
    got = ferry.call("object/get", ref="a", digest="none", **ask)
    assert (got["size"], "sha256" in got) == (size, False)
    if target != "inline":
        assert Path(got["path"]).read_bytes() == copy.read_bytes()


@pytest.mark.parametrize("source", [{"text": "x"}, {"data": ""}])
def test_content_without_a_name_needs_one(ferry: Sidecar, source: dict[str, Any]) -> None:
    error = ferry.error("file/send", channel="c", **source)
    assert (error.code, error.data["field"]) == ("ERR_INVALID_ARGUMENT", "/name")


class TestRoots:
    """With `limits.roots` set, local files outside them are refused."""

    @pytest.fixture
    def fenced(self, ferry: Sidecar) -> Sidecar:
        (ferry.work / "in").mkdir()
        (ferry.work / "out").mkdir()
        (ferry.work / "in" / "f").write_text("inside")
        (ferry.work / "out" / "f").write_text("outside")
        (ferry.work / "in" / "link").symlink_to("../out/f")
        (ferry.work / "in" / "door").symlink_to("../out")
        (ferry.work / "out" / "back").symlink_to("../in/f")
        ferry.call("initialize", config={"limits": {"roots": [str(ferry.work / "in")]}})
        return ferry

    @pytest.mark.parametrize(
        "path", ["out/f", "in/link", "in/door/f", "in/../out/f", "/etc/hostname", "in/door/../f"]
    )
    def test_sources_outside(self, fenced: Sidecar, path: str) -> None:
        error = fenced.error("object/put", ref="a", path=path)
        assert error.code == "ERR_FILE_ACCESS_DENIED"
        assert "outside" not in str(error.data.get("serverMessage"))

    @pytest.mark.parametrize("path", ["in/f", "out/../in/f", "out/back", "in/./f"])
    def test_sources_inside(self, fenced: Sidecar, path: str) -> None:
        fenced.call("object/put", ref="a", path=path)

    @pytest.mark.parametrize("target", ["out/new", "in/door/new", "in/../new"])
    def test_targets_outside(self, fenced: Sidecar, target: str) -> None:
        fenced.call("object/put", ref="a", text="x")
        error = fenced.error("object/get", ref="a", target=target)
        assert error.code == "ERR_FILE_ACCESS_DENIED"
        assert not list(fenced.work.rglob("new"))

    def test_a_link_is_replaced_never_followed(self, fenced: Sidecar) -> None:
        fenced.call("object/put", ref="a", text="x")
        assert fenced.error("object/get", ref="a", target="in/link").code == "ERR_TARGET_EXISTS"
        fenced.call("object/get", ref="a", target="in/link", overwrite=True)
        assert (fenced.work / "out" / "f").read_text() == "outside"

    def test_targets_inside(self, fenced: Sidecar) -> None:
        fenced.call("object/put", ref="a", text="x")
        fenced.call("object/get", ref="a", target="in/new")
        fenced.call("object/get", ref="a")  # a temporary file is ferry's own


class TestLimits:
    def start(self, ferry: Sidecar, **limits: Any) -> Sidecar:
        ferry.call("initialize", config={"limits": limits})
        return ferry

    @pytest.mark.parametrize("source", ["path", "data", "stream"])
    def test_the_largest_size_is_allowed_and_no_more(self, ferry: Sidecar, source: str) -> None:
        self.start(ferry, maxFileSize=3)
        for text, fits in (("abc", True), ("abcd", False)):
            (ferry.work / "f").write_text(text)
            given = {
                "path": {"path": "f"},
                "data": {"data": "YWJj" if fits else "YWJjZA=="},
                "stream": {"stream": {"size": len(text)}, "transferId": text},
            }[source]
            request = ferry.start("object/put", ref=text, **given)
            if source == "stream" and fits:
                ferry.call("stream/write", transferId=text, data="YWJj")
                ferry.call("stream/close", transferId=text)
            reply = ferry.reply(request)
            assert ("result" in reply) == fits
            if not fits:
                assert reply["error"]["data"]["code"] == "ERR_FILE_SIZE_EXCEEDED"

    def test_a_stream_of_unknown_size_is_stopped_at_the_limit(self, ferry: Sidecar) -> None:
        self.start(ferry, maxFileSize=3)
        request = ferry.start("object/put", ref="a", stream={}, transferId="t")
        ferry.event("started", transferId="t")
        ferry.start("stream/write", transferId="t", data="YWJjZA==")
        assert ferry.reply(request)["error"]["data"]["code"] == "ERR_FILE_SIZE_EXCEEDED"

    @pytest.mark.parametrize(
        ("limits", "name", "allowed"),
        [
            ({"blockedTypes": ["exe"]}, "a.EXE", False),
            ({"blockedTypes": [".Exe"]}, "a.exe", False),
            ({"blockedTypes": ["exe"]}, "a.exe.txt", True),
            ({"blockedTypes": ["exe"]}, "exe", True),
            ({"blockedTypes": ["image/*"]}, "a.png", False),
            ({"allowedTypes": ["png", "text/*"]}, "a.PNG", True),
            ({"allowedTypes": ["png", "text/*"]}, "a.md", True),
            ({"allowedTypes": ["png"]}, "a.jpg", False),
            ({"allowedTypes": ["image/*"], "blockedTypes": ["gif"]}, "a.gif", False),
            ({"allowedTypes": ["png"]}, "noextension", False),
        ],
    )
    def test_types(self, ferry: Sidecar, limits: dict[str, Any], name: str, allowed: bool) -> None:
        self.start(ferry, **limits)
        reply = ferry.reply(ferry.start("file/send", channel="c", text="x", name=name))
        assert ("result" in reply) == allowed
        if not allowed:
            assert reply["error"]["data"]["code"] == "ERR_FILE_TYPE_BLOCKED"
            assert reply["error"]["data"]["fileUploaded"] is False


def test_the_store_is_for_its_owner_only(ferry: Sidecar) -> None:
    ferry.call("object/put", ref="a", text="x")
    root = ferry.home / ".local" / "share" / "ferry"
    assert root.stat().st_mode & 0o777 == 0o700
    for path in root.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
