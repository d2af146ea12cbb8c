"""What every group of benchmarks measures with: series, rows, and processes that talk in lines."""

from __future__ import annotations

import json
import os
import selectors
import shutil
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / "Benchmarks" / "peers"
BUILT = ROOT / ".build" / "bench"
FERRY = os.environ.get("FERRY_BIN", str(ROOT / ".build" / "release" / "ferry"))
MIB = 1 << 20
MEMORY_CEILING = 24  # MiB that the process may hold, whatever it does

Measure = Callable[[int], float]


@dataclass(frozen=True)
class Row:
    """One promise: what `ours` may be beside the slowest of `peers`, by their medians, or with
    `best` beside the quickest.

    `kind` is "ratio" (ours / peer), "difference" (ours - peer) or "absolute" (ours alone).
    """

    title: str
    ours: str
    peers: tuple[str, ...]
    limit: float
    kind: str = "ratio"
    best: bool = False


@dataclass(frozen=True)
class Series:
    """Contenders that take turns, each giving one figure in `unit` per round.

    With `amount`, a figure is the time of so many `things`, and rates are shown too.
    """

    title: str
    unit: str
    contenders: Mapping[str, Measure]
    rows: list[Row]
    rounds: int = 7
    amount: int = 0
    things: str = ""
    note: str = ""

    def measure(self) -> dict[str, dict[str, Any]]:
        """A B B A …: whoever comes second profits or suffers in every other round only.

        The round before the first that counts warms caches and disks; what is measured once (a
        peak of memory) has none.
        """
        figures: dict[str, list[float]] = {name: [] for name in self.contenders}
        warm = 1 if self.rounds > 1 else 0
        for number in range(self.rounds + warm):
            order = list(self.contenders.items())
            for name, contender in order if number % 2 == 0 else reversed(order):
                figure = contender(number)
                if number >= warm:
                    figures[name].append(figure)
        return {
            name: {
                "min": round(min(taken), 4),
                "median": round(statistics.median(taken), 4),
                "max": round(max(taken), 4),
            }
            for name, taken in figures.items()
        }


@dataclass
class Lab:
    """Where and how thoroughly is measured."""

    quick: bool
    skipped: list[str] = field(default_factory=list)

    def scaled(self, whole: int, quick: int) -> int:
        """A size or count; the smaller one with `--quick`."""
        return quick if self.quick else whole

    @property
    def rounds(self) -> int:
        return self.scaled(7, 1)

    def skip(self, why: str) -> None:
        self.skipped.append(why)
        print(f"  left out: {why}", flush=True)

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """An empty folder, gone afterwards with all that is in it."""
        with tempfile.TemporaryDirectory(prefix="ferry-bench-") as name:
            yield Path(name)
        os.sync()


def compiled(name: str, *libraries: str) -> str:
    """The program of `peers/<name>.c` or `.swift`, built where it is not or no longer."""
    source = next(path for path in PEERS.iterdir() if path.stem == name)
    program = BUILT / name
    BUILT.mkdir(parents=True, exist_ok=True)
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        flags = ["-o", str(program), str(source), *libraries]
        if source.suffix == ".swift":
            command = ["swiftc", "-O", "-static-stdlib", *flags]
        else:
            command = ["cc", "-O2", "-Wall", "-Wextra", *flags]
        subprocess.run(command, check=True)
    return str(program)


def timed(work: Callable[[], object]) -> float:
    """Milliseconds."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1e3


def random_file(path: Path, size: int) -> Path:
    with path.open("wb") as writer:
        for start in range(0, size, MIB):
            writer.write(os.urandom(min(MIB, size - start)))
    return path


def request(number: int, method: str, **params: Any) -> bytes:
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def ping(number: int) -> bytes:
    return b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n' % number


class Talker:
    """A child that reads and writes lines, and is gone when the `with` ends."""

    def __init__(self, command: list[str], folder: Path, configured: Path | None = None) -> None:
        path = configured or config(folder)
        environment = {**os.environ, "HOME": str(folder), "FERRY_CONFIG": str(path)}
        pipe = subprocess.PIPE
        self.child = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, env=environment, cwd=folder, bufsize=0
        )
        assert self.child.stdin and self.child.stdout
        self.input, self.output = self.child.stdin.fileno(), self.child.stdout.fileno()
        self.buffer = bytearray()

    def __enter__(self) -> Talker:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.child.stdin and self.child.stdout
        self.child.stdin.close()
        while os.read(self.output, MIB):
            pass
        try:
            self.child.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.child.stdout.close()

    def lines(self) -> list[bytes]:
        """The lines that came, at least one."""
        while True:
            chunk = os.read(self.output, MIB)
            if not chunk:
                raise SystemExit(f"{self.child.args!r} ended before it had answered")
            self.buffer += chunk
            if b"\n" in chunk:
                *whole, rest = self.buffer.split(b"\n")
                self.buffer = rest
                return [bytes(line) for line in whole]

    def wait_for(self, words: bytes) -> None:
        """Passes over lines up to one with these words."""
        while not any(words in line for line in self.lines()):
            pass

    def reply(self, data: bytes) -> bytes:
        """Writes one request and waits for its answer; events are passed over."""
        write_all(self.input, data)
        while True:
            for line in self.lines():
                if b'"id":' in line[:40]:
                    if b'"error":' in line:
                        raise SystemExit(f"unexpected error: {line.decode()}")
                    return line

    def replies(self, data: bytes, count: int) -> None:
        """Writes requests while reading, until so many are answered; events are passed over."""
        writer = threading.Thread(target=write_all, args=(self.input, data))
        writer.start()
        while count:
            for line in self.lines():
                if b'"id":' not in line[:40]:
                    continue
                if b'"error":' in line:
                    raise SystemExit(f"unexpected error: {line.decode()}")
                count -= 1
        writer.join()

    def pipeline(self, requests: list[bytes], window: int) -> None:
        """Sends requests without waiting for replies, at most `window` of them unanswered.

        Replies come without events in between, so lines are counted rather than parsed: the
        measuring side must not be what is measured. One that is an error ends the run.
        """
        os.set_blocking(self.input, False)
        chunks = [b"".join(requests[n : n + 64]) for n in range(0, len(requests), 64)]
        pending, sent, answered, tail = memoryview(b""), 0, 0, b""
        with selectors.DefaultSelector() as selector:
            selector.register(self.output, selectors.EVENT_READ)
            watched = False
            while answered < len(requests):
                if not pending and chunks and sent + 64 - answered <= window:
                    pending = memoryview(chunks.pop(0))
                    sent += 64
                if bool(pending) != watched:
                    watched = not watched
                    if watched:
                        selector.register(self.input, selectors.EVENT_WRITE)
                    else:
                        selector.unregister(self.input)
                for key, _ in selector.select():
                    if key.fd == self.input:
                        pending = pending[os.write(self.input, pending) :]
                        continue
                    chunk = os.read(self.output, MIB)
                    if not chunk or b'"error":' in tail + chunk:
                        raise SystemExit(f"{self.child.args!r}: {chunk[:400]!r}")
                    answered += chunk.count(b"\n")
                    tail = chunk[-8:]
        os.set_blocking(self.input, True)

    def memory(self, name: str) -> float:
        """VmRSS or VmHWM in MiB."""
        text = Path(f"/proc/{self.child.pid}/status").read_text()
        return int(text.split(f"{name}:")[1].split()[0]) / 1024


def write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def serve(folder: Path) -> Talker:
    """A warm ferry whose only remote lives in `folder`."""
    ferry = Talker([FERRY, "serve"], folder)
    ferry.reply(ping(0))
    return ferry


def config(folder: Path) -> Path:
    """A configuration whose only remote lives in `folder`; YAML reads strings of JSON."""
    path = folder / "config.yaml"
    root, state = json.dumps(str(folder / "root")), json.dumps(str(folder / "state"))
    path.write_text(f"stateDir: {state}\nremotes:\n  local: {{ kind: local, root: {root} }}\n")
    return path


def node() -> str | None:
    return shutil.which("node")
