"""Transfers: how they are begun, and the calls that manage them."""

from __future__ import annotations

import base64
import uuid
from typing import Any, AsyncIterator, Callable, Dict, Optional, Type, TypeVar

from .binary import PathLike
from .connection import Call, Connection
from .errors import ProtocolError
from .events import Downloaded, Event
from .handle import TransferHandle
from .pages import Pages
from .results import Download, Snapshot, TransferPage
from .sources import Source, feed, local_path, patiently, prepare
from .wire import decode, merged, params

R = TypeVar("R")
H = TypeVar("H", bound="TransferHandle[Any]")


class DownloadHandle(TransferHandle[Download]):
    """A download; one with `stream=True` is taken by `async for chunk in handle.chunks()`."""

    async def chunks(self, max_bytes: int = 256 * 1024) -> AsyncIterator[bytes]:
        """The content as it comes; ending early cancels the download.

        Each chunk is fetched when it is asked for, so a slow consumer slows the download down.
        """
        ask = {"transferId": self.transfer_id, "maxBytes": max_bytes}
        complete = False
        try:
            while not complete:
                reply = await patiently(self._connection, "stream/read", ask)
                complete = reply["eof"]
                chunk = base64.b64decode(reply["data"])
                if chunk:
                    yield chunk
        finally:
            if not complete:
                self._cancel_soon()
        await self  # verified, or the reason why not


class TransferMethods(Connection):
    """`transfer/*`, and the one way transfers are begun."""

    async def transfer(self, transfer_id: str) -> Snapshot:
        """One transfer as the sidecar knows it; the same as `transfer_get`."""
        return await self.transfer_get(transfer_id)

    async def transfer_get(self, transfer_id: str) -> Snapshot:
        """One transfer as the sidecar knows it."""
        return decode(Snapshot, await self.request("transfer/get", _id(transfer_id)))

    def transfers(
        self,
        *,
        state: Optional[str] = None,
        remote: Optional[str] = None,
        batch_id: Optional[str] = None,
        limit: Optional[int] = None,
        next: Optional[str] = None,
    ) -> "Pages[TransferPage, Snapshot]":
        """Transfers, oldest first, with those that earlier processes left: `await` or iterate."""

        async def fetch(mark: Optional[str]) -> TransferPage:
            ask = params(state=state, remote=remote, batch_id=batch_id, limit=limit, next=mark)
            return decode(TransferPage, await self.request("transfer/list", ask))

        return Pages(fetch, lambda page: page.transfers, lambda page: page.next, next)

    async def transfer_pause(self, transfer_id: str) -> str:
        """Pauses a transfer; returns its state."""
        return await self._manage("transfer/pause", transfer_id)

    async def transfer_resume(self, transfer_id: str) -> str:
        """Goes on with a paused transfer; returns its state."""
        return await self._manage("transfer/resume", transfer_id)

    async def transfer_retry(self, transfer_id: str) -> str:
        """Tries a failed transfer again; returns its state."""
        return await self._manage("transfer/retry", transfer_id)

    async def transfer_cancel(self, transfer_id: str) -> str:
        """Cancels a transfer; returns its state. A batch's file is removed from it."""
        # Nobody would be told of its end.
        for batch in list(self._router.batches.values()):
            for file in list(batch.files.values()):
                if file.live and file.snapshot.transfer_id == transfer_id:
                    await batch.remove(file.file_id)
                    return "cancelled"
        return await self._manage("transfer/cancel", transfer_id)

    async def transfer_forget(self, transfer_id: str) -> None:
        """Drops what is remembered of a settled transfer, and its temporary file."""
        await self.request("transfer/forget", _id(transfer_id))

    def attach(self, transfer_id: str) -> "TransferHandle[Event]":
        """A handle on a transfer that was begun elsewhere: its result is the event that ends it.

        Where it has ended already, the event (with `seq` 0) is made of what `transfer_get` tells:
        a download's has no path. One that is interrupted goes on with `resume()`.
        """
        self._process_or_raise()
        handle: "TransferHandle[Event]" = TransferHandle(
            self, transfer_id, from_reply=lambda _: _never(), from_event=lambda event: event
        )
        handle.look()
        return handle

    async def _manage(self, method: str, transfer_id: str) -> str:
        reply = await self.request(method, _id(transfer_id))
        return str(reply["state"])

    def _upload(
        self,
        method: str,
        source: Source,
        values: Dict[str, Any],
        *,
        from_reply: Callable[[Any], R],
        from_event: Callable[[Event], R],
        timeout: Optional[float],
    ) -> "TransferHandle[R]":
        """Begins an upload and, for a stream, the task that sends its bytes."""
        fields, stream = prepare(source, self._base())
        ask = merged(fields, {"transferId": str(uuid.uuid4())}, values)
        handle = self._begin(
            TransferHandle[R], method, ask, timeout, from_reply=from_reply, from_event=from_event
        )
        if stream is not None:
            handle.feed(self._loop.create_task(feed(self, handle.transfer_id, stream)))
        return handle

    def _download(
        self,
        method: str,
        values: Dict[str, Any],
        *,
        to: Optional[PathLike],
        inline: bool,
        max_size: Optional[int],
        stream: bool,
        timeout: Optional[float],
    ) -> DownloadHandle:
        """Begins a download to a path, into memory, as a stream, or to a temporary file."""
        if (to is not None) + inline + stream > 1:
            raise ValueError("choose one of to=, inline=True and stream=True")
        if max_size is not None and not inline:
            raise ValueError("max_size= goes with inline=True")
        target: Any = None
        if to is not None:
            target = local_path(to, self._base())
        elif inline:
            target = merged({"inline": True}, params(max_size=max_size))
        elif stream:
            target = {"stream": True}
        ask = merged(params(target=target), {"transferId": str(uuid.uuid4())}, values)
        again = {key: value for key, value in ask.items() if key != "detach"}

        def rejoin(event: Event) -> Optional[Call]:
            return self._post(method, again) if inline or event.seq == 0 else None

        return self._begin(
            DownloadHandle,
            method,
            ask,
            timeout,
            from_reply=lambda reply: decode(Download, reply),
            from_event=_downloaded,
            rejoin=rejoin,
        )

    def _begin(
        self,
        kind: Type[H],
        method: str,
        ask: Dict[str, Any],
        timeout: Optional[float],
        **options: Any,
    ) -> H:
        self._process_or_raise()
        handle = kind(self, ask["transferId"], **options)
        try:
            call = self._post(method, ask)
        except BaseException as error:
            handle.fail(error)
            raise
        handle.begin(call, detached=bool(ask.get("detach")), timeout=timeout)
        return handle


def transfer_params(
    transfer_id: Optional[str], remote: Optional[str], detach: bool, progress: bool
) -> Dict[str, Any]:
    """The options every transfer has."""
    return params(
        transfer_id=transfer_id,
        remote=remote,
        detach=True if detach else None,
        progress=None if progress else False,
    )


def _id(transfer_id: str) -> Dict[str, Any]:
    return {"transferId": transfer_id}


def _downloaded(event: Event) -> Download:
    if not isinstance(event, Downloaded):
        raise ProtocolError(f"a download ended with `{event.name}`")
    return Download(
        size=event.size,
        sha256=event.sha256,
        path=event.path,
        temporary=event.temporary,
        transfer_id=event.transfer_id,
    )


def _never() -> Event:
    raise AssertionError("an attached handle has no reply")
