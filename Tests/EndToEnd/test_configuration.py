"""config.yaml as a user meets it: found, checked, explained, laid over."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Callable

import pytest
from sidecar import Sidecar

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Spawn = Callable[..., Sidecar]
PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'


def remotes(sidecar: Sidecar) -> list[str]:
    return [r["name"] for r in sidecar.call("initialize")["remotes"]]


def write(path: Path, *names: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"  {name}: {{ kind: local, root: {path.parent / name} }}" for name in names]
    path.write_text("\n".join([f"default: {names[0]}", "remotes:", *lines, ""]))
    return path


class TestLookup:
    def test_nothing_configured(self, ferry: Sidecar) -> None:
        assert remotes(ferry) == ["local"]

    def test_first_the_argument_then_the_variable_then_the_folder(
        self, spawn: Spawn, home: Path
    ) -> None:
        xdg = write(home / ".config" / "ferry" / "config.yaml", "from-home")
        other = write(home / "xdg" / "ferry" / "config.yaml", "from-xdg")
        variable = write(home / "variable.yaml", "from-variable")
        argument = write(home / "argument.yaml", "from-argument")
        assert xdg.exists() and other.exists()
        env = {"XDG_CONFIG_HOME": str(home / "xdg")}
        assert remotes(spawn()) == ["from-home"]
        assert remotes(spawn(env=env)) == ["from-xdg"]
        env["FERRY_CONFIG"] = str(variable)
        assert remotes(spawn(env=env)) == ["from-variable"]
        assert remotes(spawn("--config", str(argument), env=env)) == ["from-argument"]

    def test_never_the_working_directory(self, spawn: Spawn, home: Path) -> None:
        for name in ("config.yaml", "ferry.yaml", ".ferry.yaml"):
            write(home / "work" / name, "stranger")
        assert remotes(spawn()) == ["local"]

    @pytest.mark.parametrize("how", ["argument", "variable"])
    def test_a_named_file_must_exist(self, run: Run, home: Path, how: str) -> None:
        missing = str(home / "missing.yaml")
        arguments = ["serve", "--config", missing] if how == "argument" else ["serve"]
        env = {"FERRY_CONFIG": missing} if how == "variable" else {}
        done = run(*arguments, input=PING, env=env)
        assert (done.returncode, done.stdout) == (2, "")
        assert "missing.yaml" in done.stderr and len(done.stderr.splitlines()) <= 3


BAD = [
    ("romotes: {}\n", "1:1", "remotes"),
    ("remotes:\n  a:\n    kind: lokal\n", "3:11", "local"),
    ("remotes:\n  a: { kind: s4 }\n", "2:14", "s3"),
    ("limits:\n  concurency: 4\n", "2:3", "concurrency"),
    ("limits:\n  concurrency: many\n", "2:16", ""),
    ("limits:\n  concurrency: 65\n", "2:16", "64"),
    ("limits:\n  maxFileSize: 5 MBB\n", "2:16", "MB"),
    ("limits:\n  stallTimeout: 30\n", "2:17", "30s"),
    ("limits: [1]\n", "1:9", ""),
    ("default: nowhere\n", "1:10", "local"),
    ("stateDir: ${NO_SUCH_VARIABLE}\n", "1:11", "NO_SUCH_VARIABLE"),
    ("limits:\n\tconcurrency: 4\n", "2:", ""),
    ("limits: { concurrency: 1 }\nlimits: {}\n", "2:1", "1"),
    ("a: &x [1]\nb: *x\n", "", ""),
]


@pytest.mark.parametrize(("text", "place", "hint"), BAD)
def test_a_bad_file_is_explained_with_its_place(
    run: Run, home: Path, text: str, place: str, hint: str
) -> None:
    file = home / "config.yaml"
    file.write_text(text)
    for arguments in (["check-config", str(file)], ["serve", "--config", str(file)]):
        done = run(*arguments, input=PING)
        assert (done.returncode, done.stdout) == (2, ""), done
        assert f"config.yaml:{place}" in done.stderr, done.stderr
        assert hint in done.stderr, done.stderr


def test_check_config_reports_a_good_file(run: Run, home: Path) -> None:
    file = write(home / "config.yaml", "archive", "scratch")
    done = run("check-config", str(file))
    assert (done.returncode, done.stderr) == (0, "")
    assert all(word in done.stdout for word in ("config.yaml", "archive", "scratch", "local"))


def test_check_config_without_a_file_says_what_is_used(run: Run) -> None:
    done = run("check-config")
    assert done.returncode == 0 and "local" in done.stdout


def test_the_sample_at_the_root_is_what_is_built_in(spawn: Spawn, run: Run) -> None:
    sample = Path(__file__).resolve().parents[2] / "config.yaml"
    assert run("check-config", str(sample)).returncode == 0
    plain, configured = spawn(), spawn("--config", str(sample))
    for method in ("limits/get", "object/list"):
        assert plain.call(method) == configured.call(method)
    assert remotes(spawn("--config", str(sample))) == ["local"]


def test_a_missing_variable_matters_only_when_its_remote_is_used(spawn: Spawn, home: Path) -> None:
    file = home / "config.yaml"
    file.write_text(
        "default: ok\nremotes:\n"
        f"  ok: {{ kind: local, root: {home / 'ok'} }}\n"
        "  later: { kind: local, root: '${NOT_SET_YET}/x' }\n"
    )
    ferry = spawn("--config", str(file))
    ferry.call("object/put", ref="a", text="x")
    error = ferry.error("object/put", ref="a", text="x", remote="later")
    assert error.code == "ERR_CONFIG"
    assert all(word in str(error) for word in ("NOT_SET_YET", "later", "config.yaml:4"))
    other = spawn("--config", str(file), env={"NOT_SET_YET": str(home / "set")})
    other.call("object/put", ref="a", text="x", remote="later")
    assert (home / "set" / "x").is_dir()


def test_values_expand(spawn: Spawn, home: Path) -> None:
    file = home / "config.yaml"
    file.write_text(
        "remotes:\n  local: { kind: local, root: '${UNSET:-~/files}' }\n"
        "limits: { maxFileSize: '${SIZE:-5} KiB' }\n"
    )
    ferry = spawn("--config", str(file))
    ferry.call("object/put", ref="a", text="x")
    assert (home / "files").is_dir()
    assert ferry.call("limits/get")["maxFileSize"] == 5 * 1024


def test_initialize_lays_its_config_over_the_file(spawn: Spawn, home: Path) -> None:
    file = write(home / "config.yaml", "archive")
    ferry = spawn("--config", str(file))
    config: dict[str, Any] = {
        "remotes": {"mine": {"kind": "local", "root": str(home / "mine")}},
        "limits": {"concurrency": 7, "blockedTypes": ["exe"]},
    }
    result = ferry.call("initialize", config=config)
    assert sorted(r["name"] for r in result["remotes"]) == ["archive", "mine"]
    ferry.call("object/put", ref="a", text="x")
    ferry.call("object/put", ref="a", text="x", remote="mine")
    assert (home / "archive").is_dir() and (home / "mine").is_dir()
    limits = ferry.call("limits/get")
    assert (limits["concurrency"], limits["blockedTypes"]) == (7, ["exe"])


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"romotes": {}}, ["romotes", "remotes"]),
        ({"limits": {"concurrency": 0}}, ["/limits/concurrency"]),
        ({"limits": {"stallTimeout": 30}}, ["/limits/stallTimeout", "30s"]),
        ({"remotes": {"a/b": {"kind": "local"}}}, ["a/b"]),
    ],
)
def test_a_bad_config_in_initialize_names_its_place(
    ferry: Sidecar, config: dict[str, Any], words: list[str]
) -> None:
    error = ferry.error("initialize", config=config)
    assert error.code == "ERR_CONFIG"
    assert all(word in json.dumps(error.error, ensure_ascii=False) for word in words), error
