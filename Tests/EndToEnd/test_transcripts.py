"""The golden transcripts, and the conversations in the documentation, against the binary."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Callable

import pytest
import transcripts
from contract import ROOT
from sidecar import Sidecar

FILES = sorted(transcripts.FOLDER.glob("*.txt"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def named(paths: list[Path]) -> dict[str, Any]:
    return {"argvalues": paths, "ids": [p.name for p in paths]}


@pytest.mark.parametrize("path", **named(FILES))
def test_transcript(path: Path, spawn: Callable[..., Sidecar]) -> None:
    transcripts.Replay(path, spawn()).run()


@pytest.mark.parametrize("path", **named([p for p in FILES if not transcripts.is_raw(p)]))
def test_transcript_with_lsp_headers(path: Path, spawn: Callable[..., Sidecar]) -> None:
    transcripts.Replay(path, spawn(), headers=True).run()


@pytest.mark.parametrize("page", **named(PAGES))
def test_conversations_in_the_documentation(
    page: Path, spawn: Callable[..., Sidecar], tmp_path: Path
) -> None:
    blocks = re.findall(r"^```\w*\n((?:#|-->).*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    for number, block in enumerate(b for b in blocks if "-->" in b):
        copy = tmp_path / f"{page.name}-{number}.txt"
        copy.write_text(block)
        transcripts.Replay(copy, spawn(home=tmp_path / f"home-{number}")).run()
