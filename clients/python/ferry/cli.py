"""The command line: `python -m ferry COMMAND`."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import sys
from typing import Any, Dict, List, Optional, Sequence

from .client import Ferry
from .commands import Commands
from .errors import BinaryNotFound, FerryError, ProcessDied, VersionMismatch
from .progress import printable
from .version import __version__

EXAMPLES = """\
examples:
  python -m ferry send photo.jpg --channel trip --message '{"text": "look"}'
  python -m ferry watch trip --download inbox        # in another terminal
  python -m ferry list trip
  python -m ferry get trip ID photo.jpg -o copy.jpg
  tar c src | python -m ferry put - backups/src.tar
  python -m ferry cat backups/src.tar | tar t

Without a configuration everything is kept below ~/.local/share/ferry and shared by all programs of
this user. Exit codes: 0 done, 1 it failed, 2 wrong usage or configuration, 130 after Ctrl-C.
"""

WATCH_DOWNLOAD = "download announced files into it; where one is there, as `photo (2).jpg`"
USAGE_CODES = {"CLIENT_USAGE", "ERR_INVALID_ARGUMENT", "ERR_INVALID_REFERENCE", "ERR_CONFIG"}


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--json", action="store_true", help="one JSON object per line")
    common.add_argument("--remote", help="the remote to use (default: the configuration's)")
    common.add_argument("--root", help="a folder for a store of its own, apart from the usual one")
    common.add_argument("--config", help="the configuration file")
    common.add_argument("--bin", help="the ferry program")
    top = argparse.ArgumentParser(
        prog="python -m ferry",
        description="Share files on channels and store objects.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"ferry-sidecar {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=text, description=text, parents=[common])

    send = command("send", "upload files and announce them on a channel")
    send.add_argument("files", nargs="+", metavar="FILE", help="a file, or - for stdin")
    send.add_argument("--channel", "-c", required=True)
    send.add_argument("--message", type=_json, metavar="JSON", help="goes with the announcement")
    send.add_argument("--name", help="the file's name for others")
    send.add_argument("--ttl", type=int, metavar="HOURS", help="how long history keeps it")
    get = _file(command("get", "download a file of a channel"))
    get.add_argument(
        "--output",
        "-o",
        metavar="PATH",
        help="a path, a folder (the name is made safe), or - for stdout",
    )
    get.add_argument("--force", "-f", action="store_true", help="replace an existing file")
    command("list", "list the files of a channel").add_argument("channel")
    _file(command("rm", "delete a file of a channel"))
    _file(command("url", "print where a file can be had"))
    watch = command("watch", "print what comes on channels")
    watch.add_argument("channels", nargs="+", metavar="CHANNEL")
    watch.add_argument("--since", metavar="TIMETOKEN", help="begin with what came after this")
    watch.add_argument("--count", type=int, metavar="N", help="end after N messages")
    watch.add_argument("--download", metavar="FOLDER", help=WATCH_DOWNLOAD)
    history = command("history", "print what a channel kept")
    history.add_argument("channel")
    history.add_argument("--limit", type=int, metavar="N", help="the newest N (default 100)")
    history.set_defaults(download=None)
    put = command("put", "store an object")
    put.add_argument("file", metavar="FILE", help="a file, or - for stdin")
    put.add_argument("ref", metavar="REF", help="a path below the remote's root")
    put.add_argument("--type", metavar="MIME", help="its content type")
    command("cat", "write an object to stdout").add_argument("ref", metavar="REF")
    ls = command("ls", "list objects")
    ls.add_argument("ref", metavar="REF", nargs="?")
    ls.add_argument("--recursive", "-r", action="store_true")
    command("stat", "print what is known of an object").add_argument("ref", metavar="REF")
    command("del", "delete an object").add_argument("ref", metavar="REF")
    return top


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Runs the command line and returns its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a locale that cannot show a name must not end us
            stream.reconfigure(errors="backslashreplace")
    args = parser().parse_args(argv)
    received: List[int] = []
    try:
        return asyncio.run(_run(args, received))
    except (KeyboardInterrupt, asyncio.CancelledError):
        return 128 + (received[0] if received else signal.SIGINT)
    except BrokenPipeError:
        # The reader of stdout is gone; the interpreter would complain again when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except ProcessDied as error:
        if error.returncode == 2:  # the configuration is wrong; ferry has said where
            return 2
        print(f"ferry: {printable_lines(str(error))}", file=sys.stderr)
        return 1
    except FerryError as error:
        print(f"ferry: {printable_lines(str(error))}", file=sys.stderr)
        usage = error.code in USAGE_CODES or isinstance(error, (BinaryNotFound, VersionMismatch))
        return 2 if usage else 1
    except OSError as error:
        print(f"ferry: {error}", file=sys.stderr)
        return 1


async def _run(args: argparse.Namespace, received: List[int]) -> int:
    task = asyncio.current_task()
    assert task is not None

    def interrupted(number: int) -> None:
        received.append(number)
        task.cancel()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # On other threads than the main one there are no signals to handle.
        with contextlib.suppress(RuntimeError, ValueError):
            loop.add_signal_handler(number, interrupted, number)
    async with Ferry(
        _config(args),
        bin=args.bin,
        config_file=args.config,
        client_info={"name": "ferry-cli", "version": __version__},
        on_stderr=lambda line: print(printable(line), file=sys.stderr),
    ) as client:
        return await Commands(client, args).run()


def printable_lines(text: str) -> str:
    """A text of several lines without what a terminal would obey."""
    return "\n".join(printable(line) for line in text.split("\n"))


def _config(args: argparse.Namespace) -> Optional[Dict[str, Any]]:
    if args.root is None:
        return None
    root = os.path.abspath(args.root)
    return {
        "default": "local",
        "stateDir": os.path.join(root, "state"),
        "remotes": {"local": {"kind": "local", "root": os.path.join(root, "data")}},
    }


def _file(command: argparse.ArgumentParser) -> argparse.ArgumentParser:
    command.add_argument("channel", metavar="CHANNEL")
    command.add_argument("id", metavar="ID")
    command.add_argument("name", metavar="NAME")
    return command


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not JSON ({error}); a text needs quotes") from None
