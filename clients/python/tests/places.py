"""Where things are in the checkout."""

import os
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[3]
REAL = Path(os.environ.get("FERRY_BIN") or CHECKOUT / ".build" / "release" / "ferry")


def gone(pid):
    """Whether neither a process nor a zombie of this id is left."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False
