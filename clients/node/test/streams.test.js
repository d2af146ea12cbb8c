/** Bytes from Readables and into Writables, at the pace of the slower side. */

import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { createReadStream, createWriteStream, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import { TransferCancelled } from "ferry-sidecar";
import {
  Recorder, SIDECARS, collect, fakeOptions, memoryHeld, realOptions, start,
} from "./support.js";

const CONTENT = Buffer.alloc(1 << 20, randomBytes(4099));
const SHA256 = createHash("sha256").update(CONTENT).digest("hex");

const pieces = () => [CONTENT.subarray(0, 5), Buffer.alloc(0), CONTENT.subarray(5)];

for (const [kind, options] of Object.entries(SIDECARS)) {
  const SOURCES = {
    "a Readable": () => Readable.from(pieces()),
    "an async generator": async function* () {
      yield* pieces();
    },
    "an iterator": () => pieces().values(),
    "a web stream": () => new Blob([CONTENT]).stream(),
    "a stream with a size": () => ({ stream: Readable.from(pieces()), size: CONTENT.length }),
    "a Buffer": () => CONTENT,
    "an ArrayBuffer": () => new Uint8Array(CONTENT).buffer,
    "a view of 16-bit words": () => new Uint16Array(new Uint8Array(CONTENT).buffer),
  };
  for (const [what, source] of Object.entries(SOURCES)) {
    test(`${what} goes up and comes down (${kind})`, async (t) => {
      const f = await start(t, options(t));
      assert.equal((await f.put(source(), "s")).metadata.sha256, SHA256);
      const handle = f.get("s", { stream: true });
      const { items } = await collect(handle.chunks(100_000));
      assert.ok(items.every((chunk) => chunk.length > 0 && chunk.length <= 100_000));
      assert.ok(Buffer.concat(items).equals(CONTENT));
      assert.equal((await handle).sha256, SHA256);
    });
  }

  test(`paths, file URLs and files of the disk (${kind})`, async (t) => {
    const given = options(t);
    const f = await start(t, given);
    const path = join(given.cwd, "phöto \u2028.bin");
    writeFileSync(path, CONTENT);
    assert.equal((await f.put("phöto \u2028.bin", "a")).metadata.sha256, SHA256);
    assert.equal((await f.put(createReadStream(path), "c")).metadata.size, CONTENT.length);
    const sent = await f.send(createReadStream(path), { channel: "c" });
    assert.equal(sent.name, "phöto \u2028.bin");
    const file = join(given.cwd, "copy.bin");
    const handle = f.download(sent, { to: createWriteStream(file) });
    assert.equal((await handle).sha256, SHA256);
    assert.ok(readFileSync(file).equals(CONTENT));
    const placed = await f.get("a", { to: "placed.bin" });
    assert.equal(placed.path, join(given.cwd, "placed.bin"));
    assert.ok(readFileSync(placed.path).equals(CONTENT));
    const inline = await f.get("a", { inline: true });
    assert.ok(Buffer.isBuffer(inline.data) && inline.data.equals(CONTENT));
  });

  test(`a source that fails cancels the upload and is the reason (${kind})`, async (t) => {
    const f = await start(t, options(t));
    const broken = async function* () {
      yield Buffer.from("x");
      throw new RangeError("the camera is gone");
    };
    await assert.rejects(f.put(broken(), "s"), /camera/);
    await assert.rejects(f.put(Readable.from(["text"]), "s"), TypeError);
    await assert.rejects(f.metadata("s"), { code: "ERR_NOT_FOUND" });
  });

  test(`leaving the chunks early cancels the download (${kind})`, async (t) => {
    const f = await start(t, options(t));
    await f.put(CONTENT, "s");
    const handle = f.get("s", { stream: true });
    for await (const chunk of handle.chunks(1000)) {
      assert.ok(chunk.equals(CONTENT.subarray(0, 1000)));
      break;
    }
    await assert.rejects(handle, TransferCancelled);
  });

  test(`a Writable that fails cancels the download and is the reason (${kind})`, async (t) => {
    const f = await start(t, options(t));
    await f.put(CONTENT, "s");
    const write = (chunk, encoding, done) => done(new RangeError("the disk is gone"));
    await assert.rejects(f.get("s", { to: new Writable({ write }) }), /the disk is gone/);
    const final = (done) => done(new RangeError("could not finish"));
    const drop = (chunk, encoding, done) => done();
    await assert.rejects(f.get("s", { to: new Writable({ write: drop, final }) }), /not finish/);
  });
}

test("a slow Writable is waited for: no more than it holds is read ahead", async (t) => {
  const f = await start(t, realOptions(t));
  await f.put(Buffer.alloc(16 << 20), "s");
  let waiting;
  let taken = 0;
  const slow = new Writable({
    highWaterMark: 1,
    write(chunk, encoding, done) {
      taken += chunk.length;
      waiting = done;
    },
  });
  const handle = f.get("s", { to: slow });
  let turns = 0;
  while (!handle.done) {
    // The sidecar answers these while the Writable takes nothing: it could have sent more.
    await f.ping();
    if (waiting !== undefined && ++turns % 8 === 0) {
      assert.ok(slow.writableLength <= 512 * 1024, `${slow.writableLength} bytes are waiting`);
      const done = waiting;
      waiting = undefined;
      done();
    }
  }
  assert.equal((await handle).size, taken);
});

test("a Readable is read no faster than its bytes are taken", async (t) => {
  const recorder = new Recorder();
  const f = await start(t, realOptions(t, recorder));
  const taken = () => recorder.of("stream/write").length;
  let ahead = 0;
  let given = 0;
  const source = new Readable({
    highWaterMark: 1,
    read() {
      given += 1;
      ahead = Math.max(ahead, given - taken());
      this.push(given > 100 ? null : CONTENT.subarray(0, 200_000));
    },
  });
  assert.equal((await f.put(source, "s")).metadata.size, 100 * 200_000);
  assert.ok(ahead <= 4, `${ahead} chunks ahead`);
});

test("memory stays flat over 128 MiB up and down", async (t) => {
  const f = await start(t, realOptions(t));
  const chunk = Buffer.alloc(1 << 18, 7);
  const before = memoryHeld();
  let most = 0;
  const measure = (n) => {
    if (n % 64 === 0) most = Math.max(most, memoryHeld() - before);
  };
  const source = async function* () {
    for (let n = 0; n < 512; n++) {
      measure(n);
      yield chunk;
    }
  };
  await f.put(source(), "s");
  let n = 0;
  const write = (_, encoding, done) => {
    measure(n++);
    done();
  };
  await f.get("s", { to: new Writable({ write }) });
  assert.ok(n > 64);
  assert.ok(most < 32 << 20, `${most >> 10} KiB more`);
});

test("a source lets go when its transfer ends early", async (t) => {
  const f = await start(t, fakeOptions(t));
  const endless = new Readable({ read() {} });
  const handle = f.put(endless, "s");
  await f.ping();
  await handle.cancel();
  await assert.rejects(handle, TransferCancelled);
  assert.ok(endless.destroyed);
});

test("a detached transfer is aborted although its request may be answered already", async (t) => {
  const f = await start(t, realOptions(t));
  const abort = new AbortController();
  const endless = new Readable({ read() {} });
  const handle = f.put(endless, "s", { detach: true, signal: abort.signal });
  abort.abort();
  await assert.rejects(handle, TransferCancelled);
  assert.equal((await f.transfer(handle.transferId)).state, "cancelled");
});

test("what the sidecar refuses ends the transfer with its reason", async (t) => {
  const f = await start(t, fakeOptions(t));
  const sent = f.send(Readable.from([Buffer.from("a")]), { channel: "full", name: "n" });
  await assert.rejects(sent, { code: "ERR_DISK_FULL" });
  await assert.rejects(f.put({ stream: [Buffer.from("four")], size: 5 }, "s"), {
    code: "ERR_FILE_CHANGED",
  });
});

test("content too large for a line goes as a stream", async (t) => {
  const recorder = new Recorder();
  const f = await start(t, realOptions(t, recorder));
  const content = Buffer.alloc(9 << 20, 3);
  assert.equal((await f.put(content, "large")).metadata.size, content.length);
  assert.deepEqual(recorder.of("object/put")[0].stream, { size: content.length });
});

test("what is no source, and no target, is a TypeError at once", async (t) => {
  const f = await start(t, fakeOptions(t));
  for (const source of [3, null, undefined, {}]) assert.throws(() => f.put(source, "x"), TypeError);
  assert.throws(() => f.get("x", { to: "a", inline: true }), TypeError);
  assert.throws(() => f.get("x", { maxSize: 3 }), TypeError);
});

test("relative paths start at rootPath, else at cwd", async (t) => {
  const recorder = new Recorder();
  const options = realOptions(t, recorder);
  writeFileSync(join(options.cwd, "home/a.txt"), "x");
  const f = await start(t, { ...options, rootPath: pathToFileURL(join(options.cwd, "home")) });
  assert.equal((await f.put("a.txt", "a")).metadata.size, 1);
  assert.equal(recorder.of("object/put")[0].path, "a.txt");
  assert.equal((await f.get("a", { to: "b.txt" })).path, join(options.cwd, "home/b.txt"));
});
