/** The transcripts, spoken through the client: the same answers and events come of them. */

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { ROOT, readJson, realOptions, start } from "./support.js";

const FOLDER = join(ROOT, "schema/transcripts");
const unspoken = readJson("clients/scenarios.json").unspokenTranscripts;
const spoken = readdirSync(FOLDER).filter((name) => name.endsWith(".txt") && !(name in unspoken));

for (const name of spoken) {
  test(name, async (t) => {
    await new Spoken(parse(readFileSync(join(FOLDER, name), "utf8"))).run(t);
  });
}

test("what is said to be unspoken exists", () => {
  assert.deepEqual(Object.keys(unspoken).filter((name) => !readdirSync(FOLDER).includes(name)), []);
});

function parse(text) {
  const lines = text.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("#"));
  return lines.map((line) => {
    const [, mark, rest] = /^(-->|<--|<==) (.*)$/.exec(line);
    if (rest === "EOF" || rest.startsWith("EXIT ")) return { kind: "end" };
    return { kind: mark, text: rest };
  });
}

/**
 * A client asks what the host of a transcript asks; ids and the greeting are its own.
 *
 * Left out: a line that no JSON writer writes, with its answer; cancelling what is not open; and
 * what follows the end of stdin, since a client ends by `shutdown`.
 */
class Spoken {
  constructor(steps) {
    this.steps = steps;
    this.asked = new Map();
    this.leftOut = new Set();
    this.events = [];
    this.woken = () => {};
  }

  async run(t) {
    const trace = (direction, line) => {
      const message = JSON.parse(line);
      if (direction === "out" || message.method === undefined) return;
      if (message.method !== "progress") this.events.push(message);
      this.woken();
    };
    const options = realOptions(t, { trace });
    const greeting = JSON.parse(this.steps[0].text);
    if (greeting.method === "initialize") options.clientInfo = greeting.params.clientInfo;
    this.variables = { DIR: options.cwd };
    const f = (await start(t, options)).ref(); // events are waited for while no request is open
    let group = [];
    for (const { kind, text } of [...this.steps, { kind: "end" }]) {
      if (kind === "<==") {
        group.push(JSON.parse(text));
        continue;
      }
      await this.expect(group);
      group = [];
      if (kind === "end") return;
      if (kind === "-->") this.say(f, this.fill(text));
      else await this.expect([JSON.parse(text)]);
    }
  }

  say(f, text) {
    const { id, method, params } = JSON.parse(text);
    if (method === "$/cancelRequest") {
      this.asked.get(params?.id)?.abort.abort();
    } else if (method === "initialize") {
      this.asked.set(id, { reply: Promise.resolve({}) });
    } else if (JSON.stringify(JSON.parse(text)) !== text) {
      this.leftOut.add(id);
    } else if (id !== undefined) {
      const abort = new AbortController();
      const reply = f.request(method, params, { signal: abort.signal });
      reply.catch(() => {});
      this.asked.set(id, { reply, abort });
    }
  }

  async expect(wanted) {
    for (const answer of wanted.filter((each) => each.method === undefined)) {
      if (this.leftOut.has(answer.id)) continue;
      const heard = await this.answer(answer.id);
      if (heard === undefined) continue;
      assert.ok(matches(answer, heard, this.variables), `${show(answer)}\n${show(heard)}`);
    }
    const events = wanted.filter((each) => each.method !== undefined);
    while (events.length > 0) {
      while (this.events.length === 0) await new Promise((resolve) => (this.woken = resolve));
      const heard = this.events.shift();
      const at = events.findIndex((each) => matches(each, heard, this.variables));
      assert.ok(at >= 0, `${show(events)}\n${show(heard)}`);
      events.splice(at, 1);
    }
  }

  /** The reply to a request as the client gives it; undefined where the host gave it up. */
  async answer(id) {
    const { reply, abort } = this.asked.get(id);
    try {
      return { jsonrpc: "2.0", id, result: await reply };
    } catch (error) {
      if (abort.signal.aborted) return undefined;
      const data = error.data.code === undefined ? {} : { data: error.data };
      return { jsonrpc: "2.0", id, error: { code: error.number, message: error.message, ...data } };
    }
  }

  fill(text) {
    return text.replace(/\$\{(\w+)\}/g, (_, name) => {
      const value = JSON.stringify(this.variables[name]);
      return typeof this.variables[name] === "string" ? value.slice(1, -1) : value;
    });
  }
}

const show = (value) => JSON.stringify(value);

const KINDS = {
  int: Number.isInteger,
  string: (value) => typeof value === "string",
  object: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  array: Array.isArray,
};

/** Whether a value fits an expectation, in the notation of schema/transcripts/README.md. */
function matches(wanted, value, variables) {
  if (typeof wanted === "string") return matchesText(wanted, value, variables);
  if (Array.isArray(wanted)) {
    if (!Array.isArray(value) || value.length !== wanted.length) return false;
    return wanted.every((each, at) => matches(each, value[at], variables));
  }
  if (typeof wanted !== "object" || wanted === null) return wanted === value;
  if (!KINDS.object(value)) return false;
  const names = Object.keys(wanted).filter((name) => name !== "...");
  if (!("..." in wanted) && names.length !== Object.keys(value).length) return false;
  return names.every((name) => name in value && matches(wanted[name], value[name], variables));
}

function matchesText(wanted, value, variables) {
  const wildcard = /^\*(int|string|object|array)?(?:=(\w+))?$/.exec(wanted);
  if (wildcard) {
    if (wildcard[2]) variables[wildcard[2]] = value;
    return (KINDS[wildcard[1]] ?? (() => true))(value);
  }
  if (wanted.startsWith("~")) {
    const [, flags, source] = /^~(?:\(\?(i)\))?(.*)$/.exec(wanted);
    return typeof value === "string" && new RegExp(source, flags).test(value);
  }
  return wanted.replace(/\$\{(\w+)\}/g, (_, name) => variables[name]) === value;
}
