"""What the packages for Python and Node cost a host, beside a loop of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from harness import FERRY, PEERS, Lab, Measure, Row, Series, compiled, config, node

TITLE = "Clients"


def series(lab: Lab) -> Iterator[Series]:
    hosts = {"Python": [sys.executable, str(PEERS / "client.py")]}
    if program := node():
        hosts["Node"] = [program, str(PEERS / "client.mjs")]
    else:
        lab.skip("the Node client: Node is not installed")
    for language, host in hosts.items():
        with lab.folder() as folder:
            yield pipelined(lab, language, host, folder)
        with lab.folder() as folder:
            yield lone(lab, language, host, folder)
    with lab.folder() as folder:
        yield memory(lab, hosts, folder)
    with lab.folder() as folder:
        yield pause(lab, hosts, folder)


def pause(lab: Lab, hosts: dict[str, list[str]], folder: Path) -> Series:
    count = lab.scaled(10_000, 1_000)

    def measure(host: list[str]) -> Measure:
        ask = figure(host, "client", "batch", count, folder)

        def fresh(number: int) -> float:
            for name in ("root", "state"):
                shutil.rmtree(folder / name, ignore_errors=True)
            return ask(number)

        return fresh

    contenders = {language: measure(host) for language, host in hosts.items()}
    rows = [
        Row(f"{language} client, longest pause, {count:,} files", language, (), 50, "absolute")
        for language in hosts
    ]
    note = "a batch: the longest time its host's event loop stood still, from adding to complete"
    return Series("A host's event loop", "ms", contenders, rows, rounds=lab.rounds, note=note)


def figure(host: list[str], how: str, what: str, count: int, folder: Path) -> Measure:
    """What a host of `peers/client.*` prints: `bare` with the echo, or the `client` with ferry."""
    program = FERRY if how == "client" else compiled("echo")

    def measure(_: int) -> float:
        printed = subprocess.run(
            [*host, how, program, what, str(count)],
            env={**os.environ, "HOME": str(folder), "FERRY_CONFIG": str(config(folder))},
            cwd=folder,
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
        return float(printed)

    return measure


def beside(host: list[str], what: str, count: int, folder: Path) -> dict[str, Measure]:
    return {how: figure(host, how, what, count, folder) for how in ("client", "bare")}


def pipelined(lab: Lab, language: str, host: list[str], folder: Path) -> Series:
    count = lab.scaled(50_000, 5_000)
    note = "`ping`, up to 1,024 at once: the client with ferry, a bare loop with a C line echo"
    return Series(
        f"{language}, pipelined",
        "ms",
        beside(host, "pipelined", count, folder),
        # 0.4 times the requests a second.
        [Row(f"{language} client, pipelined `ping`", "client", ("bare",), 2.5)],
        lab.rounds,
        count,
        "requests",
        note,
    )


def lone(lab: Lab, language: str, host: list[str], folder: Path) -> Series:
    trips = lab.scaled(5_000, 500)
    note = f"the median of {trips:,} round trips, one after the other"
    contenders = beside(host, "lone", trips, folder)
    rows = [Row(f"{language} client, lone `ping`, p50", "client", ("bare",), 3)]
    return Series(f"{language}, lone request", "µs", contenders, rows, lab.rounds, note=note)


def memory(lab: Lab, hosts: dict[str, list[str]], folder: Path) -> Series:
    count = lab.scaled(100_000, 10_000)
    contenders = {
        language: figure(host, "client", "memory", count, folder)
        for language, host in hosts.items()
    }
    rows = [
        Row(f"{language} client, growth over {count:,} events", language, (), 1, "absolute")
        for language in hosts
    ]
    note = f"{count:,} events nobody listens to; memory in use after them, less after a hundredth"
    return Series("A host's memory", "MiB", contenders, rows, rounds=1, note=note)
