// Never run: `make check` compiles it, and so proves that the declarations say what a host may do.

import { Ferry, FerryError, ProcessDied, TransferFailed } from "ferry-sidecar";
import type { protocol, TransferEvent } from "ferry-sidecar";

export async function use(): Promise<void> {
  const f = await Ferry.start({
    config: { remotes: { local: { kind: "local", root: "/srv" } } },
    bin: "/usr/bin/ferry",
    env: { HOME: "/home/me" },
    optOut: ["progress"],
    closeGrace: { drain: 1000 },
  });
  const handle = f.send("photo.jpg", { channel: "trip", message: { text: "look" }, ttl: 1 });
  const remove: () => void = handle.on("progress", ({ loaded, percent }) => {
    const share: number | null = percent;
    console(loaded, share);
  });
  remove();
  handle.on("rejected", ({ error }) => console(error.code, error.resumable));
  f.on("message", (message) => console(message.channel, message.file?.name));
  for await (const event of handle) {
    if (event.name === "uploaded") console(event.file?.id, event.sha256);
    if (event.name === "cancelled") console(event.error.cause, event.loaded);
  }
  const sent = await handle;
  const timetoken: string = sent.timetoken;
  const inline = await f.download(sent, { inline: true, maxSize: 10 });
  const bytes: Uint8Array | undefined = inline.data;
  const object = await f.get("a/b", { range: { offset: 1 } });
  const type: string | undefined = object.metadata.contentType;
  for await (const file of f.files("trip")) console(file.name, file.size);
  const page = await f.list("a", { recursive: true });
  const next: string | null = page.next;
  for await (const message of await f.subscribe("trip", { since: timetoken })) {
    console(message.timetoken, message.file?.url);
  }
  const batch = await f.batch({ channel: "trip", concurrency: 4, retries: 2 });
  const added = batch.add("photo.jpg", {
    fileId: "1",
    contentType: "image/jpeg",
    on: { progress: ({ percent }) => console(percent), complete: ({ failed }) => console(failed) },
  });
  batch.addAll([new Uint8Array(1), { source: { text: "a note" }, name: "note.txt" }]);
  batch.on("complete", ({ rejected }) => console(rejected[0]?.error.resumable));
  for await (const event of batch) {
    if (event.name === "complete") console(event.counts.failed);
    else console(event.transferId, event.fileId);
  }
  const mime: string = (await added).mimeType;
  const { messages: [first], count } = await batch.send({ caption: "look" });
  const counts = (await batch.entries({ limit: 1 })).counts;
  console(mime, first?.fileIds, count, counts.interrupted, await batch.retryFailed());
  await batch[Symbol.asyncDispose]();
  const stats: protocol.ServerStatsResult = await f.request("server/stats");
  await f.request("method/ofALaterVersion", { any: "thing" });
  await f[Symbol.asyncDispose]();
  console(bytes, type, next, stats);
}

export function judge(error: unknown, event: TransferEvent): boolean {
  if (error instanceof ProcessDied) return error.signal === "SIGKILL";
  if (error instanceof TransferFailed) return error.retryable && error.data.fileUploaded === true;
  return error instanceof FerryError && error.code === "ERR_NETWORK" && event.seq > 0;
}

export function wrong(f: Ferry): void {
  // @ts-expect-error: a channel is needed
  f.send("photo.jpg", {});
  // @ts-expect-error: there is no such parameter
  f.send("photo.jpg", { channel: "c", custommessageType: "x" });
  // @ts-expect-error: there is no such event
  f.put("a", "b").on("uplaoded", () => {});
  // @ts-expect-error: progress has no file
  f.put("a", "b").on("progress", (event) => event.file);
  // @ts-expect-error: a batch takes no streams
  f.batch({ prefix: "p" }).then((batch) => batch.add({ stream: [new Uint8Array(1)] }));
  // @ts-expect-error: the mode of a shutdown
  f.request("shutdown", { mode: "later" } as protocol.ShutdownParams);
}

declare function console(...values: unknown[]): void;
