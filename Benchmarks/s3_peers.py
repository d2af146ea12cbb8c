"""Who moves files to and from a null S3 server: ferry, and what others have written."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from harness import FERRY, MIB, ROOT, compiled, request

PART = 8  # MiB of a part, of everybody's
PARTS = 4  # parts of a file at the same time, as many as ferry sends
LARGE = 16 * MIB  # above that in parts


@dataclass(frozen=True)
class Load:
    """Files to be moved over `connections` at the same time: counts and sizes, in this order."""

    kinds: tuple[tuple[int, int], ...]
    connections: int = 16

    @property
    def count(self) -> int:
        return sum(count for count, _ in self.kinds)

    @property
    def size(self) -> int:
        return sum(count * size for count, size in self.kinds)

    @property
    def title(self) -> str:
        return " and ".join(f"{count:,} × {shown(size)}" for count, size in self.kinds)

    @property
    def names(self) -> Iterator[str]:
        """As the null server calls what it lists: each tells its size."""
        sizes = (size for count, size in self.kinds for _ in range(count))
        return (f"{number}-size-{size}" for number, size in enumerate(sizes))

    def prefix(self, is_md5: bool) -> str:
        """What the null server lists with these names, with an MD5 each or without."""
        kinds = "-".join(f"{count}x{size}" for count, size in self.kinds)
        return f"{'md5' if is_md5 else 'of'}-{kinds}"

    def make(self, folder: Path) -> None:
        """Writes the files, of random bytes."""
        for name in self.names:
            left = int(name.rpartition("-")[2])
            with (folder / name).open("wb") as file:
                while left:
                    left -= file.write(os.urandom(min(MIB, left)))


def shown(size: int) -> str:
    for unit, name in ((1 << 30, "GiB"), (MIB, "MiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size // 1024} KiB"


@functools.cache
def md5_of_zeros(size: int) -> str:
    digest, block = hashlib.md5(), bytes(MIB)
    for start in range(0, size, MIB):
        digest.update(block[: size - start])
    return digest.hexdigest()


class NullServer:
    """`peers/nullserver.c`; `cpu` is what it took, in seconds, once it has ended."""

    def __init__(self, load: Load | None = None, log: Path | None = None) -> None:
        command = [compiled("nullserver", "-lpthread"), *([f"--log={log}"] if log else [])]
        for _, size in load.kinds if load else ():
            command.append(f"{size}={md5_of_zeros(size)}")
        self.child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.child.stdout
        self.output: IO[str] = self.child.stdout
        self.url = f"http://127.0.0.1:{self.output.readline().split()[1]}"
        self.cpu, self.received = 0.0, 0

    def __enter__(self) -> NullServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.child.terminate()
        words = self.output.read().split()
        self.child.wait()
        self.output.close()
        self.cpu, self.received = float(words[1]) + float(words[2]), int(words[6])


def configuration(folder: Path, url: str, checksum: str, connections: int) -> Path:
    """Of a ferry whose only remote is the null server."""
    path = folder / "s3.yaml"
    path.write_text(
        f"stateDir: {json.dumps(str(folder / 'state'))}\n"
        "remotes:\n"
        f"  null: {{ kind: s3, bucket: b, endpoint: '{url}', provider: aws, addressing: path,\n"
        f"    accessKeyId: AKID, secretAccessKey: SECRET, checksum: {checksum} }}\n"
        f"limits: {{ concurrency: {connections} }}\n"
    )
    return path


@dataclass(frozen=True)
class Task:
    """A load on its way up, from `place`, or down, to `place`."""

    load: Load
    is_up: bool
    place: Path

    def requests(self, is_md5: bool = False, digest: str = "sha256") -> list[bytes]:
        """What a host asks ferry for."""
        if self.is_up:
            return [
                request(
                    n, "object/put", ref=f"up/{name}", path=f"{self.place}/{name}", digest=digest
                )
                for n, name in enumerate(self.load.names, 1)
            ]
        prefix = self.load.prefix(is_md5)
        return [
            request(
                n,
                "object/get",
                ref=f"{prefix}/{name}",
                target=f"{self.place}/{name}",
                digest=digest,
            )
            for n, name in enumerate(self.load.names, 1)
        ]


@dataclass(frozen=True)
class Command:
    """A program to be run once; it finds its input in a file."""

    words: list[str]
    environment: dict[str, str]
    input: Path | None = None


def ferry(task: Task, folder: Path, url: str, level: str) -> Command:
    """A whole life: all requests are on stdin, which ends then; `level` as in `LEVELS`."""
    checksum, digest = LEVELS[level]
    shutil.rmtree(folder / "state", ignore_errors=True)
    path = configuration(folder, url, checksum, task.load.connections)
    asked = folder / "requests"
    asked.write_bytes(b"".join(task.requests("MD5" in level, digest)))
    return Command([FERRY, "serve"], {"FERRY_CONFIG": str(path)}, asked)


# What is checked: the configuration's `checksum`, and the `digest` of each request; with it, what
# comes is also compared with an MD5 that the server knows, of files up to 16 MiB.
LEVELS = {
    "no checksum": ("none", "none"),
    "CRC-32C, SHA-256": ("crc32c", "sha256"),
    "MD5": ("md5", "none"),
    "SHA-256": ("none", "sha256"),
    "SHA-256, MD5": ("none", "sha256"),
}


def s5cmd(task: Task, folder: Path, url: str) -> Command:
    remote = f"s3://b/{'up' if task.is_up else task.load.prefix(False)}"
    paths = [f"{task.place}/*", f"{remote}/"] if task.is_up else [f"{remote}/*", f"{task.place}/"]
    words = [program("s5cmd"), "--endpoint-url", url, "--log", "error"]
    words += ["--numworkers", str(task.load.connections)]
    words += ["cp", "--concurrency", str(PARTS), "--part-size", str(PART)]
    return Command([*words, *paths], keys(folder))


def rclone(task: Task, folder: Path, url: str, checks: bool) -> Command:
    """Told to ask for nothing it does not need; the server's ETags are MD5 only when they are."""
    remote = f":s3:b/{'up' if task.is_up else task.load.prefix(checks)}"
    paths = [str(task.place), remote] if task.is_up else [remote, str(task.place)]
    options = {
        "config": "/dev/null",
        "s3-provider": "Other",
        "s3-endpoint": url,
        "s3-env-auth": "true",
        "s3-list-version": "2",
        "s3-use-multipart-etag": "false",
        "s3-upload-cutoff": f"{LARGE}B",
        "s3-chunk-size": f"{PART}Mi",
        "s3-upload-concurrency": str(PARTS),
        "multi-thread-cutoff": f"{LARGE}B",
        "multi-thread-chunk-size": f"{PART}Mi",
        "multi-thread-streams": str(PARTS),
        "transfers": str(task.load.connections),
    }
    flags = ["ignore-times", "no-check-dest", "s3-no-head", "s3-no-check-bucket"]
    if task.is_up:
        flags.append("no-traverse")
    if not checks:
        flags += ["ignore-checksum", "s3-disable-checksum"]
    words = [program("rclone"), "copy", *paths, *(f"--{flag}" for flag in flags)]
    return Command(words + [f"--{key}={value}" for key, value in options.items()], keys(folder))


def aws(task: Task, folder: Path, url: str) -> Command:
    remote = f"s3://b/{'up' if task.is_up else task.load.prefix(False)}/"
    paths = [str(task.place), remote] if task.is_up else [remote, str(task.place)]
    path = folder / "aws"
    path.write_text(
        "[default]\nregion = us-east-1\ns3 =\n"
        f"  max_concurrent_requests = {task.load.connections}\n"
        f"  multipart_threshold = {LARGE}\n  multipart_chunksize = {PART}MB\n"
    )
    words = [program("aws"), "--endpoint-url", url, "s3", "cp", "--recursive", "--only-show-errors"]
    return Command([*words, *paths], {**keys(folder), "AWS_CONFIG_FILE": str(path)})


def curl(task: Task, folder: Path, url: str) -> Command:
    """The floor: libcurl moves bytes and does nothing else, and asks for whole files."""
    lines = ["show-error", "fail", 'header = "Expect:"']
    for name in task.load.names:
        if task.is_up:
            lines.append(f'upload-file = "{task.place}/{name}"')
            lines += [f'url = "{url}/b/up/{name}"', 'output = "/dev/null"']
        else:
            key = f"{task.load.prefix(False)}/{name}"
            lines += [f'url = "{url}/b/{key}"', f'output = "{task.place}/{name}"']
    path = folder / "curl"
    path.write_text("\n".join(lines) + "\n")
    words = [program("curl"), "--no-progress-meter", "--parallel"]
    words += ["--parallel-max", str(task.load.connections)]
    return Command([*words, "--config", str(path)], {})


def keys(folder: Path) -> dict[str, str]:
    return {
        "AWS_ACCESS_KEY_ID": "AKID",
        "AWS_SECRET_ACCESS_KEY": "SECRET",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "HOME": str(folder),
    }


def program(name: str) -> str:
    """Of `make setup`, else the system's; empty where there is none."""
    ours = ROOT / ".venv" / "bin" / name
    return str(ours) if ours.exists() else shutil.which(name) or ""


def versions() -> dict[str, str]:
    """Of the peers that are installed."""
    found = {}
    for name, word in (("s5cmd", "version"), ("rclone", "version"), ("curl", "--version")):
        if path := program(name):
            found[name] = output(path, word).replace(f"{name} ", "").split()[0].split("-")[0]
    if path := program("aws"):
        found["aws-cli"] = output(path, "--version").split()[0].partition("/")[2]
    return found


def output(*command: str) -> str:
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


@dataclass(frozen=True)
class Cost:
    """Milliseconds: from the spawn to the exit, of the client's processor and of the server's."""

    wall: float
    cpu: float
    server: float


def cost(command: Command, server: NullServer, answers: Path) -> tuple[float, float]:
    """Runs it to its end: milliseconds by the clock, and of the processor."""
    environment = {**os.environ, **command.environment}
    with answers.open("wb") as out, open(command.input or os.devnull, "rb") as asked:
        began = time.perf_counter()
        child = subprocess.Popen(command.words, stdin=asked, stdout=out, env=environment)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - began
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"{command.words[0]} failed with {child.returncode}: {server.url}")
    return wall * 1e3, (usage.ru_utime + usage.ru_stime) * 1e3


@contextmanager
def emptied(folder: Path) -> Iterator[Path]:
    """An empty folder, on a disk that has nothing else to do.

    What was small stays under another name until the end: ext4 looks long for inodes where many
    were given back a moment ago.
    """
    folder.mkdir()
    os.sync()
    yield folder
    for path in folder.rglob("*"):
        if path.is_file() and path.stat().st_size > MIB:
            path.unlink()
    folder.rename(folder.with_name(f"{folder.name}-{time.monotonic_ns()}"))
