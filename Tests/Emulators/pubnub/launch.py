"""What the command lines of emulators have in common."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys

from faults import Fault
from running import Running


def parser(description: str | None, fault: type[Fault]) -> argparse.ArgumentParser:
    """With the options of all; the faults that were asked for are made of `--fault`."""

    def parse(text: str) -> Fault:
        try:
            return fault.parse(text)
        except (TypeError, ValueError) as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--host", default="127.0.0.1")
    made.add_argument("--port", type=int, default=8080, help="0: any that is free")
    made.add_argument(
        "--fault",
        action="append",
        default=[],
        type=parse,
        dest="faults",
        metavar="FAULT",
        help=f"ROUTE:KEY=VALUE…; routes: {', '.join(fault.routes)}",
    )
    return made


def run(emulator: Running, options: argparse.Namespace, ready: str) -> None:
    """Serves until Ctrl-C, after saying `ready`, which may name what the emulator has."""

    async def serve() -> None:
        await emulator.serve(options.host, options.port)
        print(ready.format(emulator), flush=True)
        await asyncio.Event().wait()

    emulator.keep_seen = False
    emulator.faults = options.faults
    try:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(serve())
    except OSError as error:
        place = f"{options.host}:{options.port}"
        why = os.strerror(error.errno) if error.errno else str(error)
        sys.exit(f"cannot listen on {place}: {why}; choose another port with --port N")
