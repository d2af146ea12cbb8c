/** One conversation with one sidecar: requests and replies, notifications, opening and closing. */

import { resolve } from "node:path";

import { find } from "./binary.js";
import { Deferred } from "./deferred.js";
import { Emitter } from "./emitter.js";
import {
  ConnectionClosed, FerryError, ProcessDied, ProtocolError, RequestTimeout, TransferCancelled,
  VersionMismatch, fromWire,
} from "./errors.js";
import { toEvent } from "./events.js";
import { MAX_LINE, encode } from "./lines.js";
import { SidecarProcess } from "./process.js";
import { toPath } from "./sources.js";
import { PROTOCOL_VERSIONS, version } from "./version.js";

/** Milliseconds each rung of the closing ladder gets before the next one is taken. */
const CLOSE_GRACE = { drain: 30_000, now: 2_000, eof: 3_000, term: 2_000 };

/** What `Ferry` and the handles speak through. */
export class Connection {
  #options;
  #program;
  #process;
  #calls = new Map();
  #lastId = 0;
  #greeted = false;
  #closing;
  #fault;
  #active = new Map();
  #failed = new Map();
  #forgotten = new FinalizationRegistry((id) => this.#sweep(id));
  #held = "auto";

  constructor(options) {
    this.#options = options;
    /** Subscriptions that are open, or about to be. */
    this.subscriptions = new Set();
    /** Batches that are open, by their ids. */
    this.batches = new Map();
    /** Listeners of the host to the events of all transfers and channels. */
    this.emitter = new Emitter();
    this.info = undefined;
  }

  /** Starts the sidecar and greets it. */
  async open() {
    const { bin, configFile, args = [], cwd, onStderr, startTimeout = 10_000 } = this.#options;
    const env = { ...process.env, ...this.#options.env };
    this.#program = find(bin, env);
    this.#process = new SidecarProcess({
      onLine: (line) => this.#received(line),
      onStderr,
      onEnd: (fault) => this.#ended(fault),
    });
    const words = ["serve", ...(configFile ? ["--config", toPath(configFile)] : []), ...args];
    await this.#process.start(this.#program, words, env, cwd && toPath(cwd));
    connections.add(this);
    try {
      this.info = await this.#greet(startTimeout);
    } catch (error) {
      await this.close("now");
      throw error;
    }
  }

  async #greet(ms) {
    const { clientInfo, stateKey, config, optOut, progressIntervalMs } = this.#options;
    const call = this.post("initialize", {
      clientInfo: clientInfo ?? { name: "ferry-node", version },
      protocolVersions: PROTOCOL_VERSIONS,
      processId: process.pid,
      rootPath: this.#options.rootPath && toPath(this.#options.rootPath),
      stateKey,
      config,
      optOutNotifications: optOut,
      progress: progressIntervalMs && { intervalMs: progressIntervalMs },
      maxOutLineBytes: MAX_LINE,
    });
    let hello;
    try {
      hello = await within(ms, "initialize", call.reply.promise);
    } catch (error) {
      if (error.code !== "ERR_UNSUPPORTED" || !error.data.supported) throw error;
      throw new VersionMismatch(this.#program, PROTOCOL_VERSIONS, error.data.supported);
    }
    if (!PROTOCOL_VERSIONS.includes(hello?.protocolVersion)) {
      if (hello?.protocolVersion === undefined) {
        throw new ProtocolError(`${this.#program}: not a reply to \`initialize\``);
      }
      throw new VersionMismatch(this.#program, PROTOCOL_VERSIONS, [hello.protocolVersion]);
    }
    this.#greeted = true;
    return hello;
  }

  /** The sidecar's process id; undefined after its end. */
  get pid() {
    return this.#process.alive ? this.#process.pid : undefined;
  }

  /** How the sidecar ended: `exitCode` and `signal`, null while it lives. */
  get exit() {
    return this.#process;
  }

  /** The folder relative paths start from; undefined leaves them to the sidecar's `rootPath`. */
  get base() {
    const { rootPath, cwd = "." } = this.#options;
    return rootPath === undefined ? resolve(toPath(cwd)) : undefined;
  }

  /** The remote of calls that name none. */
  get defaultRemote() {
    return this.info?.default;
  }

  /** Ends the sidecar: `shutdown`, end of stdin, SIGTERM, SIGKILL, reading on throughout. */
  close(mode = "drain") {
    this.#closing ??= Promise.resolve().then(() => this.#descend(mode));
    return this.#closing;
  }

  async #descend(mode) {
    const sidecar = this.#process;
    const grace = { ...CLOSE_GRACE, ...this.#options.closeGrace };
    this.hold();
    // What was added before is accepted still.
    for (const batch of this.batches.values()) batch.flush();
    if (this.#greeted && sidecar.alive) {
      const ms = mode === "drain" ? grace.drain : grace.now;
      try {
        // The sidecar's own deadline comes a little earlier, and ends with a reply.
        const { reply } = this.post("shutdown", { mode, deadlineMs: Math.floor(ms * 0.9) });
        await within(ms, "shutdown", reply.promise);
      } catch (error) {
        if (!(error instanceof FerryError)) throw error;
      }
      this.notify("exit", {});
    }
    sidecar.closeStdin();
    if (!(await sidecar.wait(grace.eof))) {
      sidecar.kill("SIGTERM");
      if (!(await sidecar.wait(grace.term))) sidecar.kill("SIGKILL");
    }
    await sidecar.wait();
  }

  /** Sends a request; its reply settles `reply`. Throws where it cannot be sent. */
  post(method, params = {}) {
    if (!this.#process.alive) throw this.#endError();
    const call = { id: ++this.#lastId, method, reply: new Deferred() };
    this.#write({ jsonrpc: "2.0", id: call.id, method, params });
    this.#calls.set(call.id, call);
    if (this.#calls.size === 1) this.hold();
    return call;
  }

  /** Sends a request and returns its result. */
  async request(method, params, { signal } = {}) {
    if (signal?.aborted) throw abortion(method, signal.reason);
    const call = this.post(method, params);
    if (!signal) return call.reply.promise;
    return new Promise((resolve, reject) => {
      const abort = () => {
        this.cancel(call);
        reject(abortion(method, signal.reason));
      };
      signal.addEventListener("abort", abort, { once: true });
      const done = () => signal.removeEventListener("abort", abort);
      call.reply.promise.finally(done).then(resolve, reject);
    });
  }

  /** The same, sent again where the sidecar has too much to do: none may be left out. */
  async patiently(method, params) {
    for (;;) {
      try {
        return await this.request(method, params);
      } catch (error) {
        if (error.code !== "ERR_OVERLOADED") throw error;
        await new Promise((resolve) => setTimeout(resolve, error.retryAfterMs));
      }
    }
  }

  /** Asks to cancel a request; its reply is still read. */
  cancel(call) {
    if (this.#calls.has(call.id)) this.notify("$/cancelRequest", { id: call.id });
  }

  /** Sends a notification, if anybody is left to read it. */
  notify(method, params) {
    if (!this.#process.alive) return;
    try {
      this.#write({ jsonrpc: "2.0", method, params });
    } catch (error) {
      if (!(error instanceof ConnectionClosed)) throw error;
    }
  }

  #write(message) {
    const line = encode(message);
    this.#options.trace?.("out", line);
    this.#process.write(line);
  }

  // The host's event loop

  /** Sets whether the host waits for the sidecar: "auto" (while work is open), true, false. */
  set held(held) {
    this.#held = held;
    this.hold();
  }

  /** Whether there is something to wait for. */
  get busy() {
    if (this.#calls.size + this.#active.size + this.subscriptions.size > 0) return true;
    return [...this.batches.values()].some((batch) => batch.busy);
  }

  /** Keeps the host's event loop going as long as there is something to wait for. */
  hold() {
    if (!this.#process.alive) return;
    const held = this.#held === "auto" ? this.busy : this.#held;
    this.#process.hold(held || this.#closing !== undefined);
  }

  // Handles: held while their transfer is under way, whether or not the host kept them. A failed
  // one hears on only as long as the host holds it, since its transfer may be retried.

  /** Routes a transfer's events to a handle. */
  add(handle) {
    const id = handle.transferId;
    const failed = this.#failedHandles(id).filter((other) => other !== handle);
    this.#keepFailed(id, failed);
    if (!this.#active.has(id)) this.#active.set(id, new Set());
    this.#active.get(id).add(handle);
    this.hold();
  }

  /** Lets go of a handle; `again`: it may hear of its transfer once more. */
  settle(handle, again) {
    const id = handle.transferId;
    const handles = this.#active.get(id);
    if (handles?.delete(handle) && handles.size === 0) this.#active.delete(id);
    if (again) {
      this.#keepFailed(id, [...this.#failedHandles(id), handle]);
      this.#forgotten.register(handle, id);
    }
    this.hold();
  }

  #failedHandles(id) {
    const references = this.#failed.get(id) ?? [];
    return references.map((each) => each.deref()).filter((handle) => handle !== undefined);
  }

  #keepFailed(id, handles) {
    if (handles.length === 0) this.#failed.delete(id);
    else this.#failed.set(id, handles.map((handle) => new WeakRef(handle)));
  }

  #sweep(id) {
    this.#keepFailed(id, this.#failedHandles(id));
  }

  // What comes back

  #received(line) {
    this.#options.trace?.("in", line);
    let message;
    try {
      message = JSON.parse(line.toString());
    } catch {
      const start = JSON.stringify(line.toString("utf8", 0, 80));
      throw new ProtocolError(`the program wrote a line that is not JSON: ${start}`);
    }
    if (typeof message !== "object" || message === null) {
      throw new ProtocolError(`the program wrote something that is no message: ${message}`);
    }
    if (message.method === undefined) {
      this.#replied(message);
    } else if (message.id !== undefined) {
      throw new ProtocolError("the program asks requests of its own: is it ferry?");
    } else {
      this.#told(String(message.method), message.params ?? {});
    }
  }

  #replied(message) {
    const call = this.#calls.get(message.id);
    if (call === undefined) {
      const reason = message.error?.message ?? "a reply to no request";
      throw new ProtocolError(`the program and this client disagree on a request: ${reason}`);
    }
    this.#calls.delete(message.id);
    if (this.#calls.size === 0) this.hold();
    if (message.error !== undefined) call.reply.reject(fromWire(message.error));
    else call.reply.resolve(message.result);
  }

  #told(method, params) {
    const event = toEvent(method, params);
    if (method === "message" || method === "status") {
      for (const subscription of [...this.subscriptions]) subscription.take(event);
    } else {
      this.batches.get(event.batchId)?.take(event);
      const active = this.#active.get(event.transferId) ?? [];
      const failed = this.#failed.size > 0 ? this.#failedHandles(event.transferId) : [];
      for (const handle of [...active, ...failed]) handle.take(event);
    }
    this.emitter.emit(event.name, event);
  }

  #endError() {
    if (this.#fault) return this.#fault;
    if (this.#closing) return new ConnectionClosed();
    const { exitCode, signal, stderrTail } = this.#process;
    return new ProcessDied(exitCode, signal, [...stderrTail]);
  }

  #ended(fault) {
    this.#fault = fault;
    connections.delete(this);
    const error = this.#endError();
    for (const { reply } of this.#calls.values()) reply.reject(error);
    this.#calls.clear();
    for (const handles of [...this.#active.values()]) {
      for (const handle of [...handles]) handle.fail(error);
    }
    for (const subscription of [...this.subscriptions]) subscription.end(error);
    for (const batch of this.batches.values()) batch.end(error);
    this.#active.clear();
    this.batches.clear();
    this.subscriptions.clear();
  }
}

const connections = new Set();

// The host has nothing more to do: its sidecars end in good order. One that was let go of although
// work is open does not make the host wait for that.
process.on("beforeExit", () => {
  for (const connection of connections) connection.close(connection.busy ? "now" : "drain");
});

function abortion(what, reason) {
  return new TransferCancelled("ERR_CANCELLED", `${what}: cancelled by its AbortSignal`, {
    data: { code: "ERR_CANCELLED", retryable: false },
    number: -32800,
    cause: reason,
  });
}

async function within(ms, what, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new RequestTimeout(what, ms)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
