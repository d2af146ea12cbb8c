"""What each command of the command line does."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any, Awaitable, Callable, Dict, Optional

from .batch_command import BatchCommand
from .client import Ferry
from .errors import FerryError
from .handle import TransferHandle
from .names import numbered
from .progress import Display, printable, size
from .results import Message, SentFile
from .sources import Source
from .threads import on_thread


class Commands:
    """The commands, on one client; results go to stdout, progress and errors to stderr."""

    def __init__(self, client: Ferry, args: Namespace) -> None:
        self._ferry = client
        self._args = args
        self._display = Display(sys.stderr, quiet=args.json)
        self._remote: Optional[str] = args.remote

    async def run(self) -> int:
        """Runs the chosen command and returns the exit code."""
        name = self._args.command
        command: Callable[[], Awaitable[Optional[int]]] = getattr(self, f"_{name}")
        try:
            return await command() or 0
        finally:
            self._display.clear()

    async def _send(self) -> int:
        args = self._args
        if args.name and len(args.files) > 1:
            raise _usage("--name goes with one FILE")
        batch = BatchCommand(self._ferry, args, self._display, self._show_sent, self._report)
        if batch.fits:
            return 1 if await batch.run() else 0

        def begin(file: str) -> "TransferHandle[Any]":
            return self._ferry.send(
                _source(file),
                channel=args.channel,
                message=args.message,
                name=_name(args.name, file),
                ttl=args.ttl,
                remote=self._remote,
            )

        failures = 0
        handles = [(file, begin(file)) for file in args.files]
        for result in await asyncio.gather(*(self._one(file, handle) for file, handle in handles)):
            failures += result is None
        return 1 if failures else 0

    async def _one(self, label: str, handle: "TransferHandle[Any]") -> Any:
        sent = await self._attempt(label, handle)
        if sent is not None:
            self._show_sent(sent)
        return sent

    def _show_sent(self, sent: SentFile) -> None:
        text = f"sent {sent.name} ({size(sent.size)}) to {sent.channel} as {sent.id}"
        self._print(sent, text)

    async def _attempt(self, label: str, handle: "TransferHandle[Any]") -> Any:
        """Follows one of several transfers: its failure is reported, and the others go on."""
        try:
            return await self._follow(label, handle)
        except FerryError as error:
            self._report(label, error)
            return None

    def _report(self, label: str, error: FerryError) -> None:
        self._display.line(f"{printable(label)}: {printable(str(error))}")

    async def _follow(self, label: str, handle: "TransferHandle[Any]") -> Any:
        self._display.add(handle.transfer_id, os.path.basename(label) or label)
        async for event in handle:
            self._display.take(event)
        return await handle

    async def _get(self) -> None:
        args = self._args
        if args.output == "-":
            await self._to_stdout(
                self._ferry.download(
                    args.channel, args.id, args.name, stream=True, remote=self._remote
                )
            )
            return
        handle = self._ferry.download(
            args.channel,
            args.id,
            args.name,
            to=_target(args.output),
            overwrite=args.force,
            remote=self._remote,
        )
        got = await self._follow(args.name, handle)
        self._print(got, f"got {got.path} ({size(got.size)})")

    async def _list(self) -> None:
        async for file in self._ferry.files(self._args.channel, remote=self._remote):
            self._print(file, f"{file.id}  {size(file.size or 0):>10}  {file.created}  {file.name}")

    async def _rm(self) -> None:
        args = self._args
        await self._ferry.delete_file(args.channel, args.id, args.name, remote=self._remote)

    async def _url(self) -> None:
        args = self._args
        url = await self._ferry.file_url(args.channel, args.id, args.name, remote=self._remote)
        self._print({"url": url}, url)

    async def _watch(self) -> int:
        args = self._args
        shown = failures = 0
        if args.download is not None:
            Path(args.download).mkdir(parents=True, exist_ok=True)
        async with self._ferry.subscribe(
            *args.channels, since=args.since, remote=self._remote
        ) as messages:
            self._display.line(f"watching {printable(', '.join(args.channels))}; Ctrl-C ends")
            async for message in messages:
                self._show(message)
                failures += not await self._fetch(message)
                shown += 1
                if shown == args.count:
                    break
        return 1 if failures else 0

    def _show(self, message: Message) -> None:
        text = f"{message.timetoken}  {message.channel}  {message.type}"
        if message.file is not None:
            text += f"  {message.file.id}  {message.file.name}"
        if message.message is not None:
            text += f"  {json.dumps(message.message, ensure_ascii=False)}"
        self._print(message, text)

    async def _fetch(self, message: Message) -> bool:
        """Downloads the file a message announces, where that is wanted; whether that went well."""
        file, folder = message.file, self._args.download
        if folder is None or file is None:
            return True
        others = numbered(folder, file.name)
        target = _inside(folder)
        while True:
            handle = self._ferry.download(
                message.channel, file.id, file.name, to=target, remote=message.remote
            )
            try:
                got = await self._follow(file.name, handle)
            except FerryError as error:
                if error.code == "ERR_TARGET_EXISTS":  # also one that another process just made
                    target = next(others)
                    continue
                self._report(file.name, error)
                return False
            self._print(got, f"got {got.path} ({size(got.size)})")
            return True

    async def _history(self) -> None:
        args = self._args
        page = await self._ferry.history(args.channel, limit=args.limit, remote=self._remote)
        for message in page.messages:
            self._show(message)

    async def _put(self) -> None:
        args = self._args
        handle = self._ferry.put(
            _source(args.file), args.ref, content_type=args.type, remote=self._remote
        )
        stored = await self._follow(args.ref, handle)
        path, count = stored.metadata.full_path, stored.metadata.size
        self._print(stored, f"put {path} ({size(count)})")

    async def _cat(self) -> None:
        handle = self._ferry.get(self._args.ref, stream=True, remote=self._remote)
        await self._to_stdout(handle)

    async def _ls(self) -> None:
        args = self._args
        mark: Optional[str] = None
        while True:
            page = await self._ferry.list(
                args.ref, recursive=args.recursive, next=mark, remote=self._remote
            )
            for prefix in page.prefixes:
                self._print({"prefix": prefix}, f"{'':>10}  {prefix}/")
            for item in page.items:
                self._print(item, f"{size(item.size or 0):>10}  {item.ref}")
            mark = page.next
            if mark is None:
                return

    async def _stat(self) -> None:
        metadata = await self._ferry.metadata(self._args.ref, remote=self._remote)
        values = _plain(metadata)
        text = "\n".join(f"{key}: {value}" for key, value in values.items() if value)
        self._print(metadata, text)

    async def _del(self) -> None:
        await self._ferry.delete(self._args.ref, remote=self._remote)

    async def _to_stdout(self, handle: Any) -> None:
        async for chunk in handle.chunks():
            await on_thread(_write_all, sys.stdout.fileno(), chunk)

    def _print(self, value: Any, text: str) -> None:
        self._display.clear()
        if self._args.json:
            text = json.dumps(_plain(value))
        else:
            text = "\n".join(printable(line) for line in text.split("\n"))
        print(text, flush=True)


def _plain(value: Any) -> Dict[str, Any]:
    plain: Dict[str, Any] = value if isinstance(value, dict) else dataclasses.asdict(value)
    return plain


def _source(file: str) -> Source:
    # Unbuffered: a read that is still waiting when the program ends would hold the buffer's lock.
    return open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) if file == "-" else file


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _name(given: Optional[str], file: str) -> Optional[str]:
    if file == "-" and not given:
        raise _usage("content from stdin needs --name")
    return given


def _target(output: Optional[str]) -> str:
    if output is None:
        return _inside(os.curdir)
    return _inside(output) if os.path.isdir(output) else output


def _inside(folder: str) -> str:
    """The folder as a target: the slash has the sidecar choose a safe name from the sender's."""
    return os.path.join(folder, "")


def _usage(message: str) -> FerryError:
    return FerryError("CLIENT_USAGE", message)
