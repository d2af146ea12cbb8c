"""Batches of the fake sidecar: their files are sends to one channel, with its faults."""

from fake_remote import Refusal, page

LIVE = ("queued", "running", "paused")


class Batch:
    """One batch; `begin` makes the transfer of a file, `notify` tells the host."""

    def __init__(self, params, begin, notify):
        self.settings, self.id, self.begin, self.notify = params, params["batchId"], begin, notify
        self.files, self.sent, self.made = {}, {}, 0

    def tags(self, file_id):
        return {"batchId": self.id, "fileId": file_id}

    def known(self):
        """What a host may ask of each file, in the order they were added."""
        for file_id, transfer in self.files.items():
            attachment, error = {}, {}
            if transfer.state == "succeeded":
                attachment = {"attachment": self.attachment(transfer)}
            elif transfer.error:
                error = {"error": transfer.error}
            told = {"messageId": self.sent[file_id]} if file_id in self.sent else {}
            yield {"fileId": file_id, "transferId": transfer.id, "state": transfer.state,
                   "loaded": 0, "total": None, "sent": bool(told),
                   **told, **attachment, **error}  # fmt: skip

    def attachment(self, transfer):
        name = transfer.file["name"]
        return {"name": name, "mimeType": "text/plain", "extension": name.rpartition(".")[2],
                "size": transfer.file["size"], "url": transfer.file["url"]}  # fmt: skip

    def drained(self):
        """Tells that nothing is under way, where that is so."""
        if any(transfer.state in LIVE for transfer in self.files.values()):
            return
        entries = list(self.known())
        lists = {"successful": "succeeded", "rejected": "rejected", "failed": "failed"}
        of = {name: [e for e in entries if e["state"] == state] for name, state in lists.items()}
        parts = {
            name: [{k: e[k] for k in ("fileId", "attachment", "error") if k in e} for e in group]
            for name, group in of.items()
        }
        counts = {name: len(group) for name, group in of.items()}
        self.notify("complete", batchId=self.id, counts=counts, **parts)

    def answer(self, verb, p):
        """The result of a request, and what is to be done after it was sent."""
        if verb == "upload":
            return {"accepted": len(p["items"])}, lambda: self.add(p["items"])
        if verb == "remove":
            gone = self.files.pop(p["fileId"], None)
            if gone is not None and gone.state in LIVE:
                self.drained()
            return {"removed": gone is not None}, None
        if verb == "retry":
            chosen = [p["fileId"]] if "fileId" in p else list(self.files)
            again = [self.files[i] for i in chosen if self.files[i].state == "failed"]
            for transfer in again:
                transfer.state, transfer.attempt = "queued", transfer.attempt + 1
            return {"retried": len(again)}, lambda: self.run(again)
        if verb == "configure":
            return {}, None
        if verb == "send":
            messages = self.send(p)
            return {"messages": messages, "count": len(messages)}, None
        entries, next = page(list(self.known()), p, 100)
        if verb == "attachments":
            names = ("fileId", "sent", "attachment")
            ready = [entry for entry in entries if "attachment" in entry]
            shown = [{"type": "file", **{name: e[name] for name in names}} for e in ready]
            return {"attachments": shown, "next": next}, None
        states = [transfer.state for transfer in self.files.values()]
        names = (*LIVE, "succeeded", "failed", "rejected", "interrupted")
        counts = {state: states.count(state) for state in names}
        status = "inProgress" if any(counts[state] for state in LIVE) else "idle"
        return {"status": status, "counts": counts, "files": entries, "next": next}, None

    def add(self, items):
        begun = []
        for item in items:
            file_id = item["fileId"]
            if file_id in self.files and self.files[file_id].state != "failed":
                error = Refusal(1103, "ERR_INVALID_FILE_OBJECT", "the id is taken").error
                self.notify("error", duplicate=True, error=error, **self.tags(file_id))
                continue
            self.made += 1
            source = {key: item[key] for key in ("path", "data", "text", "name") if key in item}
            transfer = self.begin(
                {"transferId": f"{self.id}-{self.made}", "channel": self.settings["channel"],
                 **source}, self, file_id)  # fmt: skip
            self.files[file_id] = transfer
            begun.append(transfer)
        self.run(begun)

    def run(self, transfers):
        for transfer in transfers:
            for left in range(self.settings.get("retries", 0), -1, -1):
                try:
                    transfer.run()
                except Refusal as refusal:
                    transfer.settle("error", refusal.error)
                if transfer.state != "failed" or not left:
                    break
                transfer.state, transfer.attempt = "queued", transfer.attempt + 1
        self.drained()

    def send(self, p):
        ready = [e for e in self.known() if e["state"] == "succeeded" and not e["sent"]]
        if not ready:
            raise Refusal(-32602, "ERR_INVALID_ARGUMENT", "there is nothing to send: upload first")
        self.sent.update((e["fileId"], e["transferId"]) for e in ready)
        return [{"id": e["transferId"], "type": "file", "fileIds": [e["fileId"]]} for e in ready]
