"""The client: one sidecar and every method of its protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Optional

from .batches import BatchMethods
from .channels import ChannelMethods
from .files import FileMethods
from .objects import ObjectMethods
from .results import Limits, ShutdownSummary
from .wire import KEEP, decode, merged, params

if TYPE_CHECKING:
    from .sync import SyncFerry


class Ferry(FileMethods, ObjectMethods, ChannelMethods, BatchMethods):
    """A sidecar of one's own, for one event loop: `async with Ferry() as f: …`.

    Transfers (`send`, `put`, `download`, `get`) return a handle at once, to await, iterate, pause
    and cancel; lists return Pages, to await for one page or iterate for all; the rest is awaited.
    Errors are FerryError and its subclasses.
    """

    @staticmethod
    def sync(*args: Any, **options: Any) -> "SyncFerry":
        """The same without asyncio: `with Ferry.sync() as f: …`."""
        from .sync import SyncFerry

        return SyncFerry(*args, **options)

    async def ping(self, timeout: Optional[float] = None) -> None:
        """Returns once the sidecar has answered."""
        await self.request("ping", timeout=timeout)

    async def stats(self) -> Dict[str, Any]:
        """Queues, transfers and memory of the sidecar, as on the wire."""
        reply: Dict[str, Any] = await self.request("server/stats")
        return reply

    async def discover(self) -> Dict[str, Any]:
        """The protocol's OpenRPC document."""
        document: Dict[str, Any] = await self.request("rpc.discover")
        return document

    async def limits(self, *, remote: Optional[str] = None) -> Limits:
        """The limits in force."""
        return decode(Limits, await self.request("limits/get", params(remote=remote)))

    async def set_limits(
        self,
        *,
        concurrency: Optional[int] = None,
        upload_rate: Optional[int] = KEEP,
        download_rate: Optional[int] = KEEP,
        remote: Optional[str] = None,
    ) -> Limits:
        """Changes limits from now on: rates in bytes per second, None for no limit."""
        rates = {"uploadRate": upload_rate, "downloadRate": download_rate}
        ask = merged(
            params(concurrency=concurrency, remote=remote),
            {key: rate for key, rate in rates.items() if rate is not KEEP},
        )
        return decode(Limits, await self.request("limits/set", ask))

    async def set_credentials(
        self,
        remote: str,
        *,
        id_token: Optional[str] = None,
        auth_token: Optional[str] = None,
        access_token: Optional[str] = None,
        access_key_id: Optional[str] = None,
        secret_access_key: Optional[str] = None,
        session_token: Optional[str] = None,
    ) -> None:
        """Replaces what proves to a remote who asks; each kind takes its own."""
        ask = params(
            remote=remote,
            id_token=id_token,
            auth_token=auth_token,
            access_token=access_token,
            access_key_id=access_key_id,
            secret_access_key=secret_access_key,
            session_token=session_token,
        )
        await self.request("remote/credentials", ask)

    async def shutdown(
        self, mode: str = "drain", *, deadline_ms: Optional[int] = None
    ) -> ShutdownSummary:
        """Ends all work and tells what became of it; closing the client does this by itself."""
        ask = params(mode=mode, deadline_ms=deadline_ms)
        return decode(ShutdownSummary, await self.request("shutdown", ask))
