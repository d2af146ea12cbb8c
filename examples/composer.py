#!/usr/bin/env python3
"""Sends several files to a channel, a bar for each, and then says what happened.

    examples/composer.py trip a.jpg b.jpg c.mov

One sidecar sends them all, as many at once as its limits allow. A file that failed for a reason
that may pass is tried once more; Ctrl-C cancels what is under way. Exit code 1: not all were sent.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

# Not needed once the package is installed: pip install ./clients/python
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "clients" / "python"))

import ferry  # noqa: E402

CELLS = 24


class Bars:
    """One line per file, drawn over themselves; nothing where the output is no terminal."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.states: list[ferry.TransferState | None] = [None] * len(names)
        self.live = sys.stdout.isatty()
        if self.live:
            print("\n" * len(names), end="")

    def show(self, position: int, state: ferry.TransferState) -> None:
        self.states[position] = state
        if self.live:
            print(f"\x1b[{len(self.names)}A", end="")
            for name, known in zip(self.names, self.states):
                print(f"\r\x1b[K{self.line(name, known)}")
            sys.stdout.flush()

    def line(self, name: str, state: ferry.TransferState | None) -> str:
        if state is None:
            return f"{name[-30:]:30} waiting"
        share = 1 if state.state == "succeeded" else (state.percent or 0) / 100
        full = round(share * CELLS)
        return f"{name[-30:]:30} {'█' * full}{'░' * (CELLS - full)} {state.state}"


async def send(f: ferry.Ferry, channel: str, path: str, bars: Bars, position: int) -> str:
    """Sends one file; returns what became of it."""
    handle = f.send(path, channel=channel, message={"text": Path(path).name})
    for again in (True, False):
        try:
            async for _ in handle:
                bars.show(position, handle.snapshot)
            break
        except ferry.TransferFailed as error:
            if not (again and error.retryable):
                raise
            await asyncio.sleep(error.retry_after)
            await handle.retry()
    sent = await handle
    return f"sent as {sent.id}, {sent.size} bytes"


async def main(channel: str, paths: list[str]) -> int:
    bars = Bars(paths)
    async with ferry.Ferry() as f:
        sending = [
            asyncio.ensure_future(send(f, channel, path, bars, position))
            for position, path in enumerate(paths)
        ]
        # Cancelling a task that waits for a transfer cancels the transfer.
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, lambda: [task.cancel() for task in sending])
        outcomes = await asyncio.gather(*sending, return_exceptions=True)
    for path, outcome in zip(paths, outcomes):
        if isinstance(outcome, asyncio.CancelledError):
            outcome = "cancelled"
        elif isinstance(outcome, ferry.FerryError):
            outcome = f"not sent: {outcome.message}"
        elif isinstance(outcome, BaseException):
            raise outcome
        print(f"{path}: {outcome}")
    return 0 if all(isinstance(outcome, str) for outcome in outcomes) else 1


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(asyncio.run(main(sys.argv[1], sys.argv[2:])))
