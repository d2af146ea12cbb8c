"""`python -m ferry`, as a user runs it."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from places import REAL

from ferry import Failure, Progress
from ferry.names import numbered
from ferry.progress import Display, clip, printable, size, width

PACKAGE = Path(__file__).resolve().parents[1]


@pytest.fixture
def real_cli(tmp_path):
    """Runs the command line on one root, or starts it where `wait` is false."""
    if not REAL.exists():
        pytest.skip(f"{REAL} is not built")
    return runner(REAL, tmp_path)


@pytest.fixture(params=["fake", "real"])
def cli(request):
    return request.getfixturevalue(f"{request.param}_cli")


@pytest.fixture
def fake_cli(fake_program, tmp_path):
    return runner(fake_program, tmp_path)


def runner(program, tmp_path):
    def run(command, *args, wait=True, stdin=b"", words="", **options):
        argv = [sys.executable, "-m", "ferry", command, "--bin", str(program),
                "--root", str(tmp_path / "root"), *map(str, args)]  # fmt: skip
        env = {**os.environ, "PYTHONPATH": str(PACKAGE), "FAKE": words, "COLUMNS": "80"}
        if not wait:
            pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
            return subprocess.Popen(argv, env=env, cwd=tmp_path, **pipes)
        return subprocess.run(
            argv, env=env, cwd=tmp_path, input=stdin, capture_output=True, timeout=60
        )

    return run


def test_files_go_to_a_watching_process_and_back(real_cli, tmp_path):
    content = os.urandom(300_000)
    (tmp_path / "a.bin").write_bytes(content)
    watching = real_cli("watch", "trip", "--json", "--count", 1, "--download", "inbox", wait=False)
    assert watching.stderr.readline().startswith(b"watching trip")
    sent = real_cli("send", "a.bin", "--channel", "trip", "--message", '{"n": 1}', "--json")
    assert (sent.returncode, sent.stderr) == (0, b"")
    file = json.loads(sent.stdout)
    out, _ = watching.communicate(timeout=30)
    message, got = map(json.loads, out.splitlines())
    assert (message["file"]["id"], message["message"]) == (file["id"], {"n": 1})
    assert got["sha256"] == file["sha256"]
    assert (tmp_path / "inbox" / "a.bin").read_bytes() == content

    listed = real_cli("list", "trip").stdout.decode()
    assert file["id"] in listed
    assert "293.0 KiB" in listed
    assert real_cli("url", "trip", file["id"], "a.bin").stdout.startswith(b"file:///")
    assert real_cli("get", "trip", file["id"], "a.bin", "-o", "-").stdout == content
    assert real_cli("get", "trip", file["id"], "a.bin", "-o", "inbox").returncode == 1
    assert real_cli("get", "trip", file["id"], "a.bin", "-o", "inbox", "--force").returncode == 0
    assert b'"n": 1' in real_cli("history", "trip").stdout
    assert real_cli("rm", "trip", file["id"], "a.bin").returncode == 0
    assert real_cli("list", "trip").stdout == b""


def test_names_from_elsewhere_stay_harmless_and_equal_ones_are_numbered(real_cli, tmp_path):
    names = [".bash_login", ".bash_login", "../../out.txt", "last.txt"]
    for name in names:
        sent = real_cli("send", "-", "--name", name, "-c", "trip", stdin=name.encode())
        assert sent.returncode == 0
    before = {path.name for path in tmp_path.iterdir()}
    watched = real_cli("watch", "trip", "--since", "0", "--count", 4, "--download", "inbox/deep")
    assert {path.name for path in tmp_path.iterdir()} == before | {"inbox"}
    inbox = {path.name: path.read_text() for path in (tmp_path / "inbox" / "deep").iterdir()}
    assert inbox == {
        "_.bash_login": ".bash_login", "_ (2).bash_login": ".bash_login",
        "_.._.._out.txt": "../../out.txt", "last.txt": "last.txt",
    }  # fmt: skip
    assert watched.stdout.count(b"got ") == 4
    assert b"ERR_TARGET_EXISTS" not in watched.stderr
    assert b"Traceback" not in watched.stderr
    assert watched.returncode == 0
    ident = json.loads(real_cli("list", "trip", "--json").stdout.splitlines()[0])["id"]
    for output in ((), ("-o", "inbox")):
        assert real_cli("get", "trip", ident, ".bash_login", *output).returncode == 0
    assert (tmp_path / "_.bash_login").is_file()
    assert (tmp_path / "inbox" / "_.bash_login").is_file()
    assert not (tmp_path / ".bash_login").exists()


def test_watchers_that_share_a_folder_lose_no_file_of_an_equal_name(real_cli, tmp_path):
    contents = [f"content {number}" for number in range(8)]
    for content in contents:
        sent = real_cli("send", "-", "--name", "a.b.txt", "-c", "trip", stdin=content.encode())
        assert sent.returncode == 0
    words = ("watch", "trip", "--since", "0", "--count", len(contents), "--download", "inbox")
    watching = [real_cli(*words, wait=False) for _ in range(2)]
    for process in watching:
        assert (process.communicate(timeout=60)[1].count(b"\n"), process.returncode) == (1, 0)
    inbox = {path.name: path.read_text() for path in (tmp_path / "inbox").iterdir()}
    numbers = range(2, 2 * len(contents) + 1)
    assert set(inbox) == {"a.b.txt", *(f"a.b ({number}).txt" for number in numbers)}
    assert sorted(inbox.values()) == sorted(contents * 2)


def test_a_numbered_name_stays_a_name(tmp_path):
    (tmp_path / "a (2)").touch()
    cases = {
        "a": "a (3)", "../x.txt": "_.._x (2).txt", "": "_ (2)", "e\u202egpj.exe": "e_gpj (2).exe",
        "ü" * 200 + ".png": "ü" * 123 + " (2).png", "n." + "x" * 40: "n." + "x" * 40 + " (2)",
    }  # fmt: skip
    for name, wanted in cases.items():
        assert next(numbered(str(tmp_path), name)) == str(tmp_path / wanted)


def test_a_folder_that_cannot_be_made_is_told_before_the_watch(real_cli, tmp_path):
    (tmp_path / "file").write_text("in the way")
    refused = real_cli("watch", "trip", "--download", "file/inbox")
    assert refused.returncode == 1
    assert b"file/inbox" in refused.stderr
    assert b"watching" not in refused.stderr


def test_objects_go_through_pipes(real_cli):
    content = os.urandom(13 << 20)  # in base64 more than a line may have
    assert real_cli("put", "-", "a/b.bin", stdin=content).returncode == 0
    assert real_cli("cat", "a/b.bin").stdout == content
    assert b"a/b.bin" in real_cli("ls", "a").stdout
    assert json.loads(real_cli("stat", "a/b.bin", "--json").stdout)["size"] == len(content)
    assert real_cli("del", "a/b.bin").returncode == 0
    gone = real_cli("cat", "a/b.bin")
    assert gone.returncode == 1
    assert b"ERR_NOT_FOUND" in gone.stderr


def test_a_result_is_one_plain_line_or_json(cli, tmp_path):
    (tmp_path / "n.txt").write_text("hello")
    plain = cli("send", "n.txt", "-c", "trip")
    assert plain.returncode == 0
    assert plain.stdout.startswith(b"sent n.txt (5 B) to trip as ")
    assert plain.stderr.replace(b"fake: hello\n", b"") == b""
    result = json.loads(cli("put", "n.txt", "a/n.txt", "--json").stdout)
    assert result["metadata"]["full_path"] == "a/n.txt"


def test_one_missing_file_among_several_is_reported_and_the_others_go(cli, tmp_path):
    (tmp_path / "n.txt").write_text("hello")
    mixed = cli("send", "n.txt", "none.txt", "--channel", "trip")
    assert mixed.returncode == 1
    assert b"sent n.txt" in mixed.stdout
    assert b"none.txt" in mixed.stderr
    assert b"ERR_FILE_NOT_FOUND" in mixed.stderr


def test_several_files_go_as_one_batch(real_cli, tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("hello")
    words = ("--channel", "trip", "--json", "--message")
    mixed = real_cli("send", "b.txt", "none.txt", "a.txt", *words, '{"text": "look"}')
    assert mixed.returncode == 1
    assert mixed.stderr.count(b"\n") == mixed.stderr.count(b"ERR_FILE_NOT_FOUND") == 1
    sent = [json.loads(line) for line in mixed.stdout.splitlines()]
    assert [file["name"] for file in sent] == ["b.txt", "a.txt"]
    assert all(file["transfer_id"] for file in sent)
    told = [json.loads(line) for line in real_cli("history", "trip", "--json").stdout.splitlines()]
    assert [message["timetoken"] for message in told] == [file["timetoken"] for file in sent]
    assert {message["message"]["text"] for message in told} == {"look"}
    assert len({message["meta"]["batchId"] for message in told}) == 1
    # What a batch cannot say is said by sends of their own.
    assert real_cli("send", "a.txt", "b.txt", *words, '["look"]').returncode == 0
    told = [json.loads(line) for line in real_cli("history", "trip", "--json").stdout.splitlines()]
    assert [message["message"] for message in told[2:]] == [["look"], ["look"]]


def test_a_batch_shows_a_bar_for_each_and_one_for_all_and_ctrl_c_leaves_nothing(real_cli, tmp_path):
    (tmp_path / "slow.yaml").write_text("limits: { uploadRate: 200000 }\n")
    for name in ("large.bin", "small.bin"):
        (tmp_path / name).write_bytes(b"x" * (10 if name == "small.bin" else 3_000_000))
    master, slave = pty.openpty()
    sending = real_cli(
        "send", "small.bin", "large.bin", "-c", "trip", "--config", "slow.yaml",
        wait=False, stderr=slave,
    )  # fmt: skip
    os.close(slave)
    drawn = b""
    while drawn.count(b"2 files ") < 2 and select.select([master], [], [], 30)[0]:
        drawn += os.read(master, 65536)
    sending.send_signal(signal.SIGINT)
    out, _ = sending.communicate(timeout=20)
    os.close(master)
    assert (sending.returncode, out) == (130, b"")
    assert re.search(rb"large.bin .*%.*\n2 files .*%", drawn)
    assert real_cli("list", "trip").stdout == b""
    assert not list((tmp_path / "root" / "data" / "incoming").iterdir())


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["send", "x"], b"--channel"),
        (["send", "-", "--channel", "c"], b"needs --name"),
        (["send", "x", "--channel", "c", "--message", "{"], b"not JSON"),
        (["send", "x", "y", "--channel", "c", "--name", "n"], b"--name goes with one FILE"),
        (["nonsense"], b"invalid choice"),
    ],
)
def test_wrong_usage_is_exit_code_two_and_says_what(fake_cli, args, words):
    wrong = fake_cli(*args)
    assert wrong.returncode == 2
    assert words in wrong.stderr
    assert b"Traceback" not in wrong.stderr


def test_a_missing_program_is_exit_code_two(fake_cli):
    missing = fake_cli("list", "c", "--bin", "/nowhere/ferry")
    assert missing.returncode == 2
    assert b"/nowhere/ferry (no such file)" in missing.stderr


def test_a_wrong_configuration_is_exit_code_two_and_told_once(real_cli, tmp_path):
    (tmp_path / "bad.yaml").write_text("limits: {uploadRate: fast}\n")
    done = real_cli("ls", "--config", "bad.yaml")
    lines = done.stderr.decode().splitlines()
    assert (done.returncode, done.stdout) == (2, b"")
    assert len(lines) == 1 and "bad.yaml:1:22" in lines[0], lines


def test_help_teaches():
    shown = subprocess.run(
        [sys.executable, "-m", "ferry", "--help"], cwd=PACKAGE, capture_output=True, check=True
    )
    for words in (b"examples:", b"--channel trip", b"watch", b"Exit codes"):
        assert words in shown.stdout


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["Ctrl-C", "TERM"]
)
def test_a_signal_cancels_cleanly(fake_cli, number, code):
    sending = fake_cli("send", "-", "-c", "c", "--name", "n", wait=False, stdin=subprocess.PIPE)
    try:
        assert sending.stderr.readline() == b"fake: hello\n"
        sending.send_signal(number)
        out, err = sending.communicate(timeout=20)
    finally:
        sending.kill()
    assert (sending.returncode, out, err) == (code, b"", b"")


def test_a_terminal_gets_a_bar_that_is_taken_away(fake_cli, tmp_path):
    (tmp_path / "n.txt").write_bytes(b"x" * 100_000)
    master, slave = pty.openpty()
    sending = fake_cli("send", "n.txt", "--channel", "flood", wait=False, stderr=slave)
    os.close(slave)
    drawn = b""
    while select.select([master], [], [], 30)[0]:
        try:
            chunk = os.read(master, 65536)
        except OSError:
            break
        drawn += chunk
    out, _ = sending.communicate(timeout=20)
    os.close(master)
    assert b"sent n.txt" in out
    assert b"\rn.txt " in drawn
    shares = [int(share) for share in re.findall(rb"(\d+)%", drawn)]
    assert shares == sorted(shares)
    assert len(set(shares)) > 2
    assert shares[-1] == 100
    assert drawn.endswith(b"\r\x1b[K")
    for line in drawn.decode().replace("fake: hello\r\n", "").split("\r"):
        assert width(line.replace("\x1b[K", "")) < 80


class Terminal(io.StringIO):
    def isatty(self):
        return True


def progress(id, loaded, total, rate=1 << 20):
    return Progress(id, 1, "upload", loaded, total, None, rate, None, 1)


def test_several_transfers_add_up(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    display = Display(Terminal())
    display.add("a", "one")
    display.add("b", "two")
    display.take(progress("a", 1 << 20, 1 << 20))
    display.take(progress("b", 1 << 20, 3 << 20))
    display.take(progress("a", 1 << 19, 1 << 20))
    display.take(progress("b", 3 << 19, 3 << 20))
    one, two, both = display._stream.getvalue().split("\r")[-1].split("\n")
    assert "one " in one and " 50%  512.0 KiB" in one
    assert two.startswith("two ") and " 50%  1.5 MiB" in two
    assert both.startswith("2 files ")
    assert " 50%  2.0 MiB  2.0 MiB/s  eta 0:01" in both
    display.clear()
    assert display._stream.getvalue().endswith("\r\x1b[K" + "\x1b[A\x1b[K" * 2)


def test_elsewhere_there_are_plain_lines_now_and_then(monkeypatch):
    clock = iter([0.0, 1.0, 6.0])
    monkeypatch.setattr("ferry.progress.time.monotonic", lambda: next(clock))
    display = Display(io.StringIO())
    display.add("a", "name")
    display.take(progress("a", 1, 4))
    display.take(Failure("a", 2, None))
    display.take(progress("a", 2, 4))
    bar = "#" * 12 + "-" * 12
    assert display._stream.getvalue() == f"name {bar}  50%  2 B  1.0 MiB/s  eta 0:00\n"


def test_a_text_from_elsewhere_cannot_steer_the_terminal():
    assert printable("a\x1b[2Jb\u202e\n") == r"a\x1b[2Jb\u202e\n"


def test_text_is_measured_in_cells_and_cut_to_fit():
    assert width("日本e\u0301") == 5
    assert clip("日本語の写真", 6) == "日本…"
    assert clip("short", 6) == "short"
    assert [size(n) for n in (0, 999, 1024, 5 << 20)] == ["0 B", "999 B", "1.0 KiB", "5.0 MiB"]
