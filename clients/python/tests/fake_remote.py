"""The remote of the fake sidecar: an honest one, in memory."""

NOW = "2026-01-02T03:04:05.678Z"


class Refusal(Exception):
    def __init__(self, number, code, message, retryable=False, **data):
        data = {"code": code, "retryable": retryable, **data}
        self.error = {"code": number, "message": message, "data": data}


def page(entries, p, size):
    start = int(p.get("next") or 0)
    end = start + p.get("limit", size)
    return entries[start:end], str(end) if end < len(entries) else None


class Remote:
    """Files, objects and messages; `notify` tells subscribers."""

    token = 17_000_000_000_000_000
    ended = False

    def __init__(self, notify, document, words):
        self.words = words
        self.notify, self.document = notify, document
        self.files, self.objects, self.messages = {}, {}, []
        self.transfers, self.calls, self.channels, self.batches = {}, {}, set(), {}
        self.concurrency = 4

    def lose(self):
        """Ends all subscriptions, as when the remote cannot be read any more."""
        self.channels.clear()
        error = Refusal(1504, "ERR_SERVER", "the index is held", True, phase="subscribe").error
        self.notify("status", remote="local", state="disconnected", error=error)

    def announce(self, channel, file, params):
        self.token += 1
        message = {
            "remote": "local",
            "channel": channel,
            "timetoken": str(self.token),
            "type": "file",
            "file": file,
            "publisher": "fake",
        }
        message.update({k: params[k] for k in ("message", "meta") if k in params})
        self.messages.append(message)
        if channel in self.channels:
            self.notify("message", **message)
        return str(self.token)

    def of(self, params):
        """The transfer that a request names."""
        transfer = self.transfers.get(params["transferId"])
        if transfer is None:
            raise Refusal(1006, "ERR_UNKNOWN_ID", "no such transfer", field="transferId")
        return transfer

    def snapshot(self, t):
        size = len(t.content or b"")
        result = t.result if t.state == "succeeded" else {}
        return {
            "transferId": t.id,
            "direction": t.direction,
            "remote": "local",
            "loaded": size if t.state == "succeeded" else 0,
            "state": t.state,
            "total": None if t.content is None else size,
            "percent": None,
            "attempt": t.attempt,
            "resumable": False,
            **({"error": t.error} if t.error and t.state != "succeeded" else {}),
            **({"ref": t.params["ref"]} if "ref" in t.params else {}),
            **({"metadata": result["metadata"]} if "metadata" in result else {}),
            **({"file": t.file} if t.method == "file/send" and result else {}),
        }

    def answer(self, method, p):
        if method in ("ping", "transfer/forget"):
            if method == "transfer/forget":
                del self.transfers[self.of(p).id]
            return {}
        if method == "transfer/get":
            return self.snapshot(self.of(p))
        if method == "transfer/list":
            ids, next = page(list(self.transfers), p, 100)
            return {
                "transfers": [self.answer("transfer/get", {"transferId": i}) for i in ids],
                "next": next,
            }
        if method == "file/publish":
            return {"timetoken": self.announce(p["channel"], {"id": p["id"], "name": p["name"]}, p)}
        if method == "file/list":
            files = [
                {"id": id, "name": f[2], "size": len(f[1]), "created": NOW}
                for id, f in self.files.items()
                if f[0] == p["channel"]
            ]
            files, next = page(files, p, 100)
            return {"files": files, "next": next, "count": len(files)}
        if method in ("file/url", "file/delete"):
            if p["id"] not in self.files:
                raise Refusal(1301, "ERR_NOT_FOUND", f"no file {p['id']}")
            if method == "file/url":
                return {"url": f"file:///fake/{p['id']}"}
            del self.files[p["id"]]
            return {}
        if method == "object/list":
            items = [
                {"ref": ref, "name": ref.split("/")[-1], "size": len(self.objects[ref][0])}
                for ref in sorted(self.objects)
                if ref.startswith(p.get("ref", ""))
            ]
            items, next = page(items, p, 100)
            return {"items": items, "prefixes": [], "next": next}
        if method == "object/resolve":
            path = "/".join(filter(None, [p["ref"], p.get("child")]))
            parent, _, name = path.rpartition("/")
            return {
                "ref": path,
                "fullPath": path,
                "bucket": "local",
                "name": name,
                "root": "",
                "parent": parent,
            }
        if method.startswith("object/"):
            if p["ref"] not in self.objects:
                raise Refusal(1301, "ERR_NOT_FOUND", f"no object {p['ref']}")
            if method == "object/delete":
                del self.objects[p["ref"]]
                return {}
            if method == "object/url":
                return {"url": "file:///fake/" + p["ref"]}
            metadata = self.objects[p["ref"]][1]
            metadata.update({k: v for k, v in p.get("metadata", {}).items() if v is not None})
            return {"metadata": metadata}
        return self.channels_answer(method, p)

    def channels_answer(self, method, p):
        if method == "channel/subscribe":
            if not p["channels"]:
                raise Refusal(-32602, "ERR_INVALID_ARGUMENT", "/channels: name one at least")
            if "lose-before-subscribe" in self.words:
                self.lose()
            if not self.channels:
                self.notify("status", remote="local", state="connected")
            if "lose-at-subscribe" in self.words:
                self.lose()
            since, self.channels = p.get("since"), self.channels | set(p["channels"])
            token = str(self.token)
            for m in self.messages:
                if since and int(m["timetoken"]) > int(since) and m["channel"] in p["channels"]:
                    self.notify("message", **m)
            return {"timetoken": token}
        if method == "channel/unsubscribe":
            self.channels -= set(p.get("channels") or self.channels)
            return {}
        if method == "channel/history":
            start = int(p.get("start", 1 << 62))
            kept = [
                m
                for m in self.messages
                if m["channel"] == p["channel"] and int(m["timetoken"]) < start
            ]
            shown = kept[-p.get("limit", 100) :]
            more = {"more": {"start": shown[0]["timetoken"]}} if len(kept) > len(shown) else {}
            return {"messages": shown, **more}
        if method in ("message/get", "message/delete"):
            token = p["messageId"].rpartition(":")[2]
            found = [m for m in self.messages if m["timetoken"] == token]
            if not found:
                raise Refusal(1301, "ERR_NOT_FOUND", f"no message {p['messageId']}")
            if method == "message/get":
                return found[0]
            self.messages.remove(found[0])
            return {}
        if method in ("limits/get", "limits/set"):
            self.concurrency = p.get("concurrency", self.concurrency)
            return {
                "maxFileSize": None,
                "maxFileCount": None,
                "allowedTypes": [],
                "blockedTypes": [],
                "fileTransferEnabled": True,
                "concurrency": self.concurrency,
                "uploadRate": p.get("uploadRate"),
                "downloadRate": None,
            }
        if method == "server/stats":
            return {
                "uptimeMs": 1,
                "residentBytes": 1,
                "remotes": {},
                "requests": {"received": 1, "inFlight": 1, "refused": 0},
                "output": {"queuedBytes": 0, "droppedProgress": 0},
                "transfers": dict.fromkeys(
                    ["queued", "running", "paused", "succeeded", "failed", "rejected", "cancelled"],
                    0,
                ),
            }
        if method == "rpc.discover":
            return self.document
        raise Refusal(-32601, "ERR_UNSUPPORTED", f"no method {method}")
