/** A transfer under way: awaited for its result, iterated for its events, paused, cancelled. */

import { Deferred } from "./deferred.js";
import { Emitter } from "./emitter.js";
import { FerryError, TransferCancelled, TransferFailed } from "./errors.js";
import { EventStream } from "./event-stream.js";
import { TRANSFER_EVENTS, after, ended, initialState, isTerminal } from "./events.js";

/** Events that make others untrue. */
const REPLACES = { paused: ["paused", "resumed"], resumed: ["paused", "resumed"] };

/**
 * One transfer: a promise of its result, and an async iterable of its events.
 *
 * Iterating throws after an unhappy end. Leaving the loop early does not concern the transfer.
 */
export class TransferHandle {
  #connection;
  #fromReply;
  #fromEvent;
  #rejoin;
  #outcome = new Deferred();
  #call;
  #settledByEvent = true;
  #signal;
  #fault;
  #work;
  #feeder;
  #state;
  #latest = new Map();
  #streams = new Set();
  #emitter = new Emitter(TRANSFER_EVENTS);

  /**
   * - fromReply, fromEvent: the result, from a reply or from the event that ends the transfer.
   * - rejoin: joins the transfer where an event does not carry all of the result.
   */
  constructor(connection, transferId, { fromReply, fromEvent, rejoin }) {
    this.transferId = transferId;
    this.#connection = connection;
    this.#fromReply = fromReply;
    this.#fromEvent = fromEvent;
    this.#rejoin = rejoin;
    this.#state = initialState(transferId);
    connection.add(this);
  }

  // For the host

  /** What is known of it here; `Ferry.transfer` asks the sidecar. */
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

  /** Pauses it and returns its state; no effect where it is settled. */
  pause() {
    return this.#command("transfer/pause");
  }

  /** Goes on after a pause and returns its state. */
  resume() {
    return this.#command("transfer/resume");
  }

  /** Cancels it and returns its state; awaiting it then throws TransferCancelled. */
  cancel() {
    return this.#command("transfer/cancel");
  }

  /** Tries a failed transfer again: the handle can be awaited and iterated anew. */
  async retry() {
    if (!(this.#state.error instanceof TransferFailed)) return this.#command("transfer/retry");
    // The event comes before the reply, which still belongs to the attempt that failed.
    await this.#outcome.promise.catch(() => {});
    const [outcome, state] = [this.#outcome, this.#state];
    this.#outcome = new Deferred();
    this.#settledByEvent = true;
    this.#fault = undefined;
    this.#latest.clear();
    this.#state = { ...state, state: "queued", error: null };
    this.#connection.add(this);
    this.#obey();
    try {
      return await this.#command("transfer/retry");
    } catch (error) {
      if (!this.#outcome.done) {
        this.#connection.settle(this, true);
        [this.#outcome, this.#state] = [outcome, state];
      }
      throw error;
    }
  }

  // For the client

  /** Settles with the reply of a request or, detached, with the event that ends it. */
  begin(call, { detached = false, signal } = {}) {
    this.#call = call;
    this.#settledByEvent = detached;
    call.reply.promise.then(
      (result) => this.#replied(result),
      (error) => this.#refused(error),
    );
    this.#signal = signal;
    this.#obey();
  }

  /** Ties the task that sends a stream's bytes: it ends with the transfer, and fails it. */
  feed(feeder) {
    this.#feeder = feeder;
    feeder.run().catch((error) => this.#broken(error));
  }

  /** Ties the task that takes a download's bytes: without its end there is no success. */
  drain(work) {
    this.#work = work;
    work.catch((error) => this.#broken(error));
  }

  /** Cancels it without waiting. */
  cancelSoon() {
    // A detached transfer outlives its request.
    if (!this.#settledByEvent && !this.#call.reply.done) return this.#connection.cancel(this.#call);
    try {
      this.#connection.post("transfer/cancel", { transferId: this.transferId });
    } catch (error) {
      if (!(error instanceof FerryError)) throw error;
    }
  }

  /** Takes an event of this transfer. */
  take(event) {
    // The snapshot that told of a failure may have been faster.
    if (event.name === "failure" && this.#latestOutcome()?.name === "failure") return;
    for (const outdated of REPLACES[event.name] ?? [event.name]) this.#latest.delete(outdated);
    this.#latest.set(event.name, event);
    this.#state = after(this.#state, event);
    this.#emitter.emit(event.name, event);
    for (const stream of this.#streams) stream.push(event);
    if (!isTerminal(event)) return;
    if (event.name !== "failure") this.#emitter.clear();
    const error = event.error && this.#reason(event.error);
    this.#endStreams(error);
    if (!this.#settledByEvent || this.#outcome.done) return;
    if (error !== undefined) return this.fail(error);
    let call;
    try {
      call = this.#rejoin?.(event);
    } catch (gone) {
      return this.fail(gone);
    }
    if (call !== undefined) this.begin(call);
    else this.#succeed(() => this.#fromEvent(event));
  }

  /** Asks what became of it: where it has ended before, no event will follow. */
  look() {
    let call;
    try {
      call = this.#connection.post("transfer/get", { transferId: this.transferId });
    } catch (error) {
      return this.fail(error);
    }
    call.reply.promise.then(
      (snapshot) => {
        const event = ended(snapshot);
        if (event !== undefined && !this.#hasEnded()) this.take(event);
      },
      (error) => {
        if (error.code === "ERR_OVERLOADED") setTimeout(() => this.look(), error.retryAfterMs);
        else this.fail(error);
      },
    );
  }

  /** Settles without success. */
  fail(error) {
    if (this.#outcome.done) return;
    const reason = this.#reason(error);
    this.#outcome.reject(reason);
    this.#settle(reason);
  }

  // Where this side cancelled because its source failed, that is what the host wants to know.
  #reason(error) {
    if (!(error instanceof TransferCancelled)) return error;
    if (this.#fault !== undefined) return this.#fault;
    if (this.#signal?.aborted) error.cause ??= this.#signal.reason;
    return error;
  }

  #broken(error) {
    if (this.#outcome.done) return;
    this.#fault ??= error;
    this.cancelSoon();
  }

  #obey() {
    const signal = this.#signal;
    if (signal === undefined) return;
    const abort = () => this.cancelSoon();
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    const done = () => signal.removeEventListener("abort", abort);
    this.#outcome.promise.then(done, done);
  }

  async #succeed(read) {
    try {
      await this.#work;
      this.#outcome.resolve(read());
      this.#settle();
    } catch (error) {
      this.fail(error);
    }
  }

  #settle(error) {
    this.#feeder?.stop();
    this.#endStreams(error);
    this.#connection.settle(this, error instanceof TransferFailed);
  }

  #endStreams(error) {
    for (const stream of this.#streams) stream.end(error);
    this.#streams.clear();
  }

  #replied(result) {
    if (this.#outcome.done) return;
    if (!this.#settledByEvent) this.#succeed(() => this.#fromReply(result));
    else if (!this.#hasEnded()) this.look();
  }

  #refused(error) {
    // The event says whether it was rejected or failed; the reply's error is the same.
    this.fail(this.#latestOutcome()?.error ?? error);
  }

  #hasEnded() {
    return [...this.#latest.values()].some(isTerminal);
  }

  #latestOutcome() {
    const last = [...this.#latest.values()].at(-1);
    return last?.error === undefined ? undefined : last;
  }

  async #command(method) {
    const { state } = await this.#connection.request(method, { transferId: this.transferId });
    return state;
  }
}
