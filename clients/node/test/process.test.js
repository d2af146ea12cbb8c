/** The process below: how it is found, and how it and the host end. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

import { BinaryNotFound, ConnectionClosed, Ferry, ProcessDied } from "ferry-sidecar";
import { find } from "../lib/binary.js";
import { FAST, fakeOptions, fakeProgram, folder, gone, start } from "./support.js";

const run = promisify(execFile);

test("a missing program lists every place", (t) => {
  const root = folder(t);
  const place = join(root, "checkout/clients/node");
  mkdirSync(place, { recursive: true });
  writeFileSync(join(root, "checkout/Package.swift"), "");
  assert.throws(() => find(undefined, { PATH: root }, place), (error) => {
    assert.ok(error instanceof BinaryNotFound);
    assert.deepEqual(error.lookedIn, [
      "bin (not given)",
      "$FERRY_BIN (not set)",
      join(place, "bin/ferry"),
      join(root, "checkout/.build/release/ferry"),
      `PATH (${root})`,
    ]);
    return error.lookedIn.every((each) => error.message.includes(each));
  });
});

for (const given of ["bin", "FERRY_BIN", "beside", "checkout", "PATH"]) {
  test(`the program is found: ${given}`, (t) => {
    const root = folder(t);
    const program = fakeProgram(root);
    const place = join(root, "checkout/clients/node");
    mkdirSync(place, { recursive: true });
    writeFileSync(join(root, "checkout/Package.swift"), "");
    const places = {
      beside: join(place, "bin/ferry"),
      checkout: join(root, "checkout/.build/release/ferry"),
      PATH: join(root, "somewhere/ferry"),
    };
    let env = { PATH: `/nowhere:${join(root, "somewhere")}` };
    if (given === "FERRY_BIN") env = { ...env, FERRY_BIN: program };
    if (given in places) {
      mkdirSync(dirname(places[given]), { recursive: true });
      symlinkSync(program, places[given]);
    }
    const found = find(given === "bin" ? program : undefined, env, place);
    assert.equal(found, places[given] ?? program);
  });
}

test("what is named and cannot run is not replaced by another", () => {
  assert.throws(() => find("/etc/passwd", {}), /not executable/);
  assert.throws(() => find(undefined, { FERRY_BIN: "/no/ferry" }), /\/no\/ferry \(no such file\)/);
});

test("a working directory that does not exist is what is missing", async (t) => {
  const options = { ...fakeOptions(t), cwd: "/nowhere" };
  await assert.rejects(Ferry.start(options), (error) => {
    assert.deepEqual(error.lookedIn, ["/nowhere (ENOENT)"]);
    return error instanceof BinaryNotFound;
  });
});

test("a program that says nothing is given up and leaves no process", async (t) => {
  const bin = join(folder(t), "mute");
  writeFileSync(bin, "#!/bin/sh\necho $$ >&2\nexec sleep 60\n", { mode: 0o755 });
  let pid;
  const options = { bin, startTimeout: 300, closeGrace: FAST, onStderr: (line) => (pid = +line) };
  await assert.rejects(Ferry.start(options), { code: "CLIENT_TIMEOUT" });
  assert.ok(pid > 0 && gone(pid));
});

test("a program that exits at once is told with its code and words", async (t) => {
  const root = folder(t);
  const bin = join(root, "broken");
  writeFileSync(bin, "#!/bin/sh\necho first >&2\necho oh no >&2\nexit 3\n", { mode: 0o755 });
  await assert.rejects(Ferry.start({ bin }), (error) => {
    assert.ok(error instanceof ProcessDied);
    assert.equal(error.exitCode, 3);
    assert.deepEqual(error.stderrTail, ["first", "oh no"]);
    return error.message.includes("oh no");
  });
});

test("lines of stderr are handed on", async (t) => {
  const lines = [];
  const f = await start(t, fakeOptions(t, "", { onStderr: (line) => lines.push(line) }));
  await f.close();
  assert.deepEqual(lines, ["fake: hello"]);
});

test("a trace that throws fails what waits with its error, and ends the process", async (t) => {
  let answers = 0;
  const trace = (direction) => {
    if (direction === "in" && ++answers > 1) throw new RangeError("the log is full");
  };
  const f = await start(t, fakeOptions(t, "", { trace }));
  const { pid } = f;
  await assert.rejects(f.ping(), /the log is full/);
  await assert.rejects(f.ping(), RangeError);
  assert.ok(gone(pid));
});

test("the sidecar has a process group of its own", async (t) => {
  const f = await start(t, fakeOptions(t));
  const { stdout } = await run("ps", ["-o", "pgid=,sid=", "-p", String(f.pid)]);
  assert.deepEqual(stdout.trim().split(/\s+/).map(Number), [f.pid, f.pid]);
});

test("all that waits while the client closes hears so", async (t) => {
  const f = await start(t, fakeOptions(t, "mute-at=server/stats"));
  const asked = assert.rejects(f.stats(), ConnectionClosed);
  const handle = f.send(Buffer.from("x"), { channel: "hold", name: "n" });
  await f.ping();
  await Promise.all([f.close("now"), f.close()]);
  await asked;
  await assert.rejects(handle, { code: "ERR_CANCELLED" });
  assert.throws(() => f.send("x", { channel: "c" }), ConnectionClosed);
});

test("thirty rounds leave no process and no listener", async (t) => {
  const listeners = () => process.listenerCount("exit") + process.listenerCount("beforeExit");
  const before = listeners();
  for (let round = 0; round < 30; round++) {
    const f = await Ferry.start(fakeOptions(t));
    const { pid } = f;
    await f.send(Buffer.from("x"), { channel: "c", name: "n" });
    await f.close();
    assert.ok(gone(pid));
  }
  assert.equal(listeners(), before);
});

// How the host ends: each is a program of its own.

/** Runs lines of a host that has `f`; returns what it printed, and whether its sidecar is gone. */
async function host(t, body, words = "") {
  const options = fakeOptions(t, words, {});
  const text = `
    import { Ferry } from "ferry-sidecar";
    import { createServer } from "node:net";
    const f = await Ferry.start(${JSON.stringify(options)});
    console.log(f.pid);
    ${body}
  `;
  const place = new URL(".", import.meta.url);
  const ended = await run(process.execPath, ["--input-type=module", "-e", text], {
    cwd: place,
    timeout: 20_000,
  }).catch((error) => error);
  const [pid, ...printed] = ended.stdout.trim().split("\n");
  return { code: ended.code ?? 0, stderr: ended.stderr, printed, pid: Number(pid) };
}

test("a script ends by itself, its work done, and takes the sidecar along", async (t) => {
  const body = `
    f.send(Buffer.from("x"), { channel: "c", name: "n" }).on("uploaded", () => console.log("up"));
  `;
  const { code, stderr, printed, pid } = await host(t, body);
  assert.deepEqual({ code, stderr, printed }, { code: 0, stderr: "", printed: ["up"] });
  assert.ok(gone(pid));
});

test("a batch at work keeps the script, an idle one does not", async (t) => {
  const body = `
    const batch = await f.batch({ channel: "hold" });
    const file = batch.add({ text: "x" }, { name: "n" });
    file.on("progress", async () => {
      await file.pause();
      // Nothing is asked, and nobody waits: the batch alone keeps the host.
      setTimeout(() => file.resume(), 100).unref();
    });
    batch.on("complete", ({ counts }) => console.log(counts.successful));
  `;
  const { code, stderr, printed, pid } = await host(t, body);
  assert.deepEqual({ code, stderr, printed }, { code: 0, stderr: "", printed: ["1"] });
  assert.ok(gone(pid));
});

test("an open subscription keeps the script, an unref'd client does not", async (t) => {
  const listening = `
    const messages = await f.subscribe("c");
    console.log("listening");
    setTimeout(() => messages.close(), 200).unref();
    for await (const message of messages) console.log("never");
    console.log("closed");
  `;
  assert.deepEqual((await host(t, listening)).printed, ["listening", "closed"]);
  const unref = `
    f.unref();
    const handle = f.send(Buffer.from("x"), { channel: "hold", name: "n" });
    handle.then(() => console.log("never"), () => {});
    await f.ping().catch(() => {});
  `;
  const { printed, pid } = await host(t, unref);
  assert.deepEqual(printed, []);
  assert.ok(gone(pid));
});

test("a client that is ref'd keeps an idle script", async (t) => {
  const body = `
    f.ref();
    setTimeout(() => { console.log("still here"); f.close(); }, 100).unref();
  `;
  assert.deepEqual((await host(t, body)).printed, ["still here"]);
});

for (const [how, body, expected] of [
  ["process.exit", "process.exit(5);", 5],
  ["an exception", 'throw new Error("the host\'s own");', 1],
]) {
  test(`a host that ends by ${how} leaves no process`, async (t) => {
    const { code, pid } = await host(t, body, "ignore-eof");
    assert.equal(code, expected);
    await ended(pid);
  });
}

test("a listener that throws ends the host as any would, and not the protocol", async (t) => {
  const body = `
    process.on("uncaughtException", (error) => console.log(error.message));
    const handle = f.send(Buffer.from("x"), { channel: "c", name: "n" });
    handle.on("started", () => { throw new Error("mine"); });
    console.log((await handle).size);
  `;
  assert.deepEqual((await host(t, body)).printed, ["mine", "1"]);
});

test("a handle that nobody awaits ends no host", async (t) => {
  const { code, stderr } = await host(t, 'f.send("/none", { channel: "c" });');
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
});

if (Symbol.asyncDispose) {
  test("disposing closes", async (t) => {
    const f = await start(t, fakeOptions(t));
    const { pid } = f;
    await f[Symbol.asyncDispose]();
    assert.ok(gone(pid));
  });
}

/** Waits until a process that is not ours is gone. */
async function ended(pid) {
  while (!gone(pid)) await new Promise((resolve) => setImmediate(resolve));
}
