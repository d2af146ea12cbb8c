"""The sidecar's process: its pipes, its end, and nothing left behind.

A plain `subprocess.Popen` with a thread that waits for it, rather than asyncio's subprocess: no
child watcher, so any loop in any thread will do, the process is reaped even when the loop is gone,
and pipes that are collected late do not complain.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import signal
import subprocess
import threading
from collections import deque
from typing import Callable, Deque, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from .errors import BinaryNotFound, ConnectionClosed, ProtocolError
from .framing import LineSplitter

STDERR_LINES = 20
"""How many last lines of stderr are kept for the report of a death."""

PIPE_GRACE = 2.0
"""Seconds a process may live on without stdout, or its pipes without the process."""


class SidecarProcess:
    """One running program: lines in, lines out, signals, and one report of its end.

    `on_line` gets every line of stdout, `on_stderr` every line of stderr, `on_end` once, after the
    process ended and its pipes were read to their end (with ProtocolError where that was why).
    """

    def __init__(
        self,
        on_line: Callable[[bytes], None],
        on_end: Callable[[Optional[ProtocolError]], None],
        on_stderr: Optional[Callable[[str], None]] = None,
    ) -> None:
        self._on_line = on_line
        self._on_end = on_end
        self._on_stderr = on_stderr
        self._splitter = LineSplitter()
        self._stderr = LineSplitter()
        self._fault: Optional[ProtocolError] = None
        self._stdin: Optional[asyncio.WriteTransport] = None
        self._unsent: Optional[List[bytes]] = None
        self._ended = asyncio.Event()
        self._open_pipes: Set[str] = {"stdout", "stderr"}
        self._readers: Dict[str, asyncio.BaseTransport] = {}
        self.returncode: Optional[int] = None
        self.stderr_tail: Deque[str] = deque(maxlen=STDERR_LINES)

    async def start(self, argv: Sequence[str], env: Mapping[str, str], cwd: Optional[str]) -> None:
        """Starts the program in a process group of its own."""
        self._loop = asyncio.get_running_loop()
        try:
            # A fork and an exec: shorter than what a thread would cost.
            self._popen = subprocess.Popen(  # noqa: ASYNC220
                list(argv),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(env),
                cwd=cwd,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            raise BinaryNotFound([f"{error.filename or argv[0]} ({error.strerror})"]) from error
        _living[self._popen.pid] = (os.getpid(), self._popen)
        threading.Thread(target=self._reap, name=f"ferry-{self.pid}", daemon=True).start()
        try:
            await self._connect()
        except BaseException:
            self.signal(signal.SIGKILL)
            raise

    async def _connect(self) -> None:
        popen, loop = self._popen, self._loop
        self._readers["stdout"], _ = await loop.connect_read_pipe(
            lambda: _Reader(self._stdout_bytes, lambda: self._pipe_ended("stdout")), popen.stdout
        )
        self._readers["stderr"], _ = await loop.connect_read_pipe(
            lambda: _Reader(self._stderr_bytes, lambda: self._pipe_ended("stderr")), popen.stderr
        )
        self._stdin, _ = await loop.connect_write_pipe(
            lambda: _Writer(self._stdin_lost), popen.stdin
        )

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._popen.pid

    @property
    def alive(self) -> bool:
        """Whether its end has not been reported yet."""
        return not self._ended.is_set()

    def write(self, line: bytes) -> None:
        """Queues a line for stdin: the first of a turn of the loop at once, the others together."""
        if self._stdin is None or self._stdin.is_closing():
            raise ConnectionClosed("the ferry process no longer reads")
        if self._unsent is None:
            self._unsent = []
            self._stdin.write(line)
            self._loop.call_soon(self._flush)
        else:
            self._unsent.append(line)

    def close_stdin(self) -> None:
        """Tells the program that no more comes."""
        if self._stdin is not None:
            self._flush()
            self._stdin.close()

    def signal(self, number: signal.Signals) -> None:
        """Signals its process group; nothing if it has ended."""
        if self.returncode is None:
            _signal_group(self._popen, number)

    async def wait(self, seconds: Optional[float]) -> bool:
        """Waits for its end; False when the time is up."""
        waiter = asyncio.ensure_future(self._ended.wait())
        try:
            await asyncio.wait([waiter], timeout=seconds)
            return self._ended.is_set()
        finally:
            waiter.cancel()

    # Bytes and ends, called by the loop

    def _flush(self) -> None:
        lines, self._unsent = self._unsent, None
        if lines and self._stdin is not None and not self._stdin.is_closing():
            self._stdin.write(b"".join(lines))

    def _stdout_bytes(self, data: bytes) -> None:
        if self._fault is not None:
            return
        try:
            for line in self._splitter.feed(data):
                self._on_line(line)
        except ProtocolError as fault:
            # Which request a broken line answered is unknown, so none can be trusted any more.
            self._fault = fault
            self.signal(signal.SIGKILL)

    def _stderr_bytes(self, data: bytes) -> None:
        with contextlib.suppress(ProtocolError):  # an endless line of stderr is not worth a death
            for line in self._stderr.feed(data):
                self._stderr_line(line)

    def _stderr_line(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace")
        self.stderr_tail.append(text)
        if self._on_stderr:
            self._loop.call_soon(self._on_stderr, text)

    def _stdin_lost(self) -> None:
        self._loop.call_later(PIPE_GRACE, self._kill_if_mute)

    def _pipe_ended(self, name: str) -> None:
        self._open_pipes.discard(name)
        if name == "stderr" and self._stderr.rest():
            self._stderr_line(self._stderr.rest())
        if name == "stdout":
            rest = self._splitter.rest()
            self._stdout_bytes(b"\n" if rest.strip() else b"")
            self._loop.call_later(PIPE_GRACE, self._kill_if_mute)
        self._report_end()

    def _kill_if_mute(self) -> None:
        if "stdout" not in self._open_pipes:
            self.signal(signal.SIGKILL)

    def _reap(self) -> None:
        code = self._popen.wait()
        _living.pop(self._popen.pid, None)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is left to tell
            self._loop.call_soon_threadsafe(self._exited, code)

    def _exited(self, code: int) -> None:
        self.returncode = code
        self.close_stdin()
        # A process that inherited our pipes may hold them open for ever.
        self._loop.call_later(PIPE_GRACE, self._abandon_pipes)
        self._report_end()

    def _abandon_pipes(self) -> None:
        for transport in self._readers.values():
            transport.close()

    def _report_end(self) -> None:
        if self.returncode is not None and not self._open_pipes and self.alive:
            self._ended.set()
            self._on_end(self._fault)


class _Reader(asyncio.Protocol):
    def __init__(self, received: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        self._received, self._ended = received, ended

    def data_received(self, data: bytes) -> None:
        self._received(data)

    def connection_lost(self, exc: Optional[Exception]) -> None:
        self._ended()


class _Writer(asyncio.BaseProtocol):
    def __init__(self, lost: Callable[[], None]) -> None:
        self._lost = lost

    def connection_lost(self, exc: Optional[Exception]) -> None:
        self._lost()


_living: Dict[int, Tuple[int, "subprocess.Popen[bytes]"]] = {}


def _signal_group(popen: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(popen.pid, number)


@atexit.register
def _end_what_is_left() -> None:
    # Only what this very process started: a forked child runs this too.
    left = [popen for owner, popen in list(_living.values()) if owner == os.getpid()]
    for popen in left:
        _signal_group(popen, signal.SIGTERM)
    for popen in left:
        try:
            popen.wait(2)
        except subprocess.TimeoutExpired:
            _signal_group(popen, signal.SIGKILL)
            popen.wait()
