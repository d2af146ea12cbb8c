#!/usr/bin/env python3
"""Sends several files to a channel, a bar for each, and then says what happened.

    examples/composer.py trip a.jpg b.jpg c.mov

They are one batch, four at once, that is announced at its end. A file that failed for a reason
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


async def announce(batch: ferry.Batch) -> set[str]:
    """Announces what is uploaded; returns the ids of the files that others were told of."""
    try:
        await batch.send()
    except ferry.FerryError as error:
        print(error.message, file=sys.stderr)
    try:
        return {entry.file_id async for entry in batch.entries() if entry.sent}
    except ferry.FerryError:  # Ctrl-C has cleared the batch meanwhile.
        return set()


async def main(channel: str, paths: list[str]) -> int:
    bars = Bars(paths)
    shared: dict[str, ferry.SentFile] = {}
    clearing: list[asyncio.Task[None]] = []
    async with ferry.Ferry() as f, f.batch(channel, concurrency=4, retries=1) as batch:
        files = batch.add_all(paths)
        positions = {file.file_id: position for position, file in enumerate(files)}

        def show(event: ferry.Event) -> None:
            position = positions[event.file_id]
            bars.show(position, files[position].snapshot)

        for name in ("started", "progress", "uploaded", "error", "failure"):
            batch.on(name, show)
        batch.on("uploaded", lambda event: shared.update({event.file_id: event.file}))

        def interrupt() -> None:
            """Clears the batch, which cancels what is under way."""
            if not clearing:
                clearing.append(asyncio.ensure_future(batch.clear()))

        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupt)
        sent: set[str] = set()
        try:
            await batch.complete()
            if shared:
                sent = await announce(batch)
        except ferry.TransferCancelled:
            pass
        await (clearing[0] if clearing else batch.clear())
    for path, file in zip(paths, files):
        error = file.snapshot.error
        if file.file_id in sent:
            told = shared[file.file_id]
            print(f"{path}: sent as {told.id}, {told.size} bytes")
        elif clearing or isinstance(error, ferry.TransferCancelled):
            print(f"{path}: cancelled")
        elif error is not None:
            print(f"{path}: not sent: {error.message}")
        else:
            print(f"{path}: not announced")
    return 0 if len(sent) == len(files) else 1


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(asyncio.run(main(sys.argv[1], sys.argv[2:])))
