"""A CometChat of this machine alone, to try ferry with: `python3 Tests/Emulators/cometchat`.

It prints the configuration for ferry. Faults: `--fault message:status=500:times=2`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys

from comet import ROUTES, CometChat, CometFault

READY = """\
A CometChat of this machine alone listens on {0.origin}. Ctrl-C ends it, and all it holds is gone.
Its users are alice, bob and carol, its group is team; alice asks.
Ferry's configuration for it, in ~/.config/ferry/config.yaml or a file named by --config:

default: talk
remotes:
  talk:
    kind: cometchat
    appId: {0.app_id}
    authToken: {0.token}
    clientBaseUrl: "{0.origin}/v3.0"
  local: {{ kind: local, root: ~/.local/share/ferry }}
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080, help="0: any that is free")
    parser.add_argument("--max-size", type=int, default=104_857_600, help="bytes of a file")
    parser.add_argument("--max-count", type=int, default=10, help="files of a message")
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        help=f"ROUTE:KEY=VALUE…; routes: {', '.join(ROUTES)}",
    )
    options = parser.parse_args()
    app = CometChat()
    app.keep_seen = False
    app.settings = {"file.size.max": options.max_size, "file.count.max": options.max_count}
    app.faults = [CometFault.parse(text) for text in options.fault]
    try:
        asyncio.run(run(app, options.host, options.port))
    except OSError as error:
        place = f"{options.host}:{options.port}"
        why = os.strerror(error.errno) if error.errno else str(error)
        sys.exit(f"cannot listen on {place}: {why}; choose another port with --port N")


async def run(app: CometChat, host: str, port: int) -> None:
    await app.serve(host, port)
    print(READY.format(app), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
