#!/usr/bin/env node
/**
 * Sends several files to a channel, a bar for each, and then says what happened.
 *
 *   examples/composer.mjs trip a.jpg b.jpg c.mov
 *
 * One sidecar sends them all, as many at once as its limits allow. A file that failed for a reason
 * that may pass is tried once more; Ctrl-C cancels what is under way. Exit code 1: not all were
 * sent.
 */

import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

// Once the package is installed (npm install ./clients/node): from "ferry-sidecar".
import { Ferry, FerryError, TransferCancelled, TransferFailed } from "../clients/node/lib/index.js";

const CELLS = 24;

/** One line per file, drawn over themselves; nothing where the output is no terminal. */
class Bars {
  constructor(names) {
    this.names = names;
    this.states = names.map(() => undefined);
    this.live = process.stdout.isTTY;
    if (this.live) process.stdout.write("\n".repeat(names.length));
  }

  show(position, state) {
    this.states[position] = state;
    if (!this.live) return;
    const lines = this.names.map((name, at) => `\r\x1b[K${this.line(name, this.states[at])}\n`);
    process.stdout.write(`\x1b[${lines.length}A${lines.join("")}`);
  }

  line(name, state) {
    const label = name.slice(-30).padEnd(30);
    if (state === undefined) return `${label} waiting`;
    const share = state.state === "succeeded" ? 1 : (state.percent ?? 0) / 100;
    const full = Math.round(share * CELLS);
    return `${label} ${"█".repeat(full)}${"░".repeat(CELLS - full)} ${state.state}`;
  }
}

/** Sends one file; returns what became of it. */
async function send(f, channel, path, signal, show) {
  const handle = f.send(path, { channel, message: { text: basename(path) }, signal });
  for (const again of [true, false]) {
    try {
      for await (const event of handle) show(handle.snapshot, event);
      break;
    } catch (error) {
      if (!(again && error instanceof TransferFailed && error.retryable)) throw error;
      await sleep(error.retryAfterMs);
      await handle.retry();
    }
  }
  const sent = await handle;
  return `sent as ${sent.id}, ${sent.size} bytes`;
}

const [channel, ...paths] = process.argv.slice(2);
if (paths.length === 0) {
  console.error("usage: composer.mjs CHANNEL FILE…");
  process.exit(1);
}
const bars = new Bars(paths);
const interrupted = new AbortController();
process.once("SIGINT", () => interrupted.abort());
const f = await Ferry.start();
const outcomes = await Promise.allSettled(
  paths.map((path, at) => {
    return send(f, channel, path, interrupted.signal, (state) => bars.show(at, state));
  }),
);
await f.close();
for (const [at, { value, reason }] of outcomes.entries()) {
  let text = value;
  if (reason instanceof TransferCancelled) text = "cancelled";
  else if (reason instanceof FerryError) text = `not sent: ${reason.message}`;
  else if (reason !== undefined) throw reason;
  console.log(`${paths[at]}: ${text}`);
}
process.exitCode = outcomes.every(({ status }) => status === "fulfilled") ? 0 : 1;
