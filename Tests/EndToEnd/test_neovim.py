"""The plugin in a headless Neovim, in both framings; each test is a function of its run.lua."""

from __future__ import annotations

import contextlib
import os
import re
import select
import subprocess
from pathlib import Path

import pytest
from contract import ROOT
from sidecar import BINARY, TIMEOUT, environment

PLUGIN = ROOT / "clients" / "neovim"
TESTS = re.findall(r"^function tests\.(\w+)", (PLUGIN / "test" / "run.lua").read_text(), re.M)


@pytest.mark.parametrize("framing", ["lsp", "ndjson"])
@pytest.mark.parametrize("name", TESTS)
def test_neovim(name: str, framing: str, home: Path) -> None:
    work = home / "work"
    work.mkdir()
    commands = [
        "--cmd", f"set rtp^={PLUGIN}", "-c", "runtime plugin/ferry.lua",
        "-c", f"luafile {PLUGIN}/test/run.lua",
    ]  # fmt: skip
    ran = subprocess.run(
        ["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-n", *commands],
        cwd=work,
        env={
            **environment(home),
            "FERRY_BIN": str(BINARY),
            "FERRY_TEST": name,
            "FERRY_FRAMING": framing,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=2 * TIMEOUT,
    )
    assert ran.returncode == 0, ran.stderr
    if name == "leaving":
        with contextlib.suppress(ProcessLookupError):  # it has ended already
            process = os.pidfd_open(int((work / "pid").read_text()))
            assert select.select([process], [], [], TIMEOUT)[0], "ferry goes on without its editor"
            os.close(process)
