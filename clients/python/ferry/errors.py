"""What can go wrong, as exceptions a host can tell apart."""

from __future__ import annotations

import asyncio
import signal as signals
from typing import Any, Dict, List, Mapping, Optional, Sequence


class FerryError(Exception):
    """Base of all: `code` is the contract (`ERR_…`, or `CLIENT_…` for faults on this side).

    `retryable` says whether trying again unchanged can help, `data` is the error's data as the
    sidecar sent it, `number` the number of its JSON-RPC error and `message` a text for people.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        retryable: bool = False,
        data: Optional[Mapping[str, Any]] = None,
        number: Optional[int] = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retryable = retryable
        self.data: Dict[str, Any] = dict(data or {})
        self.number = number

    def __str__(self) -> str:
        return f"{self.message} [{self.code}]"

    @property
    def retry_after(self) -> float:
        """Seconds to wait before trying again, as the sidecar advises; 0.1 where it does not."""
        return float(self.data.get("retryAfterMs", 100)) / 1000


class TransferError(FerryError):
    """A transfer ended without success; catches the three below."""

    @property
    def resumable(self) -> bool:
        """Whether it can still come to success, in this process or the next with its state key."""
        return bool(self.data.get("resumable", False))


class TransferRejected(TransferError):
    """Refused before any byte counted: the request itself must change (event `error`)."""


class TransferFailed(TransferError):
    """Failed after it was accepted; `handle.retry()` is allowed (event `failure`)."""


class TransferCancelled(TransferError):
    """Cancelled (event `cancelled`, JSON-RPC error -32800).

    By this host, or, where it is `resumable`, because the sidecar ended: the same request with the
    same `transfer_id` goes on in the next one that has the same `state_key`.
    """


class RequestTimeout(FerryError, asyncio.TimeoutError):
    """The `timeout` of a call passed; the sidecar was told to cancel it."""

    def __init__(self, what: str, seconds: float) -> None:
        super().__init__(
            "CLIENT_TIMEOUT", f"{what}: no answer within {seconds:g} s", retryable=True
        )


class BinaryNotFound(FerryError):
    """No `ferry` program was found; `looked_in` lists every place, in order."""

    def __init__(self, looked_in: Sequence[str]) -> None:
        self.looked_in: List[str] = list(looked_in)
        places = "\n".join(f"  - {place}" for place in self.looked_in)
        super().__init__(
            "CLIENT_BINARY_NOT_FOUND",
            "there is no ferry program to run. Looked in:\n" + places + "\n"
            "Build it (`make build` in a checkout), put it on PATH, or name it with FERRY_BIN "
            "or bin=.",
        )


class VersionMismatch(FerryError):
    """This package and the program share no protocol version."""

    def __init__(self, binary: str, offered: Sequence[int], supported: Sequence[Any]) -> None:
        self.offered = list(offered)
        self.supported = list(supported)
        theirs = ", ".join(str(version) for version in supported) or "another version"
        ours = ", ".join(str(version) for version in offered)
        super().__init__(
            "ERR_UNSUPPORTED",
            f"{binary} speaks protocol {theirs}, and this package speaks {ours}: install a ferry "
            f"that speaks protocol {ours}, or a ferry-sidecar package that speaks {theirs}",
            data={"supported": self.supported},
        )


class ConnectionClosed(FerryError):
    """The client was closed, so nothing more can be asked of it."""

    def __init__(self, message: str = "this Ferry is closed; open a new one") -> None:
        super().__init__("CLIENT_CLOSED", message)


class ProtocolError(FerryError):
    """The program wrote something that is not Ferry's protocol, and was stopped."""

    def __init__(self, message: str) -> None:
        super().__init__("CLIENT_PROTOCOL", message)


class ProcessDied(FerryError):
    """The sidecar ended by itself: with `returncode`, or by `signal`; `stderr_tail` says why."""

    def __init__(self, returncode: int, stderr_tail: Sequence[str]) -> None:
        self.returncode = returncode
        self.signal: Optional[str] = None
        self.stderr_tail = list(stderr_tail)
        how = f"exited with code {returncode}"
        if returncode < 0:
            try:
                self.signal = signals.Signals(-returncode).name
            except ValueError:
                self.signal = f"signal {-returncode}"
            how = f"was killed by {self.signal}"
        said = "".join(f"\n  {line}" for line in self.stderr_tail)
        super().__init__(
            "CLIENT_PROCESS_DIED",
            f"the ferry process {how}" + (f"; its last words:{said}" if said else ""),
            retryable=True,
        )


def from_wire(error: object) -> FerryError:
    """The exception for the `error` of a reply."""
    return build(error, FerryError)


def build(error: object, kind: type[FerryError]) -> FerryError:
    """An exception of a kind from a JSON-RPC error object; cancellations keep their own kind."""
    if not isinstance(error, dict):
        return ProtocolError(f"an error that is not an object: {error!r:.200}")
    data = error.get("data")
    data = data if isinstance(data, dict) else {}
    number = error.get("code")
    code = str(data.get("code") or f"JSONRPC_{number}")
    if number == -32800 or code == "ERR_CANCELLED":
        kind = TransferCancelled
    return kind(
        code,
        str(error.get("message", "no message")),
        retryable=bool(data.get("retryable", False)),
        data=data,
        number=number if isinstance(number, int) else None,
    )
