"""A `ferry serve` under test: bytes in, every line out kept, deadlines instead of sleeps."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, Callable

import traffic
from contract import ROOT
from inbox import HEADER, Inbox, take_messages

# One deadline for everything that has none of its own; generous, since two cores are shared.
TIMEOUT = float(os.environ.get("FERRY_TEST_TIMEOUT", "60"))
LINE_LIMIT = 16 << 20  # what initialize announces as maxLineBytes
BINARY = Path(os.environ.get("FERRY_BIN") or ROOT / ".build" / "release" / "ferry").resolve()


def environment(home: Path) -> dict[str, str]:
    """What a fresh account has: an empty HOME and nothing of the caller's."""
    (home / "tmp").mkdir(parents=True, exist_ok=True)
    keep = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    for name in ("ASAN_OPTIONS", "TSAN_OPTIONS", "SWIFT_BACKTRACE", "LD_PRELOAD"):
        if name in os.environ:
            keep[name] = os.environ[name]
    return {**keep, "HOME": str(home), "TMPDIR": str(home / "tmp")}


def few(count: int) -> int:
    """A tenth under a sanitizer, which makes everything ten times as slow."""
    return count // 10 if "FERRY_SANITIZER" in os.environ else count


class RpcError(Exception):
    """A reply with `error`."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(json.dumps(error))
        self.error = error
        self.number: int = error["code"]
        self.data: dict[str, Any] = error.get("data", {})
        self.code: str = self.data.get("code", "")


class Sidecar:
    """One process. `home` is its HOME and holds its stderr; its working directory is `home/work`.

    At `finish` everything it wrote is checked against the schema and the rules in traffic.py.
    """

    def __init__(
        self,
        home: Path,
        *args: str,
        env: dict[str, str] | None = None,
        transport: str = "pipe",
        reading: bool = True,
        stderr: int | None = None,
    ) -> None:
        self.home = home
        self.work = home / "work"
        self.work.mkdir(parents=True, exist_ok=True)
        self.quiet = True  # stderr must stay empty
        self.all_answered = True  # every request must have its reply
        self.may_be_torn = False  # stdout may end inside a line
        self.expected_code: int | None = 0
        self.sent: list[Any] = []
        self.raw = bytearray()
        self._lines_only = "ndjson" in args
        self._last_id = 1000
        self._starting = threading.Lock()  # threads may feed streams
        self._writing = threading.Lock()  # and must not write into what its number is next
        self._unsent = bytearray()
        self._inbox = Inbox(self.report)
        self.received = self._inbox.messages
        self._spawn([str(BINARY), "serve", *args], env, transport, stderr)
        self._reader = threading.Thread(target=self._read, daemon=True)
        if reading:
            self._reader.start()

    def _spawn(
        self, command: list[str], env: dict[str, str] | None, transport: str, stderr: int | None
    ) -> None:
        if transport == "socketpair":
            near_in, far_in = socket.socketpair()
            near_out, far_out = socket.socketpair()
            child_in, child_out = far_in.detach(), far_out.detach()
            self._stdin, self._stdout = near_in.detach(), near_out.detach()
        else:
            child_in, self._stdin = os.pipe()
            self._stdout, child_out = os.pipe()
        self.stderr_path = self.home / f"stderr-{time.monotonic_ns()}.log"
        with self.stderr_path.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                stdin=child_in,
                stdout=child_out,
                stderr=log if stderr is None else stderr,
                cwd=self.work,
                env={**environment(self.home), **(env or {})},
                start_new_session=True,
            )
        os.close(child_in)
        os.close(child_out)

    # What goes in

    def send_raw(self, data: bytes) -> None:
        """Writes bytes as they are; whole messages among them count as sent."""
        self._unsent += data
        if b"\n" in data or HEADER.match(self._unsent):
            for body in take_messages(self._unsent, self._lines_only):
                self._note(body)
        view = memoryview(data)
        with self._writing:
            if self._stdin < 0:
                raise BrokenPipeError("stdin is closed")
            while view:
                view = view[os.write(self._stdin, view) :]

    def _note(self, line: bytes) -> None:
        if len(line) > LINE_LIMIT:
            return  # refused, whatever it says
        with contextlib.suppress(ValueError, RecursionError):
            text = line.decode().lstrip("\ufeff")
            message = json.loads(text, object_pairs_hook=unique_members)
            json.dumps(message, ensure_ascii=False).encode()  # no lone surrogates
            self.sent.append(message)

    def send(self, message: Any) -> None:
        self.send_raw(json.dumps(message, ensure_ascii=False).encode() + b"\n")

    def notify(self, method: str, **params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def start(self, method: str, **params: Any) -> int:
        """Sends a request and returns its id without waiting."""
        with self._starting:
            self._last_id += 1
            message = {"jsonrpc": "2.0", "id": self._last_id, "method": method}
            self.send({**message, "params": params} if params else message)
            return self._last_id

    def call(self, method: str, **params: Any) -> Any:
        """Sends a request and waits for its result; raises RpcError."""
        return self.result(self.start(method, **params))

    def result(self, request_id: Any, timeout: float = TIMEOUT) -> Any:
        reply = self.reply(request_id, timeout)
        if "error" in reply:
            raise RpcError(reply["error"])
        return reply["result"]

    def reply(self, request_id: Any, timeout: float = TIMEOUT) -> dict[str, Any]:
        return self._inbox.take_reply(request_id, timeout)

    def event(self, name: str, timeout: float = TIMEOUT, **members: Any) -> dict[str, Any]:
        """The params of the next notification of that name with these members."""
        message = self.wait(
            lambda m: m.get("method") == name
            and all(m["params"].get(k) == v for k, v in members.items()),
            f"{name} {members}",
            timeout,
        )
        return dict(message["params"])

    def error(self, method: str, **params: Any) -> RpcError:
        """The error a request must end with."""
        try:
            result = self.call(method, **params)
        except RpcError as error:
            return error
        raise AssertionError(f"{method} should have failed, it returned {result}")

    def wait_readable(self) -> None:
        """Waits for the first byte of output without taking it."""
        assert select.select([self._stdout], [], [], TIMEOUT)[0], self.report()

    def close_stdin(self) -> None:
        if self._stdin >= 0:
            self._note(bytes(self._unsent))
            self._let_go_of_stdin()

    def _let_go_of_stdin(self) -> None:
        with self._writing:
            os.close(self._stdin)
            self._stdin = -1

    def close_stdout(self) -> None:
        """Lets go of the reading end, as a host that died does."""
        assert not self._reader.is_alive(), "a reader is at work: pass reading=False"
        os.close(self._stdout)
        self._stdout = -1

    # What comes out

    def start_reading(self) -> None:
        self._reader.start()

    def _read(self) -> None:
        try:
            while chunk := os.read(self._stdout, 1 << 16):
                self.raw += chunk
                self._inbox.feed(chunk)
        except OSError:
            pass  # closed by dispose
        self._inbox.end(self.may_be_torn)

    def wait(
        self, matches: Callable[[Any], bool], what: str, timeout: float = TIMEOUT
    ) -> dict[str, Any]:
        """The first message not yet waited for that matches; it is then taken."""
        return self._inbox.take(matches, what, timeout)

    def next_message(self, timeout: float = TIMEOUT) -> Any:
        """The next message in order, batch arrays too; None once stdout ended."""
        return self._inbox.take_next(timeout)

    def report(self) -> str:
        lines = [json.dumps(m)[:300] for m in self.received[-6:]]
        return f"exit code {self.process.poll()}; stderr: {self.stderr[-800:]!r}; last: {lines}"

    @property
    def stderr(self) -> str:
        return self.stderr_path.read_text(errors="replace")

    @property
    def resident(self) -> int:
        """Resident bytes, as the kernel counts them; 0 under a sanitizer, whose own would be among
        them: the rest of the test has its meaning there too."""
        if "FERRY_SANITIZER" in os.environ:
            return 0
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) * 1024

    # The end

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def wait_exit(self, timeout: float = TIMEOUT) -> int:
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it did not exit in {timeout} s\n{self.report()}") from None

    def kill(self) -> None:
        """As a power cut: nothing is checked of what it still owed."""
        self.may_be_torn = True
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.all_answered, self.expected_code = False, None

    def finish(self) -> None:
        """Ends the process by EOF if it still runs, then checks all it ever wrote."""
        try:
            if self._reader.ident is None and self._stdout >= 0:
                self._reader.start()
            self.close_stdin()
            code = self.wait_exit()
            if self._reader.ident is not None:
                self._reader.join(TIMEOUT)
            assert self._inbox.problem is None, self._inbox.problem
            if self.expected_code is not None:
                assert code == self.expected_code, f"exit code {code}\n{self.report()}"
            traffic.check(self.sent, self.received, self.all_answered)
            if self.quiet:
                assert self.stderr == "", f"stderr should be empty: {self.stderr[:2000]}"
        finally:
            self.dispose()

    def dispose(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self._stdin >= 0:
            self._let_go_of_stdin()
        if self._reader.ident is not None:
            self._reader.join(TIMEOUT)
        if self._stdout >= 0:
            os.close(self._stdout)
            self._stdout = -1


def same(a: Any, b: Any) -> bool:
    """Equality that tells `1` from `1.0`, `"1"` and `true`."""
    return type(a) is type(b) and bool(a == b)


def unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuses a name that occurs twice, as the protocol does."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name occurs twice")
    return members
