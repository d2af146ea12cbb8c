/** Sidecars to test against: the fake of the Python client, and the real program. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import {
  appendFileSync, chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { Ferry } from "ferry-sidecar";

export const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
export const REAL = process.env.FERRY_BIN ?? join(ROOT, ".build/release/ferry");
const FAKE = join(ROOT, "clients/python/tests/fake_sidecar.py");
const VENV = join(ROOT, ".venv/bin/python");
const PYTHON = process.env.PYTHON ?? (existsSync(VENV) ? VENV : "python3");

/** Milliseconds of the closing ladder, so that no test waits long for a rung. */
export const FAST = { drain: 5000, now: 1000, eof: 200, term: 200 };

/** A folder of the test's own, removed at its end. */
export function folder(t) {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "ferry-node-")));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** An executable that runs the fake sidecar. */
export function fakeProgram(home) {
  const shim = join(home, "fake-ferry");
  writeFileSync(shim, `#!/bin/sh\nexec "${PYTHON}" "${FAKE}" "$@"\n`);
  chmodSync(shim, 0o755);
  return shim;
}

/** Options of a Ferry that runs the fake, with words for its faults. */
export function fakeOptions(t, words = "", { env, ...more } = {}) {
  const cwd = folder(t);
  return { bin: fakeProgram(cwd), env: { FAKE: words, ...env }, closeGrace: FAST, cwd, ...more };
}

/** Options of a Ferry that runs the real program on a root of its own. */
export function realOptions(t, more = {}) {
  assert.ok(existsSync(REAL), `${REAL} is not built`);
  const cwd = folder(t);
  mkdirSync(join(cwd, "home"));
  const config = {
    stateDir: join(cwd, "state"),
    remotes: { local: { kind: "local", root: join(cwd, "root") } },
  };
  return { bin: REAL, env: { HOME: join(cwd, "home") }, config, cwd, ...more };
}

/** Options of each kind, for tests that hold for both. */
export const SIDECARS = {
  fake: (t, more) => fakeOptions(t, "", more),
  real: realOptions,
};

/** Starts a client that the end of the test closes. */
export async function start(t, options) {
  const f = await Ferry.start(options);
  t.after(() => f.close("now"));
  return f;
}

/** All traffic of a client, as messages; where $FERRY_TRAFFIC names a folder, kept there too. */
export class Recorder {
  sent = [];
  received = [];

  constructor(checked = true) {
    const kept = process.env.FERRY_TRAFFIC;
    this.file = kept && checked ? join(kept, `${randomUUID()}.jsonl`) : undefined;
    this.trace = (direction, line) => {
      const message = JSON.parse(String(line));
      (direction === "out" ? this.sent : this.received).push(message);
      if (this.file) appendFileSync(this.file, `${JSON.stringify([direction, message])}\n`);
    };
  }

  /** The params of what was sent of a method. */
  of(method) {
    return this.sent.filter((message) => message.method === method).map(({ params }) => params);
  }
}

/** Whether neither a process nor a zombie of this id is left. */
export function gone(pid) {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error.code === "ESRCH";
  }
}

/** What iterating gives, and the error it ends with. */
export async function collect(iterable) {
  const items = [];
  try {
    for await (const item of iterable) items.push(item);
  } catch (error) {
    return { items, error };
  }
  return { items };
}

/** Waits for an event of a handle. */
export async function until(handle, name) {
  for await (const event of handle.events()) {
    if (event.name === name) return event;
  }
  throw new Error(`ended without ${name}`);
}

/** Bytes in use once all that nobody needs is gone. */
export function memoryHeld() {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

export function readJson(path) {
  return JSON.parse(readFileSync(join(ROOT, path), "utf8"));
}
