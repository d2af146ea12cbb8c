"""Names for files whose own name is taken."""

from __future__ import annotations

import itertools
import os
import re
from typing import Iterator

LONGEST = 255  # bytes of a name on Linux
LONGEST_ENDING = 32
# What the sidecar replaces too: separators, control characters, marks that turn the direction.
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f/\\\\\u2028-\u202e\u2066-\u2069]")


def numbered(folder: str, name: str) -> Iterator[str]:
    """Paths in the folder that are free: `photo (2).jpg`, `photo (3).jpg`, …

    `name` is what a sender chose; here it becomes one harmless part of a path.
    """
    safe = UNSAFE.sub("_", name)
    if not safe or safe.startswith("."):
        safe = "_" + safe
    stem, dot, ending = safe.rpartition(".")
    if not dot or len(ending.encode()) >= LONGEST_ENDING:
        stem, ending = safe, ""
    for number in itertools.count(2):
        mark = f" ({number}){dot if ending else ''}{ending}"
        room = LONGEST - len(mark.encode())
        path = os.path.join(folder, stem.encode()[:room].decode(errors="ignore") + mark)
        if not os.path.lexists(path):
            yield path
