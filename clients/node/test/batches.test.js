/** Batches: who hears what and when, what goes in one call, signals, and what is found again. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { ConnectionClosed, ProcessDied, TransferCancelled, TransferRejected } from "ferry-sidecar";
import { Recorder, collect, fakeOptions, realOptions, start, until } from "./support.js";

const text = (name) => [{ text: "0123456789" }, { fileId: name, name: `${name}.txt` }];

test("listeners of a call come before those of the batch", async (t) => {
  const f = await start(t, realOptions(t));
  const batch = await f.batch({ channel: "c" });
  const heard = [];
  const hear = (who) => (event) => heard.push(`${who} ${event.fileId ?? event.name}`);
  const stop = batch.on("uploaded", hear("all"));
  batch.on("complete", hear("all"));
  const on = { uploaded: hear("call"), complete: hear("call") };
  batch.addAll(["none.txt"], { on });
  const one = batch.add({ text: "x" }, { fileId: "1", name: "a.txt", on });
  one.on("uploaded", hear("file"));
  await batch.complete();
  await f.ping();
  assert.deepEqual(heard, ["file 1", "call 1", "all 1", "call complete", "all complete"]);

  stop();
  batch.off("complete");
  await batch.add({ text: "x" }, { name: "b.txt" });
  await batch.complete();
  await f.ping();
  assert.equal(heard.length, 6);
  assert.equal(heard[5], "call complete");
  assert.throws(() => batch.on("upladed", () => {}), /there are started, progress, .*, complete/);
  assert.throws(() => batch.add({ text: "x" }, { on: { error: () => {} } }), RangeError);
});

test("a batch is iterated until it is complete, and again after a retry", async (t) => {
  const f = await start(t, fakeOptions(t));
  const batch = await f.batch({ channel: "fail-once" });
  assert.deepEqual(await collect(batch), { items: [] });
  const [one, two] = ["1", "2"].map((name) => batch.add(...text(name)));
  const own = collect(one);
  const { items } = await collect(batch);
  const told = ["started", "progress", "failure"];
  assert.deepEqual(items.map(({ name }) => name), [...told, ...told, "complete"]);
  assert.deepEqual(items.map(({ fileId }) => fileId), ["1", "1", "1", "2", "2", "2", undefined]);
  assert.deepEqual((await own).items.map(({ name }) => name), told);
  assert.equal((await own).error, items[2].error);
  assert.equal(items[6].failed[0].error.code, "ERR_NETWORK");

  assert.equal(await two.retry(), true);
  for await (const event of batch) if (event.name === "uploaded") break;
  assert.equal((await two).name, "2.txt");
  assert.equal(two.attachment.name, "2.txt");
  const done = await batch.complete();
  assert.deepEqual(done.counts, { successful: 1, rejected: 0, failed: 1 });
  assert.equal(await batch.retryFailed(), 1);
  assert.equal((await one).name, "1.txt");
});

test("what is added together goes in one call, as far as it fits a line", async (t) => {
  const recorder = new Recorder();
  const f = await start(t, fakeOptions(t, "", recorder));
  const batch = await f.batch({ channel: "c" });
  const sizes = () => recorder.of("batch/upload").map(({ items }) => items.length);
  for (let n = 0; n < 1001; n++) batch.add(...text(`${n}`));
  await batch.complete();
  assert.deepEqual(sizes(), [1000, 1]);
  const large = [1 << 20, 8 << 20, 5 << 20, 1].map((size) => {
    return batch.add(Buffer.alloc(size), { name: `${size}` });
  });
  await Promise.all(large);
  assert.deepEqual(sizes().slice(2), [1, 1, 2]);
  assert.throws(() => batch.add(Buffer.alloc((8 << 20) + 1), { name: "n" }), /at most 8 MiB/);
  assert.throws(() => batch.add([Buffer.alloc(1)], { name: "n" }), TypeError);
});

test("what is added together has each its own options", async (t) => {
  const recorder = new Recorder();
  const f = await start(t, fakeOptions(t, "", recorder));
  const batch = await f.batch({ channel: "c" });
  const heard = [];
  const hear = (who) => ({ uploaded: ({ fileId }) => heard.push(`${who} ${fileId}`) });
  const note = { source: { text: "a note" }, name: "note.txt", fileId: "n", on: hear("own") };
  const bytes = { source: Buffer.from("x"), name: "x.bin", fileId: "x", digest: "none" };
  await Promise.all(batch.addAll([note, bytes], { on: hear("all") }));
  assert.deepEqual(recorder.of("batch/upload")[0].items, [
    { text: "a note", fileId: "n", name: "note.txt" },
    { data: "eA==", fileId: "x", name: "x.bin", digest: "none" },
  ]);
  await f.ping();
  assert.deepEqual(heard, ["own n", "all x"]);
});

test("a file is tried again unasked", async (t) => {
  const recorder = new Recorder();
  const f = await start(t, fakeOptions(t, "", recorder));
  const batch = await f.batch({ channel: "fail-once", retries: 1 });
  const heard = [];
  for (const name of ["started", "failure", "uploaded", "complete"]) {
    batch.on(name, () => heard.push(name));
  }
  const file = batch.add(...text("1"));
  const { counts } = await batch.complete();
  assert.deepEqual(counts, { successful: 1, rejected: 0, failed: 0 });
  assert.equal((await file).name, "1.txt");
  assert.equal(file.snapshot.attempt, 2);
  assert.deepEqual(heard, ["started", "failure", "started", "uploaded", "complete"]);
  assert.equal(recorder.of("batch/create")[0].retries, 1);
  assert.deepEqual(recorder.of("batch/retry"), []);
});

test("an AbortSignal removes its file, whatever it does", async (t) => {
  const recorder = new Recorder();
  const f = await start(t, fakeOptions(t, "", recorder));
  const batch = await f.batch({ channel: "hold" });
  const abort = new AbortController();
  const reason = new Error("the user left");
  const [source, options] = text("1");
  const moving = batch.add(source, { ...options, signal: abort.signal });
  await until(moving, "progress");
  abort.abort(reason);
  await assert.rejects(moving, (error) => {
    return error instanceof TransferCancelled && error.cause === reason;
  });
  assert.equal(moving.snapshot.state, "cancelled");
  const late = batch.add(source, { ...options, fileId: "2", signal: abort.signal });
  await assert.rejects(late, { cause: reason });
  assert.deepEqual(recorder.of("batch/remove").map(({ fileId }) => fileId), ["1", "2"]);
  await batch.complete();
  assert.equal(batch.files.size, 0);
});

test("a batch's file that is cancelled as a transfer leaves its batch", async (t) => {
  const f = await start(t, fakeOptions(t));
  const batch = await f.batch({ channel: "hold" });
  const moving = batch.add(...text("1"));
  await until(moving, "progress");
  assert.equal(await f.transferCancel(moving.snapshot.transferId), "cancelled");
  await assert.rejects(moving, TransferCancelled);
  await batch.complete();
  assert.equal(batch.files.size, 0);
});

test("an id is used once, and again after its removal", async (t) => {
  const f = await start(t, fakeOptions(t));
  const batch = await f.batch({ channel: "hold", batchId: "b" });
  await assert.rejects(f.batch({ channel: "hold", batchId: "b" }), /open here already/);
  const first = batch.add(...text("1"));
  assert.throws(() => batch.add(...text("1")), /remove it first/);
  const removal = first.remove();
  assert.throws(() => batch.add(...text("1")), /wait for that/);
  assert.equal(await removal, true);
  await until(batch.add(...text("1")), "progress");
});

test("clearing and closing end what waits, and the next one begins anew", async (t) => {
  const f = await start(t, fakeOptions(t));
  const batch = await f.batch({ channel: "hold", batchId: "b" });
  const file = batch.add(...text("1"));
  const told = collect(batch);
  await until(file, "progress");
  const waiting = assert.rejects(batch.complete(), TransferCancelled);
  await batch.clear();
  await waiting;
  await assert.rejects(file, /the batch was cleared/);
  assert.equal((await told).error, undefined);
  assert.throws(() => batch.add(...text("2")), TransferCancelled);

  const next = await f.batch({ channel: "hold", batchId: "b" });
  assert.deepEqual((await next.entries()).files, []);
  const left = next.add(...text("1"));
  await until(left, "progress");
  await next[Symbol.asyncDispose]();
  await assert.rejects(left, ConnectionClosed);
  assert.throws(() => next.add(...text("2")), /join it again/);
});

test("what was added before the client closes is uploaded", async (t) => {
  const f = await start(t, fakeOptions(t));
  const batch = await f.batch({ channel: "c" });
  const file = batch.add(...text("1"));
  await f.close();
  assert.equal((await file).name, "1.txt");
});

test("a batch whose process dies throws in its loop", async (t) => {
  const f = await start(t, fakeOptions(t, "die-at=ping"));
  const batch = await f.batch({ channel: "hold" });
  const file = batch.add(...text("1"));
  const told = collect(batch);
  await until(file, "progress");
  await assert.rejects(f.ping(), ProcessDied);
  assert.ok((await told).error instanceof ProcessDied);
  assert.ok((await collect(file)).error instanceof ProcessDied);
  assert.throws(() => batch.add(...text("2")), ProcessDied);
});

test("what a process left is found again, and goes on", async (t) => {
  const options = realOptions(t);
  writeFileSync(join(options.cwd, "large.bin"), Buffer.alloc(4 << 20));
  const first = await start(t, options);
  await first.setLimits({ uploadRate: 1 << 20 });
  const left = await first.batch({ channel: "room", batchId: "b" });
  const moving = left.add("large.bin", { fileId: "1" });
  await until(moving, "started");
  await first.close("now");
  await assert.rejects(moving);

  const second = await start(t, options);
  const batch = await second.batch({ channel: "room", batchId: "b" });
  const { files, status, counts } = await batch.entries();
  assert.deepEqual([files[0].state, status, counts.interrupted], ["interrupted", "idle", 1]);
  assert.deepEqual((await batch.complete()).counts, { successful: 0, rejected: 0, failed: 0 });
  assert.equal(await batch.retryFailed(), 1);
  assert.equal((await batch.complete()).counts.successful, 1);
  assert.equal((await batch.files.get("1")).size, 4 << 20);
  const { items } = await collect(batch.attachments({ type: "file" }));
  assert.equal(items[0].attachment.name, "large.bin");
});

test("a batch of objects, configured while it runs", async (t) => {
  const f = await start(t, realOptions(t));
  const batch = await f.batch({ prefix: "p", retries: 1 });
  await batch.configure({ concurrency: 3 });
  batch.addAll([{ text: "x" }, "none.txt"]);
  const named = batch.add({ text: "y" }, { name: "b.txt", ref: "deep/b.txt" });
  const { rejected } = await batch.complete();
  assert.equal(rejected.length, 2);
  assert.ok(rejected.every(({ error }) => error instanceof TransferRejected));
  assert.equal((await named).size, 1);
  assert.equal((await f.metadata("p/deep/b.txt")).size, 1);
  await assert.rejects(batch.send(), { code: "ERR_UNSUPPORTED" });
});
