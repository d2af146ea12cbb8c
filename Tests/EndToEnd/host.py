"""A host that starts ferry, gets an upload going, prints the process ids and waits to be killed.

Arguments: what ferry's stdio is (`pipe`, `socketpair`, or `sibling-stdin` and `sibling-both`, where
another process holds the ends of the pipes too), the binary, the working directory.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys


def main(mode: str, binary: str, folder: str) -> None:
    if mode == "socketpair":
        near, far = socket.socketpair()
        child_in = child_out = far.detach()
        to = out = near.detach()
    else:
        child_in, to = os.pipe()
        out, child_out = os.pipe()
    ferry = subprocess.Popen([binary, "serve"], stdin=child_in, stdout=child_out, cwd=folder)
    for descriptor in {child_in, child_out}:
        os.close(descriptor)
    held = {"sibling-stdin": (to,), "sibling-both": (to, out)}.get(mode)
    sibling = subprocess.Popen(["sleep", "60"], pass_fds=held, stdout=2).pid if held else 0
    put = {"ref": "a", "stream": {}, "transferId": "t"}
    for number, (method, params) in enumerate(
        [("channel/subscribe", {"channels": ["c"]}), ("object/put", put)]
    ):
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        os.write(to, json.dumps(request).encode() + b"\n")
    seen = b""
    while b'"started"' not in seen:
        seen += os.read(out, 1 << 16)
    print(sibling, ferry.pid, flush=True)
    sys.stdin.read()


main(*sys.argv[1:])
