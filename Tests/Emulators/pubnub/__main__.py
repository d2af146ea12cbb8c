"""A PubNub of this machine alone, to try ferry with: `python Tests/Emulators/pubnub --port 8080`.

In config.yaml: `{ kind: pubnub, publishKey: demo, subscribeKey: demo, userId: me,
origin: "http://127.0.0.1:8080" }`. Faults: `--fault publish:status=500:times=2`, or a JSON list of
them by POST to /_faults.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib

from emulator import Emulator
from faults import ROUTES, Fault


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
    asyncio.run(run(emulator, options.host, options.port))


async def run(emulator: Emulator, host: str, port: int) -> None:
    await emulator.serve(host, port)
    print(emulator.origin, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
