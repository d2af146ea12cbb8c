/**
 * A host in JavaScript: `client.mjs bare|client PROGRAM pipelined|lone|memory|batch COUNT` prints
 * one figure.
 *
 * `bare` is a loop of one's own over the pipes of a program that echoes lines; `client` is the
 * package with ferry. Both ask `ping`, in JSON.
 */

import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { Ferry } from "../../clients/node/lib/index.js";

const WINDOW = 1024;

async function bare(program, measure) {
  const child = spawn(program, { stdio: ["pipe", "pipe", "inherit"] });
  const waiting = new Map();
  let rest = "";
  let id = 0;
  child.stdout.setEncoding("utf8").on("data", (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const reply = JSON.parse(line);
      waiting.get(reply.id)();
      waiting.delete(reply.id);
    }
  });
  const ask = () => {
    id += 1;
    const line = JSON.stringify({ jsonrpc: "2.0", id, method: "ping", params: {} });
    child.stdin.write(`${line}\n`);
    return new Promise((resolve) => waiting.set(id, resolve));
  };
  const figure = await measure(ask);
  child.stdin.end();
  return figure;
}

async function client(bin, measure) {
  const f = await Ferry.start({ bin, args: ["--enable-test-methods"] });
  const figure = await measure((method = "ping", params = {}) => f.request(method, params), f);
  await f.close();
  return figure;
}

const MEASURES = {
  async pipelined(ask) {
    const began = performance.now();
    for (let first = 0; first < count; first += WINDOW) {
      const number = Math.min(WINDOW, count - first);
      await Promise.all(Array.from({ length: number }, () => ask()));
    }
    return performance.now() - began;
  },
  async lone(ask) {
    const trips = [];
    for (let n = 0; n < count; n++) {
      const began = performance.now();
      await ask();
      trips.push(performance.now() - began);
    }
    return trips.sort((a, b) => a - b)[trips.length >> 1] * 1e3;
  },
  /** MiB more after so many events than after a hundredth of them. */
  async memory(ask) {
    setFlagsFromString("--expose-gc");
    const gc = runInNewContext("gc");
    const held = () => {
      gc();
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    };
    await ask("test/flood", { count: Math.ceil(count / 100), bytes: 100 });
    const before = held();
    await ask("test/flood", { count, bytes: 100 });
    return (held() - before) / (1 << 20);
  },
  /** Milliseconds the loop stood still at most while files were added, uploaded and told of. */
  async batch(_, f) {
    const paths = Array.from({ length: count }, (_, number) => `${number}`);
    for (const path of paths) writeFileSync(path, "x");
    let longest = 0;
    let began = performance.now();
    const watching = setInterval(() => {
      const now = performance.now();
      longest = Math.max(longest, now - began - 1);
      began = now;
    }, 1);
    const batch = await f.batch({ prefix: "p", concurrency: 4 });
    const files = batch.addAll(paths);
    const { counts } = await batch.complete();
    if (counts.successful !== count) throw new Error(`${counts.failed} failed`);
    await files.at(-1);
    await new Promise((resolve) => setTimeout(resolve, 1));
    clearInterval(watching);
    return longest;
  },
};

const [how, program, what, number] = process.argv.slice(2);
const count = Number(number);
console.log(await (how === "bare" ? bare : client)(program, MEASURES[what]));
