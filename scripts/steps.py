"""Running one command of a check or a test: quiet, timed, bounded, its output kept in a log."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / ".build" / "logs"
# What Swift Testing and pytest say while all is well.
NOISE = re.compile("[◇✔➜] |bringing up nodes")
# Tools keep their caches with what is built, out of the checkout.
CACHES = {
    name: str(ROOT / ".build" / name.lower()) for name in ("MYPY_CACHE_DIR", "RUFF_CACHE_DIR")
}
# As compilers and linters write it: "error: …" or "file:line:column: error: …".
ERROR = re.compile(r"(\S+:\d+(:\d+)?: )?error: ")


# Commands run in groups of their own, so being terminated must reach `run`, which ends them.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


@dataclass(frozen=True)
class Outcome:
    """What a command did: its exit code (None: it ran out of time), output, log and seconds."""

    code: int | None
    output: str
    log: Path
    seconds: float

    @property
    def ok(self) -> bool:
        return self.code == 0

    def excerpt(self, start: str | None = None, limit: int = 60) -> str:
        """The part worth reading: from the first line that fits `start`, or errors, or the end."""
        lines = [line for line in self.output.splitlines() if line and not NOISE.match(line)]
        found = [n for n, line in enumerate(lines) if start and re.search(start, line)]
        errors = list(dict.fromkeys(line for line in lines if ERROR.match(line)))
        if found:
            shown = lines[found[0] : found[0] + limit]
        elif errors:
            shown = errors[:limit]
        else:
            shown = lines[-limit:]
        if self.code is None:
            shown.append(f"stopped: still running after {self.seconds:.0f} s")
        shown.append(f"(all of it: {self.log.relative_to(ROOT)})")
        return "\n".join(f"    {line}" for line in shown)


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends `process` and all it started: its process session, since `swift test` makes a group."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
            if int(fields[3]) == process.pid:
                os.kill(int(status.parent.name), signal.SIGKILL)
        except (OSError, ValueError):
            continue  # it ended while we looked
    process.wait()


def run(name: str, command: list[str], seconds: float) -> Outcome:
    """Runs `command` at the root without stdin; after `seconds` kills it and all it started."""
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"{name}.log"
    began = time.monotonic()
    code: int | None
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **CACHES},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            end(process)
    return Outcome(code, log.read_text("utf-8", "replace"), log, time.monotonic() - began)


def sources(folder: str, suffix: str) -> list[str]:
    """The files below a folder whose names end so."""
    return sorted(str(p.relative_to(ROOT)) for p in (ROOT / folder).rglob(f"*{suffix}"))


def release_build() -> Outcome:
    """The build that `make build` makes, so that nothing is built twice."""
    command = "swift build -c release --static-swift-stdlib --product ferry"
    return run("build-release", command.split(), seconds=1500)


def debug_build() -> Outcome:
    """Everything with its tests; an import of a room that the manifest does not allow fails it."""
    command = "swift build --build-tests --explicit-target-dependency-import-check error"
    return run("build-debug", command.split(), seconds=1500)
