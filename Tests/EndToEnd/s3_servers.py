"""Real S3 servers on loopback, each with its own folder and ports, and real clients for them."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

KEY_ID = "FERRYTESTKEY00000000"
SECRET = "ferry/test+secret/0000000000000000000000"
BUCKET = "ferry-test"
TOOLS = Path(sys.executable).parent
STARTING = 90.0  # seconds; SeaweedFS takes about 15 when two cores are shared


@dataclass
class Server:
    """A running server: where it listens, what it is, and the settings that reach it."""

    kind: str
    port: int
    folder: Path

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def settings(self) -> dict[str, str]:
        """A remote of Ferry's configuration."""
        return {
            "kind": "s3",
            "endpoint": self.endpoint,
            "bucket": BUCKET,
            "accessKeyId": KEY_ID,
            "secretAccessKey": SECRET,
            "provider": self.kind,
        }

    def environment(self) -> dict[str, str]:
        """For clients that look where AWS's own do."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "AWS_ACCESS_KEY_ID": KEY_ID,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "RCLONE_CONFIG_X_TYPE": "s3",
            "RCLONE_CONFIG_X_PROVIDER": "Other",
            "RCLONE_CONFIG_X_ENDPOINT": self.endpoint,
            "RCLONE_CONFIG_X_ACCESS_KEY_ID": KEY_ID,
            "RCLONE_CONFIG_X_SECRET_ACCESS_KEY": SECRET,
            "RCLONE_CONFIG_X_FORCE_PATH_STYLE": "true",
        }

    def client(self, *command: str | Path, check: bool = True) -> str:
        """Runs a client that no one here wrote; returns what it printed."""
        tool, *rest = (str(part) for part in command)
        done = subprocess.run(
            [TOOLS / tool, *rest],
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=120,
        )
        if check and done.returncode:
            raise AssertionError(f"{command} failed: {done.stderr[-2000:]}")
        return done.stdout

    def aws(self, *command: str | Path) -> str:
        return self.client("aws", "--endpoint-url", self.endpoint, *command)

    def uploads(self, what: str = "UploadId") -> list[str]:
        """Multipart uploads that nobody has completed or aborted."""
        try:
            text = self.aws("s3api", "list-multipart-uploads", "--bucket", BUCKET)
        except AssertionError as error:
            if self.kind == "rclone" and "(NoSuchUpload)" in str(error):
                return []  # rclone's answer for a bucket in which none was ever begun
            raise
        return [u[what] for u in json.loads(text or "{}").get("Uploads", [])]


def free_ports(count: int) -> list[int]:
    """Free ports whose neighbours 10,000 higher are free too: SeaweedFS takes those by itself."""
    found: list[int] = []
    with contextlib.ExitStack() as held:
        while len(found) < count:
            try:
                near = held.enter_context(contextlib.closing(socket.socket()))
                near.bind(("127.0.0.1", 0))
                port = near.getsockname()[1]
                if not 20_000 < port < 50_000:
                    port = 20_000 + port % 30_000
                    near = held.enter_context(contextlib.closing(socket.socket()))
                    near.bind(("127.0.0.1", port))
                far = held.enter_context(contextlib.closing(socket.socket()))
                far.bind(("127.0.0.1", port + 10_000))
                found.append(port)
            except OSError:
                continue
    return found


def wait_until_it_answers(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Waits until an HTTP request to a port is answered, whatever the answer."""
    exited = os.pidfd_open(process.pid)
    try:
        end = time.monotonic() + STARTING
        while time.monotonic() < end:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).close()
                return
            except urllib.error.HTTPError:
                return
            except OSError:
                if select.select([exited], [], [], 0.1)[0]:
                    break
    finally:
        os.close(exited)
    raise AssertionError(f"the server did not start: {log.read_text()[-2000:]}")


@contextlib.contextmanager
def running(command: list[str | Path], port: int, folder: Path) -> Iterator[None]:
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=folder,
            env={"PATH": os.environ["PATH"], "HOME": str(folder)},
        )
    try:
        wait_until_it_answers(port, process, log)
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def seaweedfs(folder: Path) -> Iterator[Server]:
    """SeaweedFS with one identity and an empty bucket."""
    master, volume, filer, port = free_ports(4)
    (folder / "data").mkdir()
    identity = {
        "name": "ferry",
        "credentials": [{"accessKey": KEY_ID, "secretKey": SECRET}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
    command: list[str | Path] = [
        TOOLS / "weed", "server", f"-dir={folder / 'data'}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
        f"-master.port={master}", f"-volume.port={volume}", "-volume.max=50",
        "-master.volumeSizeLimitMB=64", "-filer", f"-filer.port={filer}",
        "-s3", f"-s3.port={port}", f"-s3.config={folder / 's3.json'}",
        "-s3.port.iceberg=0", "-s3.port.lance=0",
    ]  # fmt: skip
    with running(command, port, folder):
        server = Server("seaweedfs", port, folder)
        server.aws("s3api", "create-bucket", "--bucket", BUCKET)
        yield server


@contextlib.contextmanager
def rclone(folder: Path) -> Iterator[Server]:
    """`rclone serve s3` over a folder with an empty bucket."""
    [port] = free_ports(1)
    (folder / "data" / BUCKET).mkdir(parents=True)
    command: list[str | Path] = [
        TOOLS / "rclone", "serve", "s3", folder / "data", "--addr", f"127.0.0.1:{port}",
        "--auth-key", f"{KEY_ID},{SECRET}", "--vfs-cache-mode", "writes",
        "--cache-dir", folder / "cache",
    ]  # fmt: skip
    with running(command, port, folder):
        yield Server("rclone", port, folder)
