"""The versions of this package and of the protocol it speaks."""

from typing import Tuple

__version__ = "0.1.0"

PROTOCOL_VERSIONS: Tuple[int, ...] = (1,)
