"""Files over the wire of S3, to and from a server that keeps nothing, beside what others wrote."""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import s3_peers as peers
from harness import (
    FERRY,
    MIB,
    Lab,
    Measure,
    Row,
    Series,
    Talker,
    ping,
    request,
    timed,
    write_all,
)
from s3_peers import Command, Cost, Load, NullServer, Task

TITLE = "S3, beside a null server"
CEILING = 32  # MiB of resident memory, whatever is moved
WARM = "ferry, warm"
CALL = 2_000  # requests a host writes before it waits
Maker = Callable[[Task, Path, str], Command]


def series(lab: Lab) -> Iterator[Series]:
    for name in ("s5cmd", "rclone", "aws", "curl"):
        if not peers.program(name):
            lab.skip(f"S3 beside {name}: it is not installed (make setup)")
    memory: dict[str, float] = {}
    with lab.folder() as folder:
        for number, load in enumerate(loads(lab)):
            for is_up in (True, False):
                place = folder / f"{number}-{'up' if is_up else 'down'}"
                place.mkdir()
                yield from Contest(lab, place, load, is_up, memory).series()
                if is_up:
                    shutil.rmtree(place / "files")
    with lab.folder() as folder:
        yield from sparse(lab, folder, memory)
    with lab.folder() as folder:
        yield from many(lab, folder)
    with lab.folder() as folder:
        yield cancels(lab, folder)


def loads(lab: Lab) -> list[Load]:
    large, mixed = lab.scaled(1024, 64) * MIB, lab.scaled(512, 32) * MIB
    return [
        Load(((1, large),), connections=peers.PARTS),
        Load(((lab.scaled(100, 8), 8 * MIB),)),
        Load(((lab.scaled(1_000, 100), 64 << 10),)),
        Load(((lab.scaled(10_000, 500), 4 << 10),)),
        Load(((1, mixed), (lab.scaled(2_000, 100), 16 << 10))),
    ]


class Contest:
    """One load in one direction: every contender's costs, and what they may be."""

    def __init__(
        self, lab: Lab, folder: Path, load: Load, is_up: bool, memory: dict[str, float]
    ) -> None:
        self.folder, self.load, self.is_up, self.memory = folder, load, is_up, memory
        self.rounds = lab.scaled(3, 1)
        self.place, self.log = folder / "files", folder / "log"
        self.task = Task(load, is_up, self.place)
        self.costs: dict[str, dict[int, Cost]] = {}
        self.waits: dict[str, dict[int, float]] = {}
        self.way = "up" if is_up else "down"
        # The level with the strictest targets; the last has the mildest.
        self.checked = "CRC-32C, SHA-256" if is_up else "SHA-256"
        self.with_md5 = "MD5" if is_up else "SHA-256, MD5"
        self.levels = ["no checksum", self.checked]
        if is_up or max(size for _, size in load.kinds) <= peers.LARGE:
            self.levels.append(self.with_md5)
        self.is_mixed = len(load.kinds) > 1
        # A second and third run of what takes twenty times as long tells nothing more.
        self.is_long = load.count > 5_000

    def series(self) -> Iterator[Series]:
        if self.is_up:
            self.place.mkdir()
            self.load.make(self.place)
        contenders: dict[str, Measure] = {
            name: partial(self.run, name, make) for name, make in self.makers().items()
        }
        contenders[WARM] = self.warm
        name = f"S3 {self.way}, {self.load.title}"
        yield Series(
            name,
            "ms",
            contenders,
            self.rows("time", set(contenders)),
            self.rounds,
            self.load.count if self.load.count > 100 else self.load.size // MIB,
            "files" if self.load.count > 100 else "MiB",
            f"spawn to exit, {self.load.connections} connections; warm: a host's requests to the "
            "last reply. " + self.words(),
        )
        served = statistics.median(
            cost.server for cost in self.costs[f"ferry, {self.checked}"].values()
        )
        yield Series(
            f"{name}: CPU",
            "ms",
            {title: partial(self.figure, self.costs, title, "cpu") for title in self.costs},
            self.rows("CPU", set(self.costs)),
            self.rounds,
            note=f"user and system time of the client, of the same runs; the server took "
            f"{served:,.0f} ms beside ferry",
        )
        if self.is_mixed:
            yield self.fairness(name)

    def words(self) -> str:
        if self.is_up:
            return (
                "curl and what is called so check nothing; s5cmd: MD5 and SHA-256, rclone: MD5, "
                "aws-cli: CRC"
            )
        return (
            "rclone compares MD5 where named, the others check nothing; ferry alone brings every "
            "file to the disk before it says that it is there"
        )

    def makers(self) -> dict[str, Maker]:
        """Who takes part."""
        found: dict[str, Maker] = {
            f"ferry, {level}": partial(peers.ferry, level=level) for level in self.levels
        }
        if peers.program("s5cmd"):
            found["s5cmd"] = peers.s5cmd
        if peers.program("rclone"):
            found["rclone, MD5"] = partial(peers.rclone, checks=True)
            found["rclone, no checksum"] = partial(peers.rclone, checks=False)
        if peers.program("aws"):
            found["aws-cli"] = peers.aws
        if peers.program("curl"):
            found["curl"] = peers.curl
        return found

    def rows(self, what: str, there: set[str]) -> list[Row]:
        """The targets of each level: shares of the best peer's time or CPU."""
        is_time = what == "time"
        # Who checks what it moves.
        checking = ("s5cmd", "rclone, MD5", "aws-cli") if self.is_up else ("rclone, MD5",)
        best, usual = (0.6, 0.9) if is_time else (0.5, 0.7)
        wanted = [(self.checked, checking, best)]
        if self.with_md5 in self.levels:
            with_md5 = tuple(name for name in checking if name != "aws-cli")
            wanted.append((self.with_md5, with_md5, best if self.is_long else usual))
        if self.is_long:
            unchecked = ("rclone, no checksum",) if self.is_up else ("s5cmd", "rclone, no checksum")
            wanted.append((self.levels[0], (*checking, *unchecked), best))
        if self.load.count == 1 and is_time:
            wanted.append((self.levels[0], ("curl",), 1.25))
        rows = []
        for level, besides, limit in wanted:
            if present := tuple(name for name in besides if name in there):
                title = f"S3 {self.way}, {self.load.title}, {level}: {what}"
                title += " beside libcurl" if besides == ("curl",) else ""
                rows.append(Row(title, f"ferry, {level}", present, limit, best=True))
        return rows

    def fairness(self, name: str) -> Series:
        peers_there = tuple(set(self.waits) & {"s5cmd", "rclone, MD5", "rclone, no checksum"})
        rows = []
        if peers_there:
            title = f"{name}: p95 of a small file"
            rows = [Row(title, f"ferry, {self.checked}", peers_there, 0.5, best=True)]
        return Series(
            f"{name}: small files",
            "ms",
            {title: partial(self.wait, title) for title in self.waits},
            rows,
            self.rounds,
            note="from the spawn to the server's answer, by its log: the 95th of a hundred small "
            "files, beside the large one",
        )

    def run(self, name: str, make: Maker, number: int) -> float:
        past = self.costs.setdefault(name, {})
        if name == "aws-cli" and self.is_long and past:
            number, past[number] = min(past), next(iter(past.values()))
            return past[number].wall
        if self.is_up:
            self.measure(name, make, number)
        else:
            with peers.emptied(self.place):
                self.measure(name, make, number)
                self.require_all(name)
        return self.costs[name][number].wall

    def measure(self, name: str, make: Maker, number: int) -> None:
        with NullServer(self.load, self.log if self.is_mixed else None) as server:
            command = make(self.task, self.folder, server.url)
            began = time.monotonic()
            wall, cpu = peers.cost(command, server, self.folder / "answers")
        self.costs[name][number] = Cost(wall, cpu, server.cpu * 1e3)
        if name.startswith("ferry"):
            answers = (self.folder / "answers").read_bytes()
            if b'"error":' in answers or answers.count(b'"result":') != self.load.count:
                raise SystemExit(f"{name} has not moved all: {self.folder / 'answers'}")
        if self.is_up and server.received < self.load.size:
            raise SystemExit(f"{name} sent {server.received} bytes of {self.load.size}")
        if self.is_mixed:
            self.waits.setdefault(name, {})[number] = self.p95(began)

    def p95(self, began: float) -> float:
        """Milliseconds until all but a twentieth of the small files were answered."""
        small = f"size-{min(size for _, size in self.load.kinds)}"
        verb = "PUT" if self.is_up else "GET"
        ends = {}
        for line in self.log.read_text().splitlines():
            moment, method, target = line.split(" ", 2)
            if method == verb and target.partition("?")[0].endswith(small):
                ends[target] = float(moment) - began
        return statistics.quantiles(ends.values(), n=20)[18] * 1e3

    def figure(self, costs: dict[str, dict[int, Cost]], name: str, what: str, number: int) -> float:
        past = costs[name]
        return float(getattr(past.get(number, next(iter(past.values()))), what))

    def wait(self, name: str, number: int) -> float:
        past = self.waits[name]
        return past.get(number, next(iter(past.values())))

    def require_all(self, name: str) -> None:
        found = [path.stat().st_size for path in self.place.rglob("*") if path.is_file()]
        if len(found) != self.load.count or sum(found) != self.load.size:
            raise SystemExit(f"{name} fetched {len(found)} files of {sum(found)} bytes")

    def warm(self, number: int) -> float:
        """A ferry that has libcurl in memory and a connection open."""
        if self.is_up:
            return self.reply_all()
        with peers.emptied(self.place):
            return self.reply_all()

    def reply_all(self) -> float:
        asked = b"".join(self.task.requests())
        with NullServer() as server, serve(self.folder, server.url, self.load) as ferry:
            taken = timed(lambda: ferry.replies(asked, self.load.count))
            title = f"{self.way}, {self.load.title}"
            self.memory[title] = max(self.memory.get(title, 0), ferry.memory("VmHWM"))
        return taken


def serve(folder: Path, url: str, load: Load) -> Talker:
    shutil.rmtree(folder / "state", ignore_errors=True)
    path = peers.configuration(folder, url, "crc32c", load.connections)
    ferry = Talker([FERRY, "serve"], folder, path)
    ferry.reply(ping(0))
    ferry.reply(request(0, "object/put", ref="warm", text=""))
    return ferry


def sparse(lab: Lab, folder: Path, memory: dict[str, float]) -> Iterator[Series]:
    """Memory of all that was measured, and of a file larger than all memory."""
    gib = lab.scaled(20, 1)
    source = folder / "sparse"
    with source.open("wb") as file:
        file.truncate(gib << 30)

    def put(_: int) -> float:
        load = Load(((1, gib << 30),), connections=peers.PARTS)
        with NullServer() as server, serve(folder, server.url, load) as ferry:
            ferry.reply(request(1, "object/put", ref="sparse", path=str(source)))
            return ferry.memory("VmHWM")

    contenders: dict[str, Measure] = {title: partial(peak, memory, title) for title in memory}
    contenders[f"up, {gib} GiB"] = put
    rows = [Row(f"S3 peak memory, {title}", title, (), CEILING, "absolute") for title in contenders]
    yield Series(
        "S3: peak of resident memory",
        "MiB",
        contenders,
        rows,
        rounds=1,
        note=f"VmHWM of the warm ferry, the highest of all rounds; {gib} GiB are a sparse file",
    )


def peak(memory: dict[str, float], title: str, _: int) -> float:
    return memory[title]


def many(lab: Lab, folder: Path) -> Iterator[Series]:
    """Ten times as many files: ten times as long, and no more memory."""
    count = lab.scaled(100_000, 5_000)
    names = {f"{files:,} files": files for files in (count, count // 10)}
    source = folder / "small"
    source.write_bytes(b"x" * 1024)
    peaks: dict[str, float] = {}

    def put(name: str, _: int) -> float:
        load = Load(((names[name], 1024),))
        with NullServer() as server, serve(folder, server.url, load) as ferry:
            taken = timed(lambda: put_all(ferry, source, names[name]))
            peaks[name] = ferry.memory("VmHWM")
        return taken * count / names[name]

    title = f"S3 up, {count:,} × 1 KiB"
    most, fewer = names
    yield Series(
        title,
        "ms",
        {name: partial(put, name) for name in names},
        [Row(f"{title}, beside ten times a tenth", most, (fewer,), 1.2)],
        rounds=1,
        note=f"{CALL:,} requests at once; of the tenth ten times its time",
    )
    yield Series(
        f"{title}: peak of resident memory",
        "MiB",
        {name: partial(peak, peaks, name) for name in names},
        [Row(f"S3 peak memory, up, {count:,} × 1 KiB", most, (), CEILING, "absolute")],
        rounds=1,
        note="VmHWM",
    )


def cancels(lab: Lab, folder: Path) -> Series:
    """From the request to cancel a large upload under way to the event that all of it is gone."""
    source = folder / "sparse"
    with source.open("wb") as file:
        file.truncate(20 << 30)
    asked = request(1, "object/put", ref="x", path=str(source), transferId="t", detach=True)
    load = Load(((1, 20 << 30),), connections=peers.PARTS)

    def cancel(_: int) -> float:
        with NullServer() as server, serve(folder, server.url, load) as ferry:
            write_all(ferry.input, asked)
            ferry.wait_for(b'"method":"progress"')
            return timed(lambda: cancelled(ferry))

    def cancelled(ferry: Talker) -> None:
        write_all(ferry.input, request(2, "transfer/cancel", transferId="t"))
        ferry.wait_for(b'"method":"cancelled"')

    title = "S3 up, a file cancelled at full speed"
    return Series(
        title,
        "ms",
        {"ferry": cancel},
        [Row(title, "ferry", (), 10, "absolute")],
        rounds=lab.scaled(9, 1),
        note="its four requests ended, its upload aborted on the server, its end written down",
    )


def put_all(ferry: Talker, source: Path, count: int) -> None:
    for start in range(0, count, CALL):
        asked = [
            request(n + 1, "object/put", ref=f"many/{n}", path=str(source))
            for n in range(start, min(start + CALL, count))
        ]
        ferry.replies(b"".join(asked), len(asked))
