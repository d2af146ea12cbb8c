/** Handles: listeners, abort signals, retries, detached and attached transfers, memory. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { TransferCancelled, TransferFailed } from "ferry-sidecar";
import { Recorder, collect, fakeOptions, memoryHeld, start, until } from "./support.js";

const send = (f, channel, options) =>
  f.send(Buffer.from("0123456789"), { channel, name: "n.txt", ...options });

test("listeners are removed singly, by event, and all", async (t) => {
  const f = await start(t, fakeOptions(t));
  const handle = send(f, "hold");
  const heard = [];
  const first = handle.on("progress", () => heard.push("first"));
  const second = () => heard.push("second");
  handle.on("progress", second);
  for (const name of ["paused", "resumed", "uploaded"]) handle.on(name, () => heard.push(name));
  await until(handle, "progress");
  await f.ping();
  assert.deepEqual(heard, ["first", "second"]);
  first();
  first();
  await handle.pause();
  handle.off("resumed");
  await handle.resume();
  await handle;
  await f.ping();
  assert.deepEqual(heard, ["first", "second", "paused", "second", "uploaded"]);

  const late = await new Promise((resolve) => handle.on("uploaded", resolve));
  assert.equal(late.file.name, "n.txt");
  const other = send(f, "c");
  other.on("started", second);
  other.on("uploaded", () => heard.push("never"));
  other.off("started", second);
  other.off();
  await other;
  await f.ping();
  assert.equal(heard.length, 5);
  assert.throws(() => handle.on("upladed", () => {}), /there are started, progress/);
  assert.throws(() => handle.on("error", () => {}), RangeError);
  assert.throws(() => handle.on("started"), TypeError);
});

test("listeners of the client hear all transfers; error is rejected there too", async (t) => {
  const f = await start(t, fakeOptions(t));
  const heard = [];
  const stop = f.on("uploaded", ({ transferId }) => heard.push(transferId));
  f.on("rejected", ({ error }) => heard.push(error.code));
  await send(f, "c", { transferId: "one" });
  await send(f, "c", { transferId: "two" });
  await send(f, "reject").catch(() => {});
  stop();
  await send(f, "c");
  f.off();
  await send(f, "reject").catch(() => {});
  assert.deepEqual(heard, ["one", "two", "ERR_FILE_TYPE_BLOCKED"]);
});

test("listeners are dropped at the end and kept over a failure", async (t) => {
  const f = await start(t, fakeOptions(t));
  const handle = send(f, "fail-once");
  const heard = [];
  for (const name of ["started", "failure", "uploaded"]) handle.on(name, (e) => heard.push(e.name));
  await assert.rejects(handle, TransferFailed);
  await handle.retry();
  await handle;
  assert.deepEqual(heard, ["started", "failure", "started", "uploaded"]);
});

test("a retry made elsewhere is heard by a failed handle the host still holds", async (t) => {
  const f = await start(t, fakeOptions(t));
  const handles = [send(f, "fail-once", { transferId: "t" }), f.attach("t"), send(f, "fail-once")];
  await Promise.allSettled(handles);
  const heard = handles.map((handle) => {
    const names = [];
    handle.off();
    handle.on("uploaded", (event) => names.push(event.name));
    return names;
  });
  assert.equal(await f.transferRetry("t"), "queued");
  await f.ping();
  assert.deepEqual(heard, [["uploaded"], ["uploaded"], []]);
});

test("a loop that is left early leaves the transfer alone", async (t) => {
  const f = await start(t, fakeOptions(t));
  const handle = send(f, "hold");
  for await (const event of handle) {
    if (event.name === "progress") break;
  }
  await handle.pause();
  await handle.resume();
  assert.equal((await handle).size, 10);
});

test("the reason of an AbortSignal is the cause", async (t) => {
  const recorder = new Recorder();
  const f = await start(t, fakeOptions(t, "mute-at=server/stats", recorder));
  const reason = new Error("the user left");
  const abort = new AbortController();
  const { signal } = abort;
  const handle = send(f, "hold", { signal });
  const detached = send(f, "hold", { signal, detach: true });
  const asked = f.request("server/stats", {}, { signal });
  const transfers = [handle, detached, asked].map((each) =>
    assert.rejects(each, (error) => error instanceof TransferCancelled && error.cause === reason),
  );
  await until(handle, "progress");
  await until(detached, "progress");
  abort.abort(reason);
  await Promise.all(transfers);
  assert.equal(detached.snapshot.state, "cancelled");
  assert.equal(recorder.of("$/cancelRequest").length, 2);
  assert.equal(recorder.of("transfer/cancel").length, 1);

  await assert.rejects(f.request("ping", {}, { signal }), { cause: reason });
  await assert.rejects(send(f, "hold", { signal }), { cause: reason });
  await assert.rejects(send(f, "hold", { signal, detach: true }), { cause: reason });
});

test("a signal that is not aborted keeps no listener", async (t) => {
  const f = await start(t, fakeOptions(t));
  let listeners = 0;
  const signal = {
    aborted: false,
    addEventListener: () => (listeners += 1),
    removeEventListener: () => (listeners -= 1),
  };
  await send(f, "c", { signal });
  await send(f, "reject", { signal }).catch(() => {});
  await f.request("ping", {}, { signal });
  await f.ping();
  assert.equal(listeners, 0);
});

for (const [channel, name, error] of [
  ["c", "uploaded"],
  ["reject", "rejected", "TransferRejected"],
  ["fail-once", "failure", "TransferFailed"],
  ["hold", "cancelled", "TransferCancelled"],
]) {
  test(`attaching to, and joining, what has ended as ${name}`, async (t) => {
    const f = await start(t, fakeOptions(t));
    const first = send(f, channel, { transferId: "t" });
    if (channel === "hold") await first.cancel();
    await Promise.allSettled([first]);
    const handle = f.attach("t");
    assert.equal((await until(handle, name)).name, name);
    const again = send(f, channel, { transferId: "t", detach: true });
    if (error === undefined) {
      assert.equal((await handle).file.name, "n.txt");
      assert.deepEqual(await again, await first);
    } else {
      await assert.rejects(handle, { name: error });
      await assert.rejects(again, { name: error });
    }
  });
}

test("attaching to nothing is an error; an overload is waited out", async (t) => {
  const recorder = new Recorder();
  const f = await start(t, fakeOptions(t, "overload-once=transfer/get", recorder));
  await send(f, "c", { transferId: "t" });
  assert.equal((await f.attach("t")).name, "uploaded");
  assert.equal(recorder.of("transfer/get").length, 2);
  await assert.rejects(f.attach("none"), { code: "ERR_UNKNOWN_ID" });
});

test("an event that comes after the snapshot told of it is told once", async (t) => {
  const f = await start(t, fakeOptions(t));
  await Promise.allSettled([send(f, "fail-once", { transferId: "t" })]);
  const handle = f.attach("t");
  const heard = [];
  handle.on("failure", (event) => heard.push(event));
  await assert.rejects(handle, TransferFailed);
  handle.take({ ...heard[0], seq: 99 });
  await f.ping();
  assert.equal(heard.length, 1);
});

test("lists give a page, or every entry of all pages", async (t) => {
  const f = await start(t, fakeOptions(t));
  for (let n = 0; n < 5; n++) await f.put(Buffer.from("x"), `a/${n}`);
  const page = await f.list("a", { limit: 2 });
  assert.deepEqual([page.items.length, page.next], [2, "2"]);
  const { items } = await collect(f.list("a", { limit: 2 }));
  assert.deepEqual(items.map((item) => item.ref), ["a/0", "a/1", "a/2", "a/3", "a/4"]);
  const rest = await collect(f.list("a", { limit: 2, next: "2" }));
  assert.equal(rest.items.length, 3);
  assert.equal((await collect(f.transfers({ limit: 2 }))).items.length, 5);
});

test("100,000 events that nobody reads take no memory", async (t) => {
  const f = await start(t, fakeOptions(t));
  await send(f, "c");
  const before = memoryHeld();
  const handles = [];
  for (let round = 0; round < 10; round++) {
    const handle = send(f, "flood");
    handles.push(handle, handle.events());
    await handle;
  }
  const grown = memoryHeld() - before;
  assert.ok(grown < 2 << 20, `${grown} bytes`);
  for (const stream of handles.filter((each) => each.next)) {
    const { items } = await collect(stream);
    assert.deepEqual(items.map((event) => event.name), ["started", "progress", "uploaded"]);
  }
});
