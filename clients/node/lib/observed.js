/** What can be awaited for a result, and heard or iterated for its events, over retries too. */

import { Deferred } from "./deferred.js";
import { Emitter } from "./emitter.js";
import { EventStream } from "./event-stream.js";
import { TRANSFER_EVENTS, after, initialState, isTerminal } from "./events.js";

/** Events that make others untrue. */
const REPLACES = { paused: ["paused", "resumed"], resumed: ["paused", "resumed"] };

const NONE = Object.freeze([]);

/** A promise of a result, and an async iterable of events, which throws after an unhappy end. */
export class Observed {
  #state;
  /** The latest event of each kind, in the order they came. */
  #latest = NONE;
  #settled;
  // Made when they are asked for: a batch may have very many files.
  #outcome;
  #streams;
  #emitter;

  constructor(transferId) {
    this.#state = initialState(transferId);
  }

  // For the host

  /** What is known of it here. */
  get snapshot() {
    return this.#state;
  }

  /** Whether it is settled. */
  get done() {
    return this.#settled !== undefined;
  }

  then(fulfilled, rejected) {
    return this.#promise.then(fulfilled, rejected);
  }

  catch(rejected) {
    return this.#promise.catch(rejected);
  }

  finally(act) {
    return this.#promise.finally(act);
  }

  [Symbol.asyncIterator]() {
    return this.events();
  }

  /** Its events, from the latest of each kind on. */
  events() {
    const stream = new EventStream(this.#latest, () => this.#streams?.delete(stream));
    if (this.done) {
      this.#promise.then(
        () => stream.end(),
        (error) => stream.end(error),
      );
    } else {
      this.#streams ??= new Set();
      this.#streams.add(stream);
    }
    return stream;
  }

  /**
   * Calls a function with each event of a name (`started`, `progress`, `uploaded`, …); returns a
   * function that ends this.
   *
   * Dropped after uploaded, downloaded, rejected and cancelled; kept over a failure. One that is
   * added late is called with the latest event of its name.
   */
  on(name, call) {
    this.#emitter ??= new Emitter(TRANSFER_EVENTS);
    const remove = this.#emitter.on(name, call);
    const seen = this.#latest.find((event) => event.name === name);
    if (seen !== undefined) this.#emitter.notify(remove.listener, name, seen);
    return remove;
  }

  /** Removes one listener, those of one event, or all of them. */
  off(name, call) {
    this.#emitter?.off(name, call);
  }

  // For the client

  /** Takes an event; one that ends it ends the streams, with `error` where it is unhappy. */
  observe(event, error) {
    const outdated = REPLACES[event.name] ?? [event.name];
    this.#latest = this.#latest.filter(({ name }) => !outdated.includes(name));
    this.#latest.push(event);
    this.#state = after(this.#state, event);
    this.#emitter?.emit(event.name, event);
    for (const stream of this.#streams ?? NONE) stream.push(event);
    if (!isTerminal(event)) return;
    if (event.name !== "failure") this.#emitter?.clear();
    this.#endStreams(error);
  }

  /** Settles with a result. */
  succeed(result) {
    this.#settle({ result });
    this.#endStreams();
  }

  /** Settles without one; `state` where no event has told it. */
  lose(error, state) {
    if (state !== undefined) this.#state = { ...this.#state, state, error };
    this.#settle({ error });
    this.#endStreams(error);
  }

  /** Begins anew, in line again; returns a function that takes this back. */
  again() {
    const before = [this.#outcome, this.#settled, this.#state];
    if (this.done) this.#outcome = this.#settled = undefined;
    this.#latest = NONE;
    this.#state = { ...this.#state, state: "queued", error: null };
    return () => ([this.#outcome, this.#settled, this.#state] = before);
  }

  /** The event that ended it, unless it goes on. */
  get ending() {
    const last = this.#latest.at(-1);
    return last && isTerminal(last) ? last : undefined;
  }

  /** Has a function called when a signal is aborted, until this is settled. */
  obey(signal, act) {
    if (signal === undefined) return;
    if (signal.aborted) return act();
    signal.addEventListener("abort", act, { once: true });
    const done = () => signal.removeEventListener("abort", act);
    this.#promise.then(done, done);
  }

  get #promise() {
    this.#outcome ??= new Deferred();
    this.#tell();
    return this.#outcome.promise;
  }

  #settle(settled) {
    this.#settled ??= settled;
    this.#tell();
  }

  #tell() {
    if (this.#settled === undefined || this.#outcome === undefined) return;
    if ("error" in this.#settled) this.#outcome.reject(this.#settled.error);
    else this.#outcome.resolve(this.#settled.result);
  }

  #endStreams(error) {
    for (const stream of this.#streams ?? NONE) stream.end(error);
    this.#streams?.clear();
  }
}
