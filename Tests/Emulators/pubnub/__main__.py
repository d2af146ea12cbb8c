"""A PubNub of this machine alone, to try ferry with: `python3 Tests/Emulators/pubnub --port 8080`.

It prints the configuration for ferry. Faults: `--fault publish:status=500:times=2`, or a JSON list
of them by POST to /_faults.
"""

from __future__ import annotations

import launch
from emulator import Emulator
from faults import Fault

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
    parser = launch.parser(__doc__, Fault)
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
    options = parser.parse_args()
    emulator = Emulator(options.subscribe_key, options.publish_key, options.hold)
    emulator.access.secret_key = options.secret_key
    if options.token:
        pairs = [token.partition("=") for token in options.token]
        emulator.access.tokens = {name: {"*": rights or "rwd"} for name, _, rights in pairs}
    launch.run(emulator, options, READY)


if __name__ == "__main__":
    main()
