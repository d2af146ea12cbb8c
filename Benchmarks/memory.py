"""How much memory the process takes: at rest, with huge files, with a host that never reads."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness import MEMORY_CEILING, Lab, Row, Series, Talker, request, serve, write_all

TITLE = "Memory"


def series(lab: Lab) -> Iterator[Series]:
    with lab.folder() as folder:
        yield sparse(lab, folder)
    for is_detached in (False, True):
        with lab.folder() as folder:
            yield never_reading(lab, folder, is_detached)


def sparse(lab: Lab, folder: Path) -> Series:
    gib = lab.scaled(20, 1)
    source, target = folder / "sparse", folder / "sparse.copy"
    with source.open("wb") as file:
        file.truncate(gib << 30)
    free = shutil.disk_usage(folder).free
    margin = 4 << 30

    def rest(_: int) -> float:
        with serve(folder) as ferry:
            return ferry.memory("VmHWM")

    def put(_: int) -> float:
        with serve(folder) as ferry:
            ferry.reply(request(1, "object/put", ref="sparse", path=str(source)))
            return ferry.memory("VmHWM")

    def get(_: int) -> float:
        with serve(folder) as ferry:
            ferry.reply(request(1, "object/get", ref="sparse", target=str(target)))
            return ferry.memory("VmHWM")

    contenders = {"ferry at rest": rest}
    # Stored and fetched files have no holes, so each may take its whole size.
    for count, name, measure in ((1, "put", put), (2, "get", get)):
        if free > count * (gib << 30) + margin:
            contenders[f"ferry {name}, {gib} GiB"] = measure
        else:
            lab.skip(f"{name} of {gib} GiB: the disk has only {free >> 30} GiB free")
    rows = [
        Row(f"peak memory, {name.removeprefix('ferry ')}", name, (), MEMORY_CEILING, "absolute")
        for name in contenders
    ]
    note = "VmHWM, one run; the huge file is sparse"
    return Series("Peak of resident memory", "MiB", contenders, rows, rounds=1, note=note)


def never_reading(lab: Lab, folder: Path, is_detached: bool) -> Series:
    run = NeverReading(folder, lab.scaled(20_000, 2_000), lab.scaled(10_000, 1_000), is_detached)
    seconds = lab.scaled(30, 3)
    how = "detached" if is_detached else "waited for"
    title = f"growth, host never reads, puts {how}"
    return Series(
        f"A host that never reads, puts {how}",
        "MiB",
        {"ferry": lambda _: run.growth(seconds)},
        [Row(title, "ferry", (), 8, "absolute")],
        rounds=1,
        note=f"after {run.puts // 10:,} transfers {run.puts:,} `object/put` queued, then "
        f"{run.others:,} other requests and a message every 50 ms for {seconds} s, nothing read; "
        "VmRSS, highest less before. Then all is read, and every reply, event and message counted",
    )


class NeverReading:
    """A host that reads nothing until the end, and then finds everything it is owed."""

    def __init__(self, folder: Path, puts: int, others: int, is_detached: bool) -> None:
        self.folder, self.puts, self.others = folder, puts, others
        self.is_detached = is_detached
        self.files = folder / "files"
        self.files.mkdir()
        for number in range(puts):
            (self.files / str(number)).write_bytes(os.urandom(4096))

    def requests(self) -> bytes:
        """Puts with the ids from 10 on, then the others."""
        first = self.puts + 10
        kinds: list[dict[str, Any]] = [
            {"method": "ping"},
            {"method": "transfer/get"},
            {"method": "object/metadata", "ref": "warm"},
            {"method": "transfer/list", "limit": 5},
        ]
        lines = []
        for number in range(10, first):
            place = {"ref": f"q/{number}", "path": str(self.files / str(number - 10))}
            detach = {"detach": True} if self.is_detached else {}
            lines.append(request(number, "object/put", transferId=f"q{number}", **place, **detach))
        for number in range(first, first + self.others):
            kind = dict(kinds[number % len(kinds)])
            method = kind.pop("method")
            if method == "transfer/get":
                kind["transferId"] = f"q{10 + number % self.puts}"
            lines.append(request(number, method, **kind))
        return b"".join(lines)

    def growth(self, seconds: float) -> float:
        with serve(self.folder) as ferry, serve(self.folder) as sender:
            # A process that has worked for a while: what its first transfers need is not growth.
            for number in range(self.puts // 10):
                ferry.reply(request(1, "object/put", ref="warm", text=f"warm {number}"))
            ferry.reply(request(2, "channel/subscribe", channels=["room"]))
            # So slow that the queue is still there at the end.
            ferry.reply(request(3, "limits/set", uploadRate=40_000))
            before = highest = ferry.memory("VmRSS")
            data = self.requests()
            # Ferry may stop reading, so from a thread.
            writer = threading.Thread(target=write_all, args=(ferry.input, data), daemon=True)
            writer.start()
            until, sent = time.monotonic() + seconds, 0
            while (now := time.monotonic()) < until:
                sender.reply(
                    request(sent, "file/send", channel="room", text="m" * 100, name=f"{sent}.txt")
                )
                sent += 1
                highest = max(highest, ferry.memory("VmRSS"))
                time.sleep(max(0, now + 0.05 - time.monotonic()))
            self.read_all(ferry, writer, sent)
            return highest - before

    def read_all(self, ferry: Talker, writer: threading.Thread, messages: int) -> None:
        """Reads until nothing is owed; what is missing, doubled or in the wrong order ends it."""
        owed = set(range(10, self.puts + self.others + 10))
        transfers = {f"q{number}" for number in range(10, self.puts + 10)}
        next_message, seq, faster = 0, 0, 4
        until = time.monotonic() + 300
        rate = request(faster, "limits/set", uploadRate=None)
        is_asked = False
        while owed or transfers or next_message < messages:
            if time.monotonic() > until:
                left = f"{len(owed)} replies, {len(transfers)} ends, {messages - next_message}"
                raise SystemExit(f"a host that reads again still waits for {left} messages")
            if not is_asked and not writer.is_alive():
                is_asked = True
                write_all(ferry.input, rate)
            for line in ferry.lines():
                message = json.loads(line)
                params = message.get("params", {})
                if "id" in message:
                    number = message["id"]
                    code = message.get("error", {}).get("data", {}).get("code")
                    if number == faster:
                        if code == "ERR_OVERLOADED":
                            is_asked = False
                        continue
                    if number not in owed:
                        raise SystemExit(f"answered twice or never asked: {line[:300]!r}")
                    owed.remove(number)
                    is_put = number < self.puts + 10
                    if is_put and code == "ERR_OVERLOADED":
                        # Too much lay unread: refused, and so owed no end.
                        transfers.remove(f"q{number}")
                        continue
                    if code and code != "ERR_OVERLOADED":
                        raise SystemExit(f"unexpected error: {line[:300]!r}")
                    if is_put and not self.is_detached and f"q{number}" in transfers:
                        raise SystemExit(f"answered before its event: {line[:300]!r}")
                    continue
                if params["seq"] <= seq:
                    raise SystemExit(f"out of order after {seq}: {line[:300]!r}")
                seq = params["seq"]
                if message["method"] == "uploaded":
                    transfers.discard(params["transferId"])
                elif message["method"] == "message":
                    if params["file"]["name"] != f"{next_message}.txt":
                        raise SystemExit(f"message {next_message} is missing: {line[:300]!r}")
                    next_message += 1
                elif message["method"] in ("failure", "error", "cancelled"):
                    raise SystemExit(f"unexpected end: {line[:300]!r}")
