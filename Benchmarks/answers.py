"""How fast a line is answered: the start, many requests, one request."""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from harness import (
    FERRY,
    PEERS,
    Lab,
    Measure,
    Row,
    Series,
    Talker,
    compiled,
    node,
    ping,
    request,
    serve,
    timed,
)

TITLE = "Answers"
WINDOW = 1024  # requests unanswered at once: far from ERR_OVERLOADED, and never idle


def series(lab: Lab) -> Iterator[Series]:
    answer = [node() or "", str(PEERS / "answer.js")]
    if not answer[0]:
        lab.skip("rows beside Node: it is not installed")
    with lab.folder() as folder:
        yield start(lab, folder, answer)
    with lab.folder() as folder:
        yield pipelined(lab, folder, answer)
    with lab.folder() as folder:
        yield lone(lab, folder)


def start(lab: Lab, folder: Path, answer: list[str]) -> Series:
    """From the spawn to the first reply read; the program's file is in the page cache."""

    def first_reply(command: list[str]) -> Measure:
        def measure(_: int) -> float:
            began = time.perf_counter()
            with Talker(command, folder) as talker:
                talker.reply(ping(1))
                return (time.perf_counter() - began) * 1e3

        return measure

    empty = compiled("empty")

    def whole_life(_: int) -> float:
        return timed(lambda: subprocess.run([empty], check=True, stdout=subprocess.PIPE))

    contenders = {"ferry": first_reply([FERRY, "serve"]), "empty Swift program": whole_life}
    rows = [
        Row(
            "start, beside an empty Swift program",
            "ferry",
            ("empty Swift program",),
            5,
            "difference",
        )
    ]
    if answer[0]:
        contenders["Node"] = first_reply(answer)
        rows.insert(0, Row("start to first reply", "ferry", ("Node",), 0.25))
    note = "spawn, one `ping`, its reply read; the empty program: spawn to exit"
    return Series("Start", "ms", contenders, rows, lab.scaled(21, 3), note=note)


def pipelined(lab: Lab, folder: Path, answer: list[str]) -> Series:
    count = lab.scaled(100_000, 20_000)
    pings = [ping(n + 2) for n in range(count)]
    gets = [request(n + 2, "transfer/get", transferId="t") for n in range(count)]

    def ours(requests: list[bytes]) -> Measure:
        def measure(number: int) -> float:
            with serve(folder) as ferry:
                name = f"t{number}"
                ferry.reply(request(1, "object/put", ref="a", text="content", transferId=name))
                asked = [r.replace(b'"t"', b'"%s"' % name.encode()) for r in requests]
                return timed(lambda: ferry.pipeline(asked, WINDOW))

        return measure

    def nodes(_: int) -> float:
        with Talker(answer, folder) as talker:
            talker.reply(ping(1))
            return timed(lambda: talker.pipeline(pings, WINDOW))

    contenders = {"ferry ping": ours(pings), "ferry transfer/get": ours(gets)}
    rows = [Row("`transfer/get` beside `ping`", "ferry transfer/get", ("ferry ping",), 2)]
    if answer[0]:
        contenders["Node"] = nodes
        rows.insert(0, Row("pipelined `ping`", "ferry ping", ("Node",), 2))
    note = f"requests written ahead, at most {WINDOW:,} unanswered; times for all of them"
    return Series("Pipelined", "ms", contenders, rows, lab.rounds, count, "requests", note)


def lone(lab: Lab, folder: Path) -> Series:
    trips = lab.scaled(5_000, 1_000)

    def median_trip(command: list[str]) -> Measure:
        def measure(_: int) -> float:
            with Talker(command, folder) as talker:
                for number in range(200):
                    talker.reply(ping(number))
                taken = [timed(partial(talker.reply, ping(number))) for number in range(trips)]
            return statistics.median(taken) * 1e3

        return measure

    contenders = {
        "ferry ping": median_trip([FERRY, "serve"]),
        "C line echo": median_trip([compiled("echo")]),
    }
    rows = [Row("lone `ping`, p50", "ferry ping", ("C line echo",), 3)]
    note = f"the median of {trips:,} round trips, one after the other"
    return Series("Lone request", "µs", contenders, rows, lab.rounds, note=note)
