"""PubNub: what sending, encrypting and listening cost, beside its SDK for Python."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness import (
    FERRY,
    MEMORY_CEILING,
    MIB,
    PEERS,
    ROOT,
    Lab,
    Row,
    Series,
    Talker,
    compiled,
    ping,
    random_file,
    request,
    timed,
    write_all,
)
from s3_peers import NullServer

TITLE = "PubNub"
IN_FLIGHT = 8
SIZE = 100 << 10
LARGE = 5 * MIB - 64  # PubNub's most is 5 MiB, with what encryption adds
GIB = 1 << 30
CRYPTO = {"cipherKey": "enigma"}


def python() -> str:
    """The one that has the SDK: of `make setup`, else ours."""
    own = ROOT / ".venv" / "bin" / "python"
    return str(own) if own.exists() else sys.executable


def sdk_version() -> str:
    """Empty where the SDK is not installed."""
    code = "from importlib.metadata import version; print(version('pubnub'))"
    done = subprocess.run([python(), "-c", code], text=True, capture_output=True)
    return done.stdout.strip()


def series(lab: Lab) -> Iterator[Series]:
    if sdk_version():
        with lab.folder() as folder:
            yield from sends(lab, folder)
    else:
        lab.skip("sends beside PubNub's SDK for Python, which is not installed")
    with lab.folder() as folder:
        yield encryption(lab, folder)
    with lab.folder() as folder:
        yield memory(lab, folder)
    with lab.folder() as folder:
        yield events(lab, folder)


@contextmanager
def emulator() -> Iterator[str]:
    """The origin of the PubNub that tests use: it keeps what it is sent."""
    command = [sys.executable, str(ROOT / "Tests" / "Emulators" / "pubnub"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        try:
            yield re.findall(r"http://[\d.:]*\d", child.stdout.readline())[0]
        finally:
            child.terminate()


def chat(folder: Path, origin: str, **keys: Any) -> Talker:
    """A warm ferry whose only remote is there."""
    shutil.rmtree(folder / "state", ignore_errors=True)
    remote = {
        "kind": "pubnub", "publishKey": "demo", "subscribeKey": "demo", "userId": "me",
        "origin": origin, "proxy": "none", **keys,
    }  # fmt: skip
    path = folder / "chat.yaml"
    path.write_text(
        json.dumps(
            {
                "stateDir": str(folder / "state"),
                "default": "chat",
                "remotes": {"chat": remote},
                "limits": {"concurrency": IN_FLIGHT},
            }
        )
    )
    ferry = Talker([FERRY, "serve"], folder, path)
    ferry.reply(ping(0))
    return ferry


def send(number: int, path: Path, **more: Any) -> bytes:
    return request(number, "file/send", channel="room", name="file.bin", path=str(path), **more)


def processor(ferry: Talker) -> float:
    """Milliseconds of the processor, to the nanosecond (clock_getcpuclockid(3))."""
    return time.clock_gettime((~ferry.child.pid << 3) | 2) * 1e3


def user_time(ferry: Talker) -> float:
    """Milliseconds of the processor outside the kernel."""
    words = Path(f"/proc/{ferry.child.pid}/stat").read_text().rpartition(")")[2].split()
    return int(words[11]) * 1e3 / os.sysconf("SC_CLK_TCK")


def sends(lab: Lab, folder: Path) -> Iterator[Series]:
    count = lab.scaled(200, 100)
    path = random_file(folder / "file", SIZE)
    asked = b"".join(send(n, path, message={"number": n}) for n in range(1, count + 1))
    used: dict[str, list[float]] = {"ferry": [], "SDK": [], "server": []}

    def ferry(_: int) -> float:
        with NullServer() as server, chat(folder, server.url) as ferry:
            ferry.reply(send(0, path))
            before = processor(ferry)
            taken = timed(lambda: ferry.replies(asked, count))
            used["ferry"].append((processor(ferry) - before) / count)
        used["server"].append(server.cpu * 1e3 / (count + 1))
        return taken

    def sdk(_: int) -> float:
        with NullServer() as server:
            program = [python(), str(PEERS / "pubnub_sdk.py")]
            words = [server.url.removeprefix("http://"), str(path), str(count), str(IN_FLIGHT)]
            done = subprocess.run([*program, *words], stdout=subprocess.PIPE, check=True)
        taken, cpu = map(float, done.stdout.split())
        used["SDK"].append(cpu / count)
        return taken

    def bare(_: int) -> float:
        """The same requests, so many more that they can be timed."""
        more = 10
        program = compiled("formclient", "-lpthread")
        with NullServer() as server:
            port = server.url.rpartition(":")[2]
            words = [port, str(count * more), str(SIZE), str(IN_FLIGHT)]
            done = subprocess.run([program, *words], stdout=subprocess.PIPE, check=True)
        return float(done.stdout) / more

    title = f"{count:,} × 100 KiB sent"
    yield Series(
        f"PubNub: {title}, {IN_FLIGHT} in flight",
        "ms",
        {"ferry": ferry, "SDK": sdk, "bare client": bare},
        [
            Row(f"PubNub, {title}", "ferry", ("SDK",), round(1 / 3, 4)),
            Row("PubNub, the server alone, beside ferry", "bare client", ("ferry",), 0.2),
        ],
        lab.scaled(5, 1),
        count,
        "sends",
        "a place, the form, the announcement. The SDK is that for Python's asyncio; the bare "
        "client, in C, shows what the server takes",
    )
    yield Series(
        f"PubNub: processor for a send of 100 KiB, {IN_FLIGHT} in flight",
        "ms",
        {name: lambda number, taken=taken: taken[number] for name, taken in used.items()},
        [Row("PubNub, processor for a send", "ferry", ("SDK",), 0.2)],
        lab.scaled(5, 1),
        note="of the runs above; `server` is what the server took of it with ferry",
    )


def openssl_speed() -> float:
    """Bytes in a second of the processor."""
    command = ["openssl", "speed", "-mr", "-seconds", "2", "-bytes", "16384", "-evp", "aes-256-cbc"]
    printed = subprocess.run(command, check=True, text=True, capture_output=True).stdout
    [line] = [line for line in printed.splitlines() if line.startswith("+F:")]
    return float(line.rpartition(":")[2])


def encryption(lab: Lab, folder: Path) -> Series:
    count = lab.scaled(300, 100)
    path = random_file(folder / "file", LARGE)

    def used(**keys: Any) -> float:
        with NullServer() as server, chat(folder, server.url, **keys) as ferry:
            ferry.reply(send(0, path, digest="none"))
            before = user_time(ferry)
            ferry.replies(b"".join(send(n + 1, path, digest="none") for n in range(count)), count)
            return user_time(ferry) - before

    def added(_: int) -> float:
        plain = used()
        return (used(crypto=CRYPTO) - plain) * GIB / (count * LARGE)

    def peer(_: int) -> float:
        return 1e3 * GIB / openssl_speed()

    return Series(
        "PubNub: encryption of 1 GiB",
        "ms",
        {"ferry": added, "openssl speed": peer},
        [Row("PubNub, encryption", "ferry", ("openssl speed",), 1.25)],
        lab.scaled(5, 1),
        note=f"processor outside the kernel. ferry: {count} sends of 5 MiB with `crypto`, less as "
        "many without; the peer: `openssl speed -evp aes-256-cbc` at 16 KiB",
    )


def memory(lab: Lab, folder: Path) -> Series:
    seconds = lab.scaled(60, 8)
    path = random_file(folder / "file", LARGE)

    def peak(**keys: Any) -> float:
        with emulator() as origin, chat(folder, origin, **keys) as ferry:
            shuttle(ferry, path, folder, seconds)
            return ferry.memory("VmHWM")

    contenders = {
        "plain": lambda _: peak(),
        "encrypted": lambda _: peak(crypto=CRYPTO),
    }
    return Series(
        f"PubNub: peak of resident memory, {seconds} s of 5 MiB files",
        "MiB",
        contenders,
        [
            Row(f"PubNub peak memory, 5 MiB, {name}", name, (), MEMORY_CEILING, "absolute")
            for name in contenders
        ],
        rounds=1,
        note="VmHWM; always four files are sent and four received, and what comes is compared",
    )


def shuttle(ferry: Talker, path: Path, folder: Path, seconds: float) -> None:
    """Sends files, and receives those sent before."""
    content = path.read_bytes()
    until, there = time.monotonic() + seconds, []
    while time.monotonic() < until or there:
        asked = [] if time.monotonic() > until else [send(n, path) for n in range(4)]
        for number, file in enumerate(there):
            place = {"channel": "room", "id": file["id"], "name": file["name"]}
            target = str(folder / f"copy-{number}")
            asked += [request(4 + number, "file/download", target=target, **place)]
        results = answers(ferry, asked)
        for number, file in enumerate(there):
            copy = folder / f"copy-{number}"
            if copy.read_bytes() != content:
                raise SystemExit(f"another content came back: {copy}")
            copy.unlink()
            place = {"channel": "room", "id": file["id"], "name": file["name"]}
            ferry.reply(request(0, "file/delete", **place))
        there = [results[number] for number in range(4) if number in results]


def answers(ferry: Talker, asked: list[bytes]) -> dict[int, dict[str, Any]]:
    """The results of requests that are short, by their ids."""
    write_all(ferry.input, b"".join(asked))
    results: dict[int, dict[str, Any]] = {}
    while len(results) < len(asked):
        for message in map(json.loads, ferry.lines()):
            if "error" in message and "id" in message:
                raise SystemExit(f"unexpected error: {message}")
            if "id" in message:
                results[message["id"]] = message["result"]
    return results


def events(lab: Lab, folder: Path) -> Series:
    count = lab.scaled(50_000, 10_000)

    def take(_: int) -> float:
        with NullServer() as server, chat(folder, server.url) as ferry:
            write_all(ferry.input, request(1, "channel/subscribe", channels=["room"]))
            return timed(lambda: require_all(ferry, count))

    return Series(
        f"PubNub: {count:,} file events heard",
        "ms",
        {"ferry": take},
        [Row(f"PubNub, {count:,} file events", "ferry", (), count / 2000 * 1e3, "absolute")],
        lab.scaled(5, 1),
        count,
        "events",
        "a hundred in each answer, asked for as fast as they are read; numbered, and every one "
        "counted. The target is 2,000 a second",
    )


def require_all(ferry: Talker, count: int) -> None:
    """Reads so many messages, none of which may be missing, doubled or early."""
    number = 0
    while number < count:
        for line in ferry.lines():
            message = json.loads(line)
            # The request's own answer may come after the first messages.
            if message.get("method") != "message":
                continue
            number += 1
            if message["params"]["message"]["number"] != number:
                raise SystemExit(f"not message {number}: {line[:400]!r}")
            if message["params"]["file"]["name"] != "file.bin":
                raise SystemExit(f"no file: {line[:400]!r}")
