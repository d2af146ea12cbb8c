"""The command line, as a person and as a script meet it."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import time
from pathlib import Path
from typing import Callable

import pytest
from sidecar import BINARY, TIMEOUT, Sidecar, environment

Run = Callable[..., "subprocess.CompletedProcess[str]"]
PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["help"], ["serve", "--help"]])
def test_help_teaches(run: Run, arguments: list[str]) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    words = ["serve", "--config", "--framing", "--parent-pid", "--log-level", "--log-file"]
    if arguments[0] != "serve":
        words += ["check-config", "schema", "--version", "jsonrpc"]
    assert not [word for word in words if word not in done.stdout]
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_version(run: Run) -> None:
    done = run("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"ferry \d+\.\d+\.\d+\S*\n", done.stdout)


def test_the_version_is_the_one_the_protocol_tells(run: Run, ferry: Sidecar) -> None:
    info = ferry.call("initialize")["serverInfo"]
    assert run("--version").stdout == f"ferry {info['version']}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sevre"], ["sevre", "serve"]),
        (["serve", "--framng", "lsp"], ["--framng", "--framing"]),
        (["serve", "--framing", "xml"], ["xml", "ndjson", "lsp"]),
        (["serve", "--framing"], ["--framing"]),
        (["serve", "--log-level", "loud"], ["loud", "debug"]),
        (["serve", "--parent-pid", "me"], ["--parent-pid", "me"]),
        (["serve", "--parent-pid", "-1"], ["--parent-pid"]),
        (["serve", "extra"], ["extra"]),
        (["serve", "--log-file", "/no/such/folder/log"], ["/no/such/folder/log"]),
        (["schema", "extra"], ["extra"]),
        ([], ["ferry --help"]),
    ],
)
def test_wrong_usage_is_code_2_with_a_hint(
    run: Run, arguments: list[str], words: list[str]
) -> None:
    done = run(*arguments, input=PING)
    assert (done.returncode, done.stdout) == (2, "")
    assert not [word for word in words if word not in done.stderr], done.stderr
    assert "/ferry.swift" not in done.stderr and "Fatal" not in done.stderr


def on_a_terminal(home: Path, *arguments: str, until: str) -> str:
    """What a person sees, up to a text."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [str(BINARY), *arguments],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        cwd=home,
        env=environment(home),
        start_new_session=True,
    )
    os.close(follower)
    shown = b""
    deadline = time.monotonic() + TIMEOUT
    try:
        while until.encode() not in shown:
            assert select.select([leader], [], [], deadline - time.monotonic())[0], shown
            try:
                piece = os.read(leader, 4096)
            except OSError:
                break
            if not piece:
                break
            shown += piece
    finally:
        process.terminate()
        process.wait(TIMEOUT)
        os.close(leader)
    return shown.decode()


def test_alone_on_a_terminal_it_says_what_it_is_and_how_to_try_it(home: Path) -> None:
    shown = on_a_terminal(home, until="ferry --help")
    assert "echo" in shown and "ferry serve" in shown and "ferry --help" in shown


def test_serve_on_a_terminal_gives_a_hint(home: Path) -> None:
    assert "terminal" in on_a_terminal(home, "serve", until="terminal")


@pytest.mark.parametrize("level", ["error", "warn", "info", "debug"])
def test_secrets_are_in_no_log(spawn: Callable[..., Sidecar], home: Path, level: str) -> None:
    log = home / "ferry.log"
    ferry = spawn("--log-level", level, "--log-file", str(log))
    ferry.quiet = False
    secret = "s3cr3t-k3y"
    send = {"channel": "c", "name": "n", "text": f"text {secret}", "cipherKey": secret}
    assert ferry.error("file/send", **send).data["field"] == "/cipherKey"
    ferry.call("file/send", channel="c", name="n", text=secret, message={"token": secret})
    ferry.error("initialize", config={"remotes": {"a": {"kind": "s3", "secretAccessKey": secret}}})
    ferry.send_raw(
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"key":"%s"\n' % secret.encode()
    )
    ferry.close_stdin()
    ferry.wait_exit()
    assert secret not in ferry.stderr
    assert secret not in (log.read_text() if log.exists() else "")
    assert secret not in bytes(ferry.raw).decode()


def test_debug_tells_something_and_warn_nothing(spawn: Callable[..., Sidecar]) -> None:
    for level, says in (("warn", False), ("debug", True)):
        ferry = spawn("--log-level", level)
        ferry.quiet = not says
        ferry.call("object/put", ref="a", text="x")
        ferry.close_stdin()
        ferry.wait_exit()
        assert bool(ferry.stderr) == says


def test_ferry_does_not_open_a_network_connection(spawn: Callable[..., Sidecar]) -> None:
    ferry = spawn()
    ferry.call("object/put", ref="a", text="x")
    links = Path(f"/proc/{ferry.process.pid}/fd")
    assert not [fd for fd in links.iterdir() if os.readlink(fd).startswith("socket:")]
