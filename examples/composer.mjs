#!/usr/bin/env node
/**
 * Sends several files to a channel, a bar for each, and then says what happened.
 *
 *   examples/composer.mjs trip a.jpg b.jpg c.mov
 *
 * They are one batch: uploaded four at a time, and announced when all of them are done. A file that
 * failed for a reason that may pass is tried once more; after Ctrl-C nothing is left of the batch.
 * Exit code 1: not all were sent.
 */

// Once the package is installed (npm install ./clients/node): from "ferry-sidecar".
import { Ferry, FerryError, TransferCancelled } from "../clients/node/lib/index.js";

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

/** Announces what is uploaded; returns the ids of the files that others were told of. */
async function announce(batch) {
  try {
    await batch.send();
  } catch (error) {
    if (!(error instanceof FerryError)) throw error;
    console.error(error.message);
  }
  const told = [];
  for await (const { fileId, sent } of batch.entries()) if (sent) told.push(fileId);
  return told;
}

const [channel, ...paths] = process.argv.slice(2);
if (paths.length === 0) {
  console.error("usage: composer.mjs CHANNEL FILE…");
  process.exit(1);
}
const bars = new Bars(paths);
const f = await Ferry.start();
const batch = await f.batch({ channel, concurrency: 4, retries: 1 });
const files = batch.addAll(paths);
const shared = new Map();
batch.on("uploaded", ({ fileId, file }) => shared.set(fileId, file));
let clearing;
process.once("SIGINT", () => (clearing = batch.clear()));
for await (const event of batch) {
  const at = files.findIndex(({ fileId }) => fileId === event.fileId);
  if (at >= 0) bars.show(at, files[at].snapshot);
}
const sent = clearing === undefined && shared.size > 0 ? await announce(batch) : [];
await (clearing ?? batch.clear());
await f.close();
for (const [at, file] of files.entries()) {
  const { error } = file.snapshot;
  let text = "not announced";
  if (sent.includes(file.fileId)) {
    const { id, size } = shared.get(file.fileId);
    text = `sent as ${id}, ${size} bytes`;
  } else if (clearing !== undefined || error instanceof TransferCancelled) {
    text = "cancelled";
  } else if (error !== null) {
    text = `not sent: ${error.message}`;
  }
  console.log(`${paths[at]}: ${text}`);
}
process.exitCode = sent.length === files.length ? 0 : 1;
