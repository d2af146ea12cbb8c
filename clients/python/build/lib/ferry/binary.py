"""Finds the ferry program."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import List, Mapping, Optional, Union

from .errors import BinaryNotFound

PathLike = Union[str, "os.PathLike[str]"]


def find(explicit: Optional[PathLike], env: Mapping[str, str]) -> str:
    """The program's path: argument, $FERRY_BIN, beside the package, the checkout, $PATH.

    The first two are decisions: where one is given, nothing else is tried. Raises BinaryNotFound
    with every place that was looked at.
    """
    if explicit is not None:
        return _must_run(os.fspath(explicit), "bin=")
    if env.get("FERRY_BIN"):
        return _must_run(env["FERRY_BIN"], "$FERRY_BIN ")
    package = Path(__file__).resolve().parent
    looked_in: List[str] = ["bin= (not given)", "$FERRY_BIN (not set)"]
    candidates = [package / "bin" / "ferry"]
    candidates += [
        folder / ".build" / "release" / "ferry"
        for folder in package.parents
        if (folder / "Package.swift").is_file()
    ]
    for candidate in candidates:
        if _runs(str(candidate)):
            return str(candidate)
        looked_in.append(str(candidate))
    search = env.get("PATH", os.defpath)
    found = shutil.which("ferry", path=search)
    if found:
        return found
    looked_in.append(f"PATH ({search})")
    raise BinaryNotFound(looked_in)


def _runs(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _must_run(path: str, source: str) -> str:
    expanded = os.path.abspath(os.path.expanduser(path))
    if _runs(expanded):
        return expanded
    why = "not executable" if os.path.exists(expanded) else "no such file"
    raise BinaryNotFound([f"{source}{expanded} ({why})"])
