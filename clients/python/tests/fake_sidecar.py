"""A small stand-in for ferry that speaks its protocol, with faults to order.

Faults that concern the process come as words in $FAKE (`ignore-eof`, `die-at=ping`, …); those that
concern a transfer are the names of channels (see `Transfer.run`). Everything else is an honest
remote in memory. Parameters are checked against schema/openrpc.json.
"""

import base64
import functools
import hashlib
import itertools
import json
import os
import pathlib
import signal
import sys

from fake_batches import Batch
from fake_remote import NOW, Refusal, Remote

WORDS = dict(word.partition("=")[::2] for word in os.environ.get("FAKE", "").split())
ROOT = next(p for p in pathlib.Path(__file__).resolve().parents if (p / "schema").is_dir())
DOCUMENT = json.loads((ROOT / "schema" / "openrpc.json").read_text())
METHODS = {method["name"]: method for method in DOCUMENT["methods"]}


def out(message):
    sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    sys.stdout.buffer.flush()


def notify(method, **params):
    out({"method": method, "params": {"seq": next(sequence), **params}})


class Transfer:
    def __init__(self, method, id, params, batch=None, file_id=None):
        self.method, self.params, self.ids = method, params, [] if batch else [id]
        self.batch = batch
        self.tags = {"transferId": params["transferId"], **(batch.tags(file_id) if batch else {})}
        self.id, self.attempt, self.state = params["transferId"], 1, "queued"
        self.content = None
        self.chunks = bytearray()
        self.read = 0
        self.error = self.result = None
        state.transfers[self.id] = self
        if params.get("detach"):
            self.reply({"transferId": self.id})
            self.ids = []

    def join(self, id, params):
        """Answers one more request for the same transfer, once it has ended."""
        assert self.state not in ("queued", "running", "paused"), self.state
        if params.get("detach"):
            out({"id": id, "result": {"transferId": self.id}})
        else:
            out({"id": id, **({"error": self.error} if self.error else {"result": self.result})})

    @property
    def up(self):
        return self.method in ("file/send", "object/put")

    @property
    def direction(self):
        return "upload" if self.up else "download"

    def reply(self, result=None, error=None):
        self.result = result
        for id in self.ids:
            state.calls.pop(id, None)
            out({"id": id, **({"error": error} if error else {"result": result})})
        self.ids = []

    def load(self):
        p = self.params
        if "path" in p:
            try:
                self.content = pathlib.Path(p["path"].removeprefix("file://")).read_bytes()
            except OSError:
                raise Refusal(1101, "ERR_FILE_NOT_FOUND", f"no file {p['path']}") from None
        elif "data" in p:
            self.content = base64.b64decode(p["data"])
        elif "text" in p:
            self.content = p["text"].encode()
        elif self.method == "object/get":
            if p["ref"] not in state.objects:
                raise Refusal(1301, "ERR_NOT_FOUND", f"no object {p['ref']}", phase="download")
            self.content = state.objects[p["ref"]][0]
            if "range" in p:
                start, length = p["range"]["offset"], p["range"].get("length", 1 << 60)
                self.content = self.content[start : start + length]
        elif self.method == "file/download":
            if p.get("id") not in state.files:
                raise Refusal(1301, "ERR_NOT_FOUND", f"no file {p.get('id')}", phase="download")
            self.content = state.files[p["id"]][1]
            target = p.get("target")
            if isinstance(target, str) and target.endswith("/"):
                p["target"] = target = target + state.files[p["id"]][2].replace("/", "_")
            if isinstance(target, str) and os.path.exists(target) and not p.get("overwrite"):
                raise Refusal(1307, "ERR_TARGET_EXISTS", f"{target} is there: pass overwrite")

    def progress(self, loaded, total):
        percent = None if total is None else (100 * loaded // total if total else 100)
        notify("progress", **self.tags, direction=self.direction, loaded=loaded, total=total,
               percent=percent, rate=1000, etaMs=5, attempt=self.attempt)  # fmt: skip

    def settle(self, kind, error):
        self.state, self.error = {"error": "rejected", "failure": "failed"}.get(kind, kind), error
        error["data"].update(self.tags)
        extra = {"loaded": 0, "resumable": False} if kind == "cancelled" else {}
        notify(kind, **self.tags, error=error, **extra)
        self.reply(error=error)

    def run(self):
        """Runs until it is settled, or waits as its channel says."""
        fault = self.params.get("channel", "")
        if fault == "reject":
            raise Refusal(1203, "ERR_FILE_TYPE_BLOCKED", "exe files are blocked")
        self.load()
        self.state = "running"
        streamed = "stream" in self.params and self.content is None
        total = self.params["stream"].get("size") if streamed else len(self.content)
        notify("started", **self.tags, attempt=self.attempt, total=total)
        if fault == "fail-once" and self.attempt == 1:
            self.progress(1, total)
            error = Refusal(1503, "ERR_NETWORK", "the line dropped", True, phase="upload")
            return self.settle("failure", error.error)
        if fault == "die":
            self.progress(1, total)
            die("the disk is on fire")
        if fault == "flood":
            for step in range(10_000):
                self.progress(total * (step + 1) // 10_000, total)
        if fault == "hold":
            self.progress(total // 2 if total else 0, total)
        elif not streamed and self.params.get("target") != {"stream": True}:
            self.finish()
        return None

    def finish(self):
        p, content = self.params, self.content
        digest = hashlib.sha256(content).hexdigest()
        size = len(content)
        self.progress(size, size)
        self.state = "succeeded"
        if self.method == "file/send":
            id = f"f{len(state.files)}"
            name = p.get("name") or os.path.basename(p["path"])
            state.files[id] = (p["channel"], content, name)
            short = {"id": id, "name": name, "size": size}
            file = {**short, "channel": p["channel"], "contentType": "text/plain",
                    "sha256": digest, "timetoken": state.announce(p["channel"], short, p),
                    "url": f"file:///fake/{id}"}  # fmt: skip
            self.file = file
            shown = {"attachment": self.batch.attachment(self)} if self.batch else {}
            notify("uploaded", **self.tags, file=file, sha256=digest, **shown)
            self.reply({"transferId": self.id, **file})
            if self.batch and self.params["channel"] == "hold":
                self.batch.drained()
        elif self.method == "object/put":
            custom = p.get("metadata", {}).get("custom", {})
            metadata = {"name": p["ref"].split("/")[-1], "fullPath": p["ref"], "bucket": "local",
                        "size": size, "contentType": p.get("contentType", "text/plain"),
                        "created": NOW, "updated": NOW, "etag": digest[:8], "custom": custom,
                        "sha256": digest}  # fmt: skip
            state.objects[p["ref"]] = (content, metadata)
            notify("uploaded", transferId=self.id, sha256=digest,
                   object={"ref": p["ref"], "metadata": metadata})  # fmt: skip
            self.reply({"transferId": self.id, "metadata": metadata})
        else:
            self.deliver(digest)

    def deliver(self, digest):
        target, place = self.params.get("target"), {}
        if isinstance(target, str):
            pathlib.Path(target).write_bytes(self.content)
            place = {"path": target, "temporary": False}
        elif target is None:
            path = os.path.abspath(f"temporary-{self.id}")
            pathlib.Path(path).write_bytes(self.content)
            place = {"path": path, "temporary": True}
        size = len(self.content)
        notify("downloaded", transferId=self.id, size=size, sha256=digest, **place)
        result = {"transferId": self.id, **place, "size": size, "sha256": digest}
        if target and "inline" in target:
            result["data"] = base64.b64encode(self.content).decode()
        if self.method == "object/get":
            result["metadata"] = state.objects[self.params["ref"]][1]
        self.reply(result)


def die(words):
    for number in range(30):
        print(f"line {number}", file=sys.stderr)
    print(words, file=sys.stderr, flush=True)
    os._exit(7)


def cancel(transfer):
    if transfer.state in ("queued", "running", "paused"):
        error = {"code": -32800, "message": "cancelled by the host",
                 "data": {"code": "ERR_CANCELLED", "retryable": False}}  # fmt: skip
        transfer.settle("cancelled", error)


def manage(verb, transfer):
    if verb == "cancel":
        cancel(transfer)
    elif verb == "pause" and transfer.state == "running":
        transfer.state = "paused"
        notify("paused", **transfer.tags, loaded=0)
    elif verb == "resume" and transfer.state == "paused":
        transfer.state = "running"
        notify("resumed", **transfer.tags, loaded=0)
        return {"state": "running"}, transfer.finish
    elif verb == "retry" and transfer.state == "failed":
        transfer.state, transfer.attempt = "queued", transfer.attempt + 1
        return {"state": "queued"}, transfer.run
    return {"state": transfer.state}, None


def stream(verb, transfer, p):
    if verb == "write":
        if transfer.params.get("channel") == "full":
            raise Refusal(1306, "ERR_DISK_FULL", "the disk is full")
        chunk = base64.b64decode(p["data"])
        assert 0 < len(chunk) <= 256 * 1024, len(chunk)
        transfer.chunks += chunk
        return {}, None
    if verb == "close":
        transfer.content = bytes(transfer.chunks)
        size = transfer.params["stream"].get("size", len(transfer.content))
        if size != len(transfer.content):
            error = Refusal(1104, "ERR_FILE_CHANGED", "the stream has another size", phase="upload")
            transfer.settle("failure", error.error)
            return {}, None
        return {}, transfer.finish
    start, transfer.read = transfer.read, transfer.read + p["maxBytes"]
    chunk = transfer.content[start : transfer.read]
    eof = transfer.read >= len(transfer.content)
    data = base64.b64encode(chunk).decode()
    return {"data": data, "eof": eof}, transfer.finish if eof else None


def answer(method, p):
    """The result of a request, and what is to be done after it was sent."""
    room, _, verb = method.partition("/")
    if room == "transfer" and verb in ("pause", "resume", "retry", "cancel"):
        return manage(verb, state.of(p))
    if room == "stream":
        return stream(verb, state.of(p), p)
    if room == "batch":
        return batch(verb, p)
    return state.answer(method, p), None


def batch(verb, p):
    if verb == "create":
        begin = functools.partial(Transfer, "file/send", None)
        state.batches.setdefault(p["batchId"], Batch(p, begin, notify))
        return {"batchId": p["batchId"]}, None
    if p["batchId"] not in state.batches:
        raise Refusal(1006, "ERR_UNKNOWN_ID", "no such batch", field="batchId")
    if verb == "clear":
        del state.batches[p["batchId"]]
        return {}, None
    return state.batches[p["batchId"]].answer(verb, p)


def initialize(p):
    version = int(WORDS.get("version", 1))
    if version not in p["protocolVersions"]:
        raise Refusal(1002, "ERR_UNSUPPORTED", "no common version", supported=[version])
    print("fake: hello", file=sys.stderr, flush=True)
    return {"serverInfo": {"name": "ferry", "version": "9.9.9"},
            "protocolVersion": int(WORDS.get("answer-version", 1)), "instanceId": "i-1",
            "capabilities": {"framings": ["ndjson"], "kinds": ["local"], "sources": ["path"],
                             "targets": ["path"]},
            "remotes": [{"name": "local", "kind": "local", "capabilities": ["objects", "files"]}],
            "default": "local",
            "limits": {"maxLineBytes": 1 << 24, "maxOutLineBytes": 1 << 24,
                       "maxInFlight": 1000}}  # fmt: skip


def check(method, params):
    if method not in METHODS:
        raise Refusal(-32601, "ERR_UNSUPPORTED", f"unknown method {method}")
    known = {p.get("name") or p["$ref"].rsplit("/", 1)[1] for p in METHODS[method]["params"]}
    if params.keys() - known and method != "initialize":
        raise Refusal(-32602, "ERR_INVALID_ARGUMENT", f"unknown {sorted(params.keys() - known)}")


def serve(id, method, params):
    check(method, params)
    if WORDS.get("overload-once") == method:
        del WORDS["overload-once"]
        raise Refusal(1702, "ERR_OVERLOADED", "too much to do", True, retryAfterMs=1)
    if WORDS.get("die-at") == method:
        die("the disk is on fire")
    if WORDS.get("kill-at") == method:
        os.kill(os.getpid(), signal.SIGSEGV)
    if WORDS.get("mute-at") == method:
        state.calls[id] = None
        return None
    if WORDS.get("line-at") == method:  # one line of so many bytes, as the answer
        return out({"id": id, "result": {"text": "x\u2028y" * (int(WORDS["bytes"]) // 8)}})
    if WORDS.get("garbage-at") == method:
        return sys.stdout.write("hello from a print that slipped in\n") and sys.stdout.flush()
    if method == "shutdown":
        if "ignore-shutdown" in WORDS:
            return None
        for transfer in list(state.transfers.values()):
            cancel(transfer)
        state.ended = True
        return out({"id": id, "result": dict.fromkeys(
            ["completed", "failed", "cancelled", "resumable"], 0)})  # fmt: skip
    if method == "initialize":
        return out({"id": id, "result": initialize(params)})
    if method in ("file/send", "object/put", "object/get", "file/download"):
        if params["transferId"] in state.transfers:
            return state.transfers[params["transferId"]].join(id, params)
        transfer = Transfer(method, id, params)
        state.calls[id] = transfer
        try:
            return transfer.run()
        except Refusal as refusal:
            return transfer.settle("error", refusal.error)
    if WORDS.get("lose-subscriptions-at") == method:
        state.lose()
    result, then = answer(method, params)
    out({"id": id, "result": result})
    return then() if then else None


def main():
    if "ignore-term" in WORDS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "stdout-closed" in WORDS:
        os.close(1)
    for line in sys.stdin.buffer:
        message = json.loads(line)
        method, params, id = message["method"], message.get("params", {}), message.get("id")
        if method == "$/cancelRequest":
            if isinstance(state.calls.get(params["id"]), Transfer):
                cancel(state.calls[params["id"]])
            elif params["id"] in state.calls:
                del state.calls[params["id"]]
                error = Refusal(-32800, "ERR_CANCELLED", "cancelled").error
                out({"id": params["id"], "error": error})
            continue
        if method == "exit":
            if not WORDS.keys() & {"ignore-eof", "ignore-shutdown"}:
                sys.exit(0 if state.ended else 1)
            continue
        try:
            serve(id, method, params)
        except Refusal as refusal:
            out({"id": id, "error": refusal.error})
    while "ignore-eof" in WORDS:
        signal.pause()


assert sys.argv[1] == "serve", sys.argv
sequence = itertools.count(1)
state = Remote(notify, DOCUMENT, WORDS)
main()
