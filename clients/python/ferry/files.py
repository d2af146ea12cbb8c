"""Files shared on channels."""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping, Optional, Union

from .binary import PathLike
from .errors import ProtocolError
from .events import Event, Uploaded
from .handle import TransferHandle
from .pages import Pages
from .results import FilePage, ListedFile, Published, SentFile
from .sources import Source
from .transfers import DownloadHandle, TransferMethods, transfer_params
from .wire import decode, merged, params


class FileMethods(TransferMethods):
    """`file/*`."""

    def send(
        self,
        source: Source,
        *,
        channel: str,
        message: Any = None,
        meta: Union[Mapping[str, Any], str, None] = None,
        name: Optional[str] = None,
        content_type: Optional[str] = None,
        digest: Optional[str] = None,
        store: Optional[bool] = None,
        replicate: Optional[bool] = None,
        ttl: Optional[int] = None,
        custom_message_type: Optional[str] = None,
        cipher_key: Optional[str] = None,
        query: Optional[Mapping[str, Any]] = None,
        remote: Optional[str] = None,
        transfer_id: Optional[str] = None,
        detach: bool = False,
        progress: bool = True,
        timeout: Optional[float] = None,
    ) -> "TransferHandle[SentFile]":
        """Uploads a file and announces it on a channel.

        - source: a path, bytes, Text, a binary file, an iterator of bytes; `name` is needed where
          the source has none.
        - message, meta: any JSON for the channel's subscribers; ttl: hours that history keeps it.
        - transfer_id: the same one again joins the transfer, or goes on with one that an earlier
          process with the same `state_key` left; made where not given.
        - detach: the transfer goes on when its waiting task is cancelled, until the sidecar ends.
        """
        values = params(
            channel=channel, message=message, meta=meta, name=name, content_type=content_type,
            digest=digest, store=store, replicate=replicate, ttl=ttl,
            custom_message_type=custom_message_type, cipher_key=cipher_key, query=query,
        )  # fmt: skip
        return self._upload(
            "file/send",
            source,
            merged(values, transfer_params(transfer_id, remote, detach, progress)),
            from_reply=lambda reply: decode(SentFile, reply),
            from_event=_sent,
            timeout=timeout,
        )

    async def publish(
        self,
        channel: str,
        id: str,
        name: str,
        *,
        message: Any = None,
        meta: Union[Mapping[str, Any], str, None] = None,
        store: Optional[bool] = None,
        ttl: Optional[int] = None,
        replicate: Optional[bool] = None,
        custom_message_type: Optional[str] = None,
        cipher_key: Optional[str] = None,
        query: Optional[Mapping[str, Any]] = None,
        remote: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> Published:
        """Announces an uploaded file (again)."""
        values = params(
            channel=channel, id=id, name=name, message=message, meta=meta, store=store, ttl=ttl,
            replicate=replicate, custom_message_type=custom_message_type, cipher_key=cipher_key,
            query=query, remote=remote,
        )  # fmt: skip
        return decode(Published, await self.request("file/publish", values, timeout))

    def files(
        self,
        channel: str,
        *,
        limit: Optional[int] = None,
        next: Optional[str] = None,
        remote: Optional[str] = None,
    ) -> "Pages[FilePage, ListedFile]":
        """The files of a channel: `await` for one page, `async for` for all of them."""

        async def fetch(mark: Optional[str]) -> FilePage:
            ask = params(channel=channel, limit=limit, next=mark, remote=remote)
            return decode(FilePage, await self.request("file/list", ask))

        return Pages(fetch, lambda page: page.files, lambda page: page.next, next)

    async def file_url(
        self, channel: str, id: str, name: str, *, remote: Optional[str] = None
    ) -> str:
        """Where a file can be had, usable as it is: keep it as secret as the file."""
        ask = params(channel=channel, id=id, name=name, remote=remote)
        return str((await self.request("file/url", ask))["url"])

    def download(
        self,
        channel: Optional[str] = None,
        id: Optional[str] = None,
        name: Optional[str] = None,
        *,
        url: Optional[str] = None,
        message_id: Optional[str] = None,
        to: Optional[PathLike] = None,
        overwrite: bool = False,
        inline: bool = False,
        max_size: Optional[int] = None,
        stream: bool = False,
        digest: Optional[str] = None,
        cipher_key: Optional[str] = None,
        remote: Optional[str] = None,
        transfer_id: Optional[str] = None,
        detach: bool = False,
        progress: bool = True,
        timeout: Optional[float] = None,
    ) -> DownloadHandle:
        """Downloads a file named by channel, id and name, or by url, or by message_id
        (with the id of one of its files, where it shows several).

        It goes to a path (`to`), into memory (`inline`), through `handle.chunks()` (`stream`), or
        to a temporary file. `name` is what the sender chose: a `to` that ends in "/" is a folder,
        in which the file gets that name made safe.

        - digest: "none" leaves the SHA-256 out, and with it the comparison.
        """
        values = params(
            channel=channel, id=id, name=name, url=url, message_id=message_id,
            overwrite=overwrite or None, digest=digest, cipher_key=cipher_key,
        )  # fmt: skip
        return self._download(
            "file/download",
            merged(values, transfer_params(transfer_id, remote, detach, progress)),
            to=to,
            inline=inline,
            max_size=max_size,
            stream=stream,
            timeout=timeout,
        )

    async def delete_file(
        self, channel: str, id: str, name: str, *, remote: Optional[str] = None
    ) -> None:
        """Deletes a file of a channel."""
        await self.request("file/delete", params(channel=channel, id=id, name=name, remote=remote))


def _sent(event: Event) -> SentFile:
    if not isinstance(event, Uploaded) or event.file is None:
        raise ProtocolError(f"a file was sent and ended with `{event.name}` without a file")
    return dataclasses.replace(
        event.file, transfer_id=event.transfer_id, sha256=event.file.sha256 or event.sha256
    )
