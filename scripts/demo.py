#!/usr/bin/env python3
"""`make demo`: ferry's main job, seen on this machine.

One process watches a channel. This one sends a file there. The watcher hears of it, downloads it,
and both compare what they have. Everything happens in a temporary folder that is removed again.
Exit code 1 means that something was not as it should be.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CLIENT = Path(__file__).resolve().parents[1] / "clients" / "python"
sys.path.insert(0, str(CLIENT))

import ferry  # noqa: E402
from ferry.progress import Display, size  # noqa: E402

CHANNEL = "holiday"
NAME = "beach.raw"
SIZE = 24 * 1024 * 1024
RATE = 16 * 1024 * 1024


class Surprise(Exception):
    """Something was not as it should be."""


def say(text: str) -> None:
    print(text, flush=True)


def expect(truth: bool, otherwise: str) -> None:
    if not truth:
        raise Surprise(otherwise)


def make_file(path: Path) -> str:
    """Fills a file with bytes that do not compress, and returns their SHA-256."""
    digest = hashlib.sha256()
    with path.open("wb") as file:
        for _ in range(SIZE // (1 << 20)):
            block = os.urandom(1 << 20)
            digest.update(block)
            file.write(block)
    return digest.hexdigest()


def sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


@contextlib.contextmanager
def watcher(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A second process that watches the channel and downloads the first file it hears of."""
    command = [
        *(sys.executable, "-m", "ferry", "watch", CHANNEL, "--json", "--count", "1"),
        *("--root", str(folder / "shared"), "--download", str(folder / "inbox")),
    ]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(CLIENT)},
    )
    try:
        assert process.stderr is not None
        first = process.stderr.readline()
        expect(first.startswith("watching "), f"the watcher did not start: {first}")
        yield process
    finally:
        process.kill()
        process.communicate()


async def send(f: ferry.Ferry, path: Path) -> ferry.SentFile:
    """Sends the file with a progress bar."""
    display = Display(sys.stdout, plain_interval=0.4)
    handle = f.send(path, channel=CHANNEL, message={"text": "greetings from the beach"})
    display.add(handle.transfer_id, NAME)
    async for event in handle:
        display.take(event)
    display.clear()
    return await handle


def heard(process: subprocess.Popen[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the watcher printed: the message it heard, and what it downloaded."""
    out, err = process.communicate(timeout=60)
    expect(process.returncode == 0, f"the watcher ended with {process.returncode}: {err}")
    message, got = (json.loads(line) for line in out.splitlines())
    return message, got


async def main(folder: Path) -> None:
    original = folder / NAME
    digest = make_file(original)
    say(f"1. Made a file to share: {NAME}, {size(SIZE)} of random bytes.")

    config = {
        "default": "local",
        "stateDir": str(folder / "shared" / "state"),
        "remotes": {"local": {"kind": "local", "root": str(folder / "shared" / "data")}},
    }
    with watcher(folder) as process:
        say(f"2. Another process (pid {process.pid}) now watches the channel “{CHANNEL}”.")
        async with ferry.Ferry(config) as f:
            assert f.info is not None
            say(f"3. This one started ferry {f.info.version} (pid {f.pid}) and sends the file,")
            say(f"   at {size(RATE)}/s at most, so that there is something to see:")
            await f.set_limits(upload_rate=RATE)
            sent = await send(f, original)
            expect(sent.sha256 == digest, f"ferry stored {sent.sha256}, and {digest} was sent")
            say(f"   Sent. On the channel it is file {sent.id}.")

            message, got = await asyncio.get_running_loop().run_in_executor(None, heard, process)
            expect(message["file"]["id"] == sent.id, f"the watcher heard of {message['file']}")
            text = message["message"]["text"]
            expect(sha256_of(Path(got["path"])) == digest, "the downloaded file differs")
            say(f"4. The watcher heard of it (“{text}”), downloaded it, and has the same bytes:")
            say(f"   SHA-256 {digest[:16]}… on both sides.")

            names = [file.name async for file in f.files(CHANNEL)]
            expect(names == [NAME], f"the list says {names}")
            say(f"5. The channel's list shows it: {', '.join(names)}.")

            url = await f.file_url(CHANNEL, sent.id, sent.name)
            place = Path(urllib.parse.unquote(urllib.parse.urlsplit(url).path))
            expect(sha256_of(place) == digest, f"{url} holds something else")
            say("6. Its URL leads to the same bytes.")

            await f.delete_file(CHANNEL, sent.id, sent.name)
            expect([file async for file in f.files(CHANNEL)] == [], "it is still listed")
            try:
                await f.download(CHANNEL, sent.id, sent.name, inline=True)
                raise Surprise("a deleted file could be downloaded")
            except ferry.FerryError as error:
                expect(error.code == "ERR_NOT_FOUND", f"downloading it again said {error}")
            say("7. Deleted: the list is empty, and a download says ERR_NOT_FOUND.")
    say("\nThat is ferry. Now share something of your own, in two terminals:")
    say("   cd clients/python")
    say("   python3 -m ferry watch trip --download inbox")
    say("   python3 -m ferry send SOME_FILE --channel trip")


if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):
        assert isinstance(stream, io.TextIOWrapper)
        stream.reconfigure(errors="replace")
    try:
        with tempfile.TemporaryDirectory(prefix="ferry-demo-") as scratch:
            # A configuration of the user's own is of no concern here.
            os.environ.pop("FERRY_CONFIG", None)
            os.environ["XDG_CONFIG_HOME"] = scratch
            asyncio.run(main(Path(scratch)))
    except (Surprise, ferry.FerryError, OSError, subprocess.TimeoutExpired) as surprise:
        sys.exit(f"demo: {surprise}")
    except KeyboardInterrupt:
        sys.exit(130)
