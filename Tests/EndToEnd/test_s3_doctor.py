"""`ferry doctor` looks whether a bucket can be used, and says so on one line without secrets."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest
from s3 import S3Server

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def server() -> Iterator[S3Server]:
    with S3Server(keys={"AKIDEXAMPLE": ("hunter2-secret", None)}) as running:
        yield running


@pytest.fixture
def doctor(run: Run, server: S3Server, tmp_path: Path) -> Callable[..., tuple[int, str]]:
    """The exit code, and the line about the bucket."""

    def examine(**more: Any) -> tuple[int, str]:
        remote = {
            "kind": "s3", "endpoint": server.endpoint, "bucket": server.bucket_name,
            "accessKeyId": "AKIDEXAMPLE", "secretAccessKey": "hunter2-secret",
            "provider": "minio", "retries": 0, **more,
        }  # fmt: skip
        file = tmp_path / "config.yaml"
        file.write_text(json.dumps({"default": "store", "remotes": {"store": remote}}))
        file.chmod(0o600)
        done = run("doctor", str(file))
        assert done.stderr == ""
        assert "hunter2" not in done.stdout and "AKIDEXAMPLE" not in done.stdout
        [line] = [line for line in done.stdout.splitlines() if "remote store" in line]
        return done.returncode, line

    return examine


def test_all_is_well(doctor: Any, server: S3Server) -> None:
    code, line = doctor()
    assert code == 0 and " ok " in line
    assert line.endswith(f"s3://{server.bucket_name} at {server.endpoint}, answers (MinIO)")
    assert server.lines() == ["HEAD "]


def test_a_clock_that_is_off_is_told(doctor: Any, server: S3Server) -> None:
    server.clock_offset = -3600
    code, line = doctor()
    assert code == 0 and "s behind this machine's" in line
    assert 3590 < int(line.split("its clock is ")[1].split()[0]) < 3610


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"secretAccessKey": "other"}, "does not accept the key; check accessKeyId"),
        ({"accessKeyId": "other"}, "does not accept the key; check accessKeyId"),
        ({"endpoint": "http://127.0.0.1:1"}, "127.0.0.1"),
        ({"endpoint": "https://127.0.0.1:1"}, "127.0.0.1"),
    ],
)
def test_what_is_wrong_is_told(doctor: Any, settings: dict[str, str], words: str) -> None:
    code, line = doctor(**settings)
    assert code == 1 and " FAIL " in line and words in line


def test_why_is_asked_where_the_first_answer_has_no_words(doctor: Any, server: S3Server) -> None:
    server.fault(status=404, code="NoSuchBucket", times=2)
    code, line = doctor()
    assert code == 1 and "the bucket does not exist" in line
    # Who may not look at the bucket itself may list it.
    server.fault(status=403, code="AccessDenied")
    code, line = doctor()
    assert code == 0 and "answers" in line


def test_a_certificate_that_nobody_trusts_is_told(
    doctor: Any, server: S3Server, tmp_path: Path
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True, capture_output=True,
    )  # fmt: skip
    with S3Server(keys=server.keys, certificate=(str(certificate), str(key))) as secure:
        code, line = doctor(endpoint=secure.endpoint)
        assert code == 1 and " FAIL " in line and "certificate" in line
        code, line = doctor(endpoint=secure.endpoint, caFile=str(certificate))
        assert code == 0 and "answers" in line
