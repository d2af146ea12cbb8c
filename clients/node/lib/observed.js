/** What can be awaited for a result, and heard or iterated for its events, over retries too. */

import { Deferred } from "./deferred.js";
import { Emitter } from "./emitter.js";
import { EventStream } from "./event-stream.js";
import { TRANSFER_EVENTS, after, initialState, isTerminal } from "./events.js";

/** Events that make others untrue. */
const REPLACES = { paused: ["paused", "resumed"], resumed: ["paused", "resumed"] };

/** A promise of a result, and an async iterable of events, which throws after an unhappy end. */
export class Observed {
  #outcome = new Deferred();
  #state;
  #latest = new Map();
  #last;
  #streams = new Set();
  #emitter = new Emitter(TRANSFER_EVENTS);

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
    return this.#outcome.done;
  }

  then(fulfilled, rejected) {
    return this.#outcome.promise.then(fulfilled, rejected);
  }

  catch(rejected) {
    return this.#outcome.promise.catch(rejected);
  }

  finally(act) {
    return this.#outcome.promise.finally(act);
  }

  [Symbol.asyncIterator]() {
    return this.events();
  }

  /** Its events, from the latest of each kind on. */
  events() {
    const stream = new EventStream(this.#latest.values(), () => this.#streams.delete(stream));
    if (this.#outcome.done) {
      this.#outcome.promise.then(
        () => stream.end(),
        (error) => stream.end(error),
      );
    } else {
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
    const remove = this.#emitter.on(name, call);
    const seen = this.#latest.get(name);
    if (seen !== undefined) this.#emitter.notify(remove.listener, name, seen);
    return remove;
  }

  /** Removes one listener, those of one event, or all of them. */
  off(name, call) {
    this.#emitter.off(name, call);
  }

  // For the client

  /** Takes an event; one that ends it ends the streams, with `error` where it is unhappy. */
  observe(event, error) {
    for (const outdated of REPLACES[event.name] ?? [event.name]) this.#latest.delete(outdated);
    this.#latest.set(event.name, event);
    this.#last = event;
    this.#state = after(this.#state, event);
    this.#emitter.emit(event.name, event);
    for (const stream of this.#streams) stream.push(event);
    if (!isTerminal(event)) return;
    if (event.name !== "failure") this.#emitter.clear();
    this.#endStreams(error);
  }

  /** Settles with a result. */
  succeed(result) {
    this.#outcome.resolve(result);
    this.#endStreams();
  }

  /** Settles without one; `state` where no event has told it. */
  lose(error, state) {
    if (state !== undefined) this.#state = { ...this.#state, state, error };
    this.#outcome.reject(error);
    this.#endStreams(error);
  }

  /** Begins anew, in line again; returns a function that takes this back. */
  again() {
    const [outcome, state] = [this.#outcome, this.#state];
    this.#outcome = new Deferred();
    this.#latest.clear();
    this.#last = undefined;
    this.#state = { ...state, state: "queued", error: null };
    return () => ([this.#outcome, this.#state] = [outcome, state]);
  }

  /** The event that ended it, unless it goes on. */
  get ending() {
    return this.#last && isTerminal(this.#last) ? this.#last : undefined;
  }

  /** Has a function called when a signal is aborted, until this is settled. */
  obey(signal, act) {
    if (signal === undefined) return;
    if (signal.aborted) return act();
    signal.addEventListener("abort", act, { once: true });
    const done = () => signal.removeEventListener("abort", act);
    this.#outcome.promise.then(done, done);
  }

  #endStreams(error) {
    for (const stream of this.#streams) stream.end(error);
    this.#streams.clear();
  }
}
