/** Batches: many uploads to one destination, run and reported together. */

import { randomUUID } from "node:crypto";

import { BatchFile, removal } from "./batch-file.js";
import { Deferred } from "./deferred.js";
import { Emitter } from "./emitter.js";
import { ConnectionClosed } from "./errors.js";
import { EventStream } from "./event-stream.js";
import { BATCH_EVENTS } from "./events.js";
import { Pages } from "./pages.js";
import { prepare } from "./sources.js";
import { defined } from "./transfers.js";

/** The most content of one `batch/upload`, so that it fits a line. */
const CALL_BYTES = 8 * 1024 * 1024;

/** The most files of one `batch/upload`. */
const CALL_FILES = 1000;

/**
 * Uploads to one channel, or below one prefix: `await using b = await f.batch({ channel: "trip" })`.
 *
 * Iterated for the events of its files, until it is complete. `close()` stops listening; the batch
 * lives in the sidecar until `clear()`, over restarts too, and is joined again by the same
 * `batchId` and parameters.
 */
export class Batch {
  #connection;
  #settings;
  #emitter = new Emitter(BATCH_EVENTS);
  #streams = new Set();
  #prefix = randomUUID();
  #added = 0;
  #unsent = [];
  #removing = new Set();
  #drained = new Deferred();
  #latest;
  #over;

  constructor(connection, settings) {
    this.#connection = connection;
    this.#settings = { batchId: randomUUID(), ...defined(settings) };
    this.batchId = this.#settings.batchId;
    /** Its files by `fileId`, as far as they are known here; `entries()` has all. */
    this.files = new Map();
    if (Symbol.asyncDispose) this[Symbol.asyncDispose] = async () => this.close();
  }

  /** Makes the batch, or joins it. */
  async start() {
    const { batches } = this.#connection;
    if (batches.has(this.batchId)) {
      throw new RangeError(`the batch "${this.batchId}" is open here already: close it first`);
    }
    batches.set(this.batchId, this);
    try {
      await this.#connection.request("batch/create", this.#settings);
      // One that was joined may be at work.
      if ((await this.#ask("batch/get", { limit: 1 })).status === "idle") this.#drain();
    } catch (error) {
      this.close();
      throw error;
    }
    return this;
  }

  /** Stops listening, and lets go of what is under way; the sidecar goes on with it. */
  close() {
    this.#endStreams();
    this.end(new ConnectionClosed("this batch is closed: join it again by its batchId"));
    const { batches } = this.#connection;
    if (batches.get(this.batchId) === this) batches.delete(this.batchId);
    this.#connection.hold();
  }

  /** Whether something of it is under way. */
  get busy() {
    return !this.#drained.done;
  }

  /**
   * Adds a file: a path, bytes or `{ text }`. Those that are added together go in one call.
   *
   * Functions in `on`, by the name of their event, are called before those of the batch; one for
   * `complete` too. An AbortSignal removes the file. A `fileId` that failed is tried again with the
   * new source.
   */
  add(source, { fileId, on, signal, ...options } = {}) {
    return this.#add(source, this.#connection.base, fileId, on, signal, defined(options));
  }

  /**
   * Adds several files: each a source, or an object of `source` and what else `add` takes. `on` and
   * `signal` hold for those that have none of their own.
   */
  addAll(sources, { on, signal } = {}) {
    const { base } = this.#connection;
    return Array.from(sources, (each) => {
      if (each?.source === undefined) return this.#add(each, base, undefined, on, signal);
      const { source, fileId, on: own = on, signal: ownSignal = signal, ...options } = each;
      return this.#add(source, base, fileId, own, ownSignal, defined(options));
    });
  }

  /**
   * Calls a function with each event of a name, those of all files, and `complete`; returns a
   * function that ends this.
   */
  on(name, call) {
    return this.#emitter.on(name, call);
  }

  /** Removes one listener, those of one event, or all of them. */
  off(name, call) {
    this.#emitter.off(name, call);
  }

  [Symbol.asyncIterator]() {
    return this.events();
  }

  /** What happens from now on, until the batch is complete. */
  events() {
    const stream = new EventStream([], () => this.#streams.delete(stream));
    this.#streams.add(stream);
    if (!this.busy) this.#endStreams();
    return stream;
  }

  /** Waits until nothing is under way, and tells what became of the batch: its event `complete`. */
  async complete() {
    for (let drained; drained !== this.#drained; ) {
      drained = this.#drained;
      await drained.promise;
    }
    if (this.#latest === undefined) {
      const { counts } = await this.#ask("batch/get", { limit: 1 });
      const { succeeded: successful, rejected, failed } = counts;
      this.#latest = {
        name: "complete", seq: 0, batchId: this.batchId, counts: { successful, rejected, failed },
        successful: [], rejected: [], failed: [], truncated: successful + rejected + failed > 0,
      };
    }
    return this.#latest;
  }

  /** Tries a file that failed again; whether it had. */
  async retry(fileId) {
    return (await this.#retry(fileId)) > 0;
  }

  /** Tries all files again that failed, or that an earlier process left; how many. */
  retryFailed() {
    return this.#retry();
  }

  /** Takes a file out, whatever its state; whether it was there. */
  async remove(fileId, reason) {
    this.flush();
    // At once: what is still told of it no longer counts, and the batch may be complete before the
    // reply is here.
    const file = this.files.get(fileId);
    this.files.delete(fileId);
    this.#removing.add(fileId);
    try {
      await file?.sent;
      const { removed } = await this.#ask("batch/remove", { fileId });
      file?.drop(removal("the file was removed from its batch", reason), "cancelled");
      return removed;
    } catch (error) {
      if (file !== undefined) this.files.set(fileId, file);
      throw error;
    } finally {
      this.#removing.delete(fileId);
    }
  }

  /** Drops the batch with all its files; what was uploaded to a channel and not sent goes. */
  async clear() {
    await this.#ask("batch/clear");
    this.#endStreams();
    this.end(removal("the batch was cleared"), "cancelled");
    this.files.clear();
    this.close();
  }

  /** Changes how it goes about its files, from the next one on. */
  async configure(settings) {
    await this.#ask("batch/configure", settings);
  }

  /** How it stands: awaited, with its `status` and `counts`; iterated, its files as they were added. */
  entries(options) {
    return this.#pages("batch/get", options, "files");
  }

  /** What is uploaded, in the order it was added. */
  attachments(options) {
    return this.#pages("batch/attachments", options, "attachments");
  }

  /**
   * Announces what is uploaded and not yet sent, and returns the `messages` and their `count`; where
   * it is `truncated`, `entries()` has the message of each file. Called again, it sends what is
   * missing. Where not all could be sent, `error.data` has the same of those that were.
   */
  send(options) {
    return this.#ask("batch/send", options);
  }

  // For the client

  /** Takes an event of this batch. */
  take(event) {
    if (event.name === "complete") return this.#completed(event);
    const { fileId } = event;
    if (this.#removing.has(fileId)) return;
    let file = this.files.get(fileId);
    // The one that was refused is the one of which nothing was told before.
    if (event.duplicate && (file === undefined || file.snapshot.transferId !== "")) return;
    if (file === undefined) {
      file = new BatchFile(this, fileId);
      this.files.set(fileId, file);
    }
    if (event.name === "started") this.#work();
    file.take(event);
    this.#tell(event, [file.listeners[event.name]]);
  }

  /** Nothing more will come, and why. */
  end(error, state) {
    this.#over ??= error;
    for (const file of this.files.values()) file.drop(error, state);
    this.#drained.reject(error);
    this.#endStreams(error);
  }

  /** Sends what was added: all of it, or so many calls now and the rest in later turns. */
  flush(most = Infinity) {
    for (let calls = 0; this.#unsent.length > 0 && calls < most; calls++) {
      let [count, room] = [0, CALL_BYTES];
      for (const item of this.#unsent.slice(0, CALL_FILES)) {
        room -= Buffer.byteLength(item.data ?? item.text ?? "");
        if (count > 0 && room < 0) break;
        count += 1;
      }
      this.#upload(this.#unsent.splice(0, count));
    }
    if (this.#unsent.length > 0) setImmediate(() => this.flush(1));
  }

  /** Sends a command to one of its transfers; returns the state. */
  async manage(method, transferId) {
    return (await this.#connection.request(method, { transferId })).state;
  }

  #add(source, base, chosen, on, signal, options) {
    if (this.#over !== undefined) throw this.#over;
    const { fields, stream } = prepare(source, base);
    if (stream !== undefined) {
      throw new TypeError("a batch takes paths, bytes of at most 8 MiB and { text }");
    }
    const fileId = chosen ?? `${this.#prefix}-${++this.#added}`;
    const known = this.files.get(fileId);
    const isTaken = known && !["failed", "interrupted"].includes(known.snapshot.state);
    if (isTaken || this.#removing.has(fileId)) {
      throw new RangeError(`the batch has a file "${fileId}": remove it first, and wait for that`);
    }
    for (const name in on) this.#emitter.check(name);
    const file = new BatchFile(this, fileId, on, signal);
    this.files.set(fileId, file);
    // Later: to write very many files down takes a while, as to add them does.
    if (this.#unsent.length === 0) setImmediate(() => this.flush(1));
    fields.fileId = fileId;
    this.#unsent.push(options === undefined ? fields : { ...fields, ...options });
    this.#work();
    file.heed();
    return file;
  }

  #completed(event) {
    this.#latest = event;
    this.#tell(event, new Set([...this.files.values()].map((file) => file.listeners.complete)));
    // Of files that are on their way the sidecar knew nothing.
    if (!this.#hasLive()) this.#drain();
  }

  #tell(event, first) {
    for (const call of first) if (call !== undefined) queueMicrotask(() => call(event));
    this.#emitter.emit(event.name, event);
    for (const stream of this.#streams) stream.push(event);
  }

  #hasLive() {
    return [...this.files.values()].some((file) => file.live);
  }

  #work() {
    if (this.busy) return;
    this.#drained = new Deferred();
    this.#connection.hold();
  }

  #drain() {
    this.#drained.resolve();
    this.#endStreams();
    this.#connection.hold();
  }

  #endStreams(error) {
    for (const stream of this.#streams) stream.end(error);
    this.#streams.clear();
  }

  #upload(items) {
    const files = items.map((item) => this.files.get(item.fileId));
    const sent = this.#ask("batch/upload", { items }).catch((error) => {
      for (const file of files) file.drop(error, "rejected");
      if (!this.#hasLive()) this.#drain();
    });
    for (const file of files) file.sent = sent;
  }

  async #retry(fileId) {
    const again = [...this.files.values()].filter(({ fileId: id, snapshot }) => {
      return ["failed", "interrupted"].includes(snapshot.state) && [undefined, id].includes(fileId);
    });
    const takeBack = again.map((file) => file.again());
    const wasBusy = this.busy;
    this.#work();
    let count = 0;
    try {
      count = (await this.#ask("batch/retry", { fileId })).retried;
    } finally {
      if (count === 0 && !wasBusy) {
        takeBack.forEach((act) => act());
        this.#drain();
      }
    }
    return count;
  }

  #ask(method, params) {
    return this.#connection.patiently(method, { batchId: this.batchId, ...params });
  }

  #pages(method, { next, ...params } = {}, entries) {
    return new Pages(
      (mark) => this.#ask(method, { ...params, next: mark }),
      (page) => page[entries],
      (page) => page.next,
      next,
    );
  }
}
