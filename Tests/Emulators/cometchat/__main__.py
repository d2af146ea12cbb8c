"""A CometChat of this machine alone, to try ferry with: `python3 Tests/Emulators/cometchat`.

It prints the configuration for ferry. Faults: `--fault message:status=500:times=2`.
"""

from __future__ import annotations

from comet import CometChat, CometFault
from launch import parser, run

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
    line = parser(__doc__, CometFault)
    line.add_argument("--max-size", type=int, default=104_857_600, help="bytes of a file")
    line.add_argument("--max-count", type=int, default=10, help="files of a message")
    options = line.parse_args()
    app = CometChat()
    app.settings = {"file.size.max": options.max_size, "file.count.max": options.max_count}
    run(app, options, READY)


if __name__ == "__main__":
    main()
