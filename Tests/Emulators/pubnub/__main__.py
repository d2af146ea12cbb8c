"""A PubNub of this machine alone, to try ferry with: `python3 Tests/Emulators/pubnub --port 8080`.

It prints the configuration for ferry. Faults: `--fault publish:status=500:times=2`, or a JSON list
of them by POST to /_faults.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys

from emulator import Emulator
from faults import ROUTES, Fault

READY = """\
A PubNub of this machine alone listens on {0.origin}. Ctrl-C ends it, and all it holds is gone.
Ferry's configuration for it, in ~/.config/ferry/config.yaml or a file named by --config:

default: chat
remotes:
  chat:
    kind: pubnub
    publishKey: {0.pub_key}
    subscribeKey: {0.sub_key}
    userId: me
    origin: "{0.origin}"
  local: {{ kind: local, root: ~/.local/share/ferry }}
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080, help="0: any that is free")
    parser.add_argument("--subscribe-key", default="demo")
    parser.add_argument("--publish-key", default="demo")
    parser.add_argument("--secret-key", help="signatures made with it are taken")
    parser.add_argument(
        "--token",
        action="append",
        default=[],
        metavar="TOKEN[=RIGHTS]",
        help="only these may do anything; rights are of r, w, d (all three)",
    )
    parser.add_argument("--hold", type=float, default=280.0, help="seconds a poll is held")
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        help=f"ROUTE:KEY=VALUE…; routes: {', '.join(ROUTES)}",
    )
    options = parser.parse_args()
    emulator = Emulator(options.subscribe_key, options.publish_key, options.hold)
    emulator.keep_seen = False
    emulator.access.secret_key = options.secret_key
    if options.token:
        pairs = [token.partition("=") for token in options.token]
        emulator.access.tokens = {name: {"*": rights or "rwd"} for name, _, rights in pairs}
    emulator.faults = [Fault.parse(text) for text in options.fault]
    try:
        asyncio.run(run(emulator, options.host, options.port))
    except OSError as error:
        place = f"{options.host}:{options.port}"
        why = os.strerror(error.errno) if error.errno else str(error)
        sys.exit(f"cannot listen on {place}: {why}; choose another port with --port N")


async def run(emulator: Emulator, host: str, port: int) -> None:
    await emulator.serve(host, port)
    print(READY.format(emulator), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
