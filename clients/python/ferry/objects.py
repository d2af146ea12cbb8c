"""Objects by reference: a path below the remote's root, or a URL of the remote."""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping, Optional, Tuple

from .binary import PathLike
from .errors import ProtocolError
from .events import Event, Uploaded
from .handle import TransferHandle
from .pages import Pages
from .results import Metadata, ObjectItem, ObjectPage, ObjectURL, Reference, StoredObject
from .sources import Source
from .transfers import DownloadHandle, TransferMethods, transfer_params
from .wire import decode, merged, params


class ObjectMethods(TransferMethods):
    """`object/*`. Metadata is written with the wire's names (`{"contentType": …, "custom": …}`)."""

    def put(
        self,
        source: Source,
        ref: str,
        *,
        metadata: Optional[Mapping[str, Any]] = None,
        name: Optional[str] = None,
        content_type: Optional[str] = None,
        digest: Optional[str] = None,
        if_none_match: Optional[str] = None,
        if_match: Optional[str] = None,
        remote: Optional[str] = None,
        transfer_id: Optional[str] = None,
        detach: bool = False,
        progress: bool = True,
        timeout: Optional[float] = None,
    ) -> "TransferHandle[StoredObject]":
        """Stores an object.

        - if_none_match: "*" only where nothing is there; if_match: only over this ETag.
        - the rest as for `send`.
        """
        values = params(
            ref=ref, metadata=metadata, name=name, content_type=content_type, digest=digest,
            if_none_match=if_none_match, if_match=if_match,
        )  # fmt: skip
        return self._upload(
            "object/put",
            source,
            merged(values, transfer_params(transfer_id, remote, detach, progress)),
            from_reply=lambda reply: decode(StoredObject, reply),
            from_event=_stored,
            timeout=timeout,
        )

    def get(
        self,
        ref: str,
        *,
        to: Optional[PathLike] = None,
        overwrite: bool = False,
        inline: bool = False,
        max_size: Optional[int] = None,
        stream: bool = False,
        digest: Optional[str] = None,
        range: Optional[Tuple[int, Optional[int]]] = None,
        remote: Optional[str] = None,
        transfer_id: Optional[str] = None,
        detach: bool = False,
        progress: bool = True,
        timeout: Optional[float] = None,
    ) -> DownloadHandle:
        """Downloads an object; targets as for `download`.

        - range: (offset, length) in bytes; a length of None is to the end.
        """
        part = None if range is None else params(offset=range[0], length=range[1])
        values = params(ref=ref, overwrite=overwrite or None, digest=digest, range=part)
        return self._download(
            "object/get",
            merged(values, transfer_params(transfer_id, remote, detach, progress)),
            to=to,
            inline=inline,
            max_size=max_size,
            stream=stream,
            timeout=timeout,
        )

    async def metadata(self, ref: str, *, remote: Optional[str] = None) -> Metadata:
        """What the remote knows of an object."""
        reply = await self.request("object/metadata", params(ref=ref, remote=remote))
        return decode(Metadata, reply["metadata"])

    async def update(
        self, ref: str, metadata: Mapping[str, Any], *, remote: Optional[str] = None
    ) -> Metadata:
        """Changes metadata: what is not named stays, None clears."""
        ask = params(ref=ref, metadata=metadata, remote=remote)
        return decode(Metadata, (await self.request("object/update", ask))["metadata"])

    async def url(
        self, ref: str, *, expires_in: Optional[int] = None, remote: Optional[str] = None
    ) -> ObjectURL:
        """Where an object can be had, for `expires_in` seconds where the remote limits it."""
        ask = params(ref=ref, expires_in=expires_in, remote=remote)
        return decode(ObjectURL, await self.request("object/url", ask))

    def list(
        self,
        ref: Optional[str] = None,
        *,
        recursive: bool = False,
        limit: Optional[int] = None,
        next: Optional[str] = None,
        remote: Optional[str] = None,
    ) -> "Pages[ObjectPage, ObjectItem]":
        """What is below a reference (default: the root).

        `await` gives one page with items and prefixes ("folders"), `async for` all items.
        """

        async def fetch(mark: Optional[str]) -> ObjectPage:
            ask = params(
                ref=ref, recursive=recursive or None, limit=limit, next=mark, remote=remote
            )
            return decode(ObjectPage, await self.request("object/list", ask))

        return Pages(fetch, lambda page: page.items, lambda page: page.next, next)

    async def delete(self, ref: str, *, remote: Optional[str] = None) -> None:
        """Deletes an object."""
        await self.request("object/delete", params(ref=ref, remote=remote))

    async def resolve(
        self, ref: str, child: Optional[str] = None, *, remote: Optional[str] = None
    ) -> Reference:
        """Takes a reference apart, or the one of a child below it; asks nothing of the remote."""
        ask = params(ref=ref, child=child, remote=remote)
        return decode(Reference, await self.request("object/resolve", ask))


def _stored(event: Event) -> StoredObject:
    if not isinstance(event, Uploaded) or event.object is None:
        raise ProtocolError(f"an object was put and ended with `{event.name}` without an object")
    return dataclasses.replace(event.object, transfer_id=event.transfer_id)
