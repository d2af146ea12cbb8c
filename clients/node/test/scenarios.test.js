/** What every client must do alike: clients/scenarios.json, step by step. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Readable } from "node:stream";

import * as ferry from "ferry-sidecar";
import {
  FAST, Recorder, SIDECARS, collect, fakeOptions, gone, readJson, start, until,
} from "./support.js";

const { scenarios } = readJson("clients/scenarios.json");

for (const scenario of scenarios) {
  for (const kind of scenario.sidecars ?? ["fake"]) {
    test(`${scenario.name} (${kind})`, async (t) => {
      await new Run(t, scenario, kind).play();
    });
  }
}

class Run {
  constructor(t, scenario, kind) {
    this.t = t;
    this.scenario = scenario;
    this.recorder = new Recorder(!scenario.unchecked);
    const trace = scenario.unchecked ? recordingSent(this.recorder) : this.recorder.trace;
    const closeGrace = scenario.impatient ? { ...FAST, drain: 200, now: 200 } : FAST;
    const { bin, words } = scenario;
    const options = { trace, closeGrace };
    this.options =
      bin !== undefined ? { bin, ...options }
      : words !== undefined ? fakeOptions(t, words, options)
      : SIDECARS[kind](t, options);
    this.handles = {};
    this.streams = {};
    this.aborts = {};
  }

  async play() {
    if (this.scenario.fails) {
      await assert.rejects(start(this.t, this.options), (error) => {
        return fits(error, this.scenario.fails);
      });
      return;
    }
    this.f = await start(this.t, this.options);
    for (const step of this.scenario.steps) {
      const [verb] = Object.keys(step);
      assert.ok(verb in this, `no such step: ${verb}`);
      await this[verb](step);
    }
  }

  async ask(step) {
    const params = { ...step.params };
    if (step.deep) params.value = nested(step.deep);
    if (step.long) params.value = "x".repeat(step.long);
    await settles(() => this.f.request(step.ask, params), step);
  }

  send(step) {
    this.keep(step, (signal) => this.f.send(source(step.send), { ...step.params, signal }));
  }

  put(step) {
    const { ref, ...params } = step.params;
    this.keep(step, (signal) => this.f.put(source(step.put), ref, { ...params, signal }));
  }

  async get(step) {
    const target = step.chunks ? { stream: true } : { inline: true };
    this.keep(step, (signal) => this.f.get(step.get, { ...step.params, ...target, signal }));
    if (!step.chunks) return;
    const { items } = await collect(this.handles[step.as].chunks(step.chunks));
    assert.ok(items.every((chunk) => chunk.length <= step.chunks));
    assert.equal(Buffer.concat(items).toString(), step.content);
  }

  attach(step) {
    this.handles[step.as] = this.f.attach(step.attach);
  }

  async batch(step) {
    this.handles[step.as] = await this.f.batch(step.batch);
  }

  add(step) {
    const content = step.add.path ?? { text: step.add };
    this.handles[step.as] = this.handles[step.to].add(content, step.params);
  }

  async complete(step) {
    await settles(() => this.handles[step.complete].complete(), step);
  }

  async retryFailed(step) {
    assert.equal(await this.handles[step.retryFailed].retryFailed(), step.gives);
  }

  async announce(step) {
    const send = () => this.handles[step.announce].send(step.params);
    const sent = await settles(send, { fails: step.fails });
    if (!step.fails) assert.deepEqual(sent.messages.map(({ fileIds }) => fileIds), step.gives);
  }

  async entries(step) {
    const { items } = await collect(this.handles[step.entries].entries({ limit: 1 }));
    assert.deepEqual(items.map(({ fileId, state, sent }) => [fileId, state, sent]), step.gives);
  }

  leave(step) {
    this.handles[step.leave].close();
  }

  async clear(step) {
    await this.handles[step.clear].clear();
  }

  keep(step, begin) {
    if (step.abortable) this.aborts[step.as] = new AbortController();
    this.handles[step.as] = begin(this.aborts[step.as]?.signal);
  }

  async await(step) {
    const result = await settles(() => this.handles[step.await], step);
    if (step.content) assert.equal(result.data.toString(), step.content);
  }

  watch(step) {
    this.streams[step.as] = this.handles[step.watch].events();
  }

  async told(step) {
    const { items, error } = await collect(this.streams[step.told]);
    const names = items.map((event) => event.name);
    const counted = names.filter((name) => name !== "progress" || step.names.includes(name));
    assert.deepEqual(counted, step.names);
    if (step.fails) fits(error, step.fails);
    else assert.equal(error, undefined);
  }

  async until(step) {
    await until(this.handles[step.of], step.until);
  }

  async do(step) {
    assert.equal(await this.handles[step.to][step.do](), step.gives);
  }

  abort(step) {
    this.aborts[step.abort].abort();
  }

  state(step) {
    assert.equal(this.handles[step.state].snapshot.state, step.is);
  }

  sent(step) {
    assert.equal(this.recorder.of(step.sent).length, step.times);
  }

  async close(step) {
    const { pid } = this.f;
    await this.f.close(step.close);
    assert.equal(pid === undefined || gone(pid), step.gone);
    assert.equal(this.f.pid, undefined);
    if ("exitCode" in step) assert.equal(this.f.exitCode, step.exitCode);
    if ("signal" in step) assert.equal(this.f.signal, step.signal);
  }
}

/** Keeps what was sent only: what comes back is no protocol. */
function recordingSent(recorder) {
  return (direction, line) => direction === "out" && recorder.trace(direction, line);
}

function source(content) {
  if (typeof content === "string") return Buffer.from(content);
  if (Array.isArray(content)) return Readable.from(content.map((piece) => Buffer.from(piece)));
  return content.path;
}

function nested(levels) {
  let value = [];
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}

async function settles(act, step) {
  // An async function, since a call may throw at once.
  const outcome = (async () => act())();
  if (step.fails) {
    await assert.rejects(outcome, (error) => fits(error, step.fails));
    return undefined;
  }
  const result = await outcome;
  part(result, step.gives);
  return result;
}

function fits(error, { kind, says, lastWords, ...members }) {
  assert.equal(error?.constructor, ferry[kind], `${error}`);
  if (says) assert.ok(error.message.includes(says), error.message);
  if (lastWords) assert.equal(error.stderrTail.at(-1), lastWords);
  part(error, members);
  return true;
}

function part(value, wanted) {
  for (const [name, member] of Object.entries(wanted ?? {})) {
    if (typeof member === "object" && member !== null && !Array.isArray(member)) {
      part(value[name], member);
    } else {
      assert.deepEqual(value[name], member, name);
    }
  }
}
