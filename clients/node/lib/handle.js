/** A transfer under way: awaited for its result, iterated for its events, paused, cancelled. */

import { FerryError, TransferCancelled, TransferFailed } from "./errors.js";
import { ended, isTerminal } from "./events.js";
import { Observed } from "./observed.js";

/**
 * One transfer: a promise of its result, and an async iterable of its events.
 *
 * Iterating throws after an unhappy end. Leaving the loop early does not concern the transfer.
 */
export class TransferHandle extends Observed {
  #connection;
  #fromReply;
  #fromEvent;
  #rejoin;
  #call;
  #settledByEvent = true;
  #signal;
  #fault;
  #work;
  #feeder;

  /**
   * - fromReply, fromEvent: the result, from a reply or from the event that ends the transfer.
   * - rejoin: joins the transfer where an event does not carry all of the result.
   */
  constructor(connection, transferId, { fromReply, fromEvent, rejoin }) {
    super(transferId);
    this.transferId = transferId;
    this.#connection = connection;
    this.#fromReply = fromReply;
    this.#fromEvent = fromEvent;
    this.#rejoin = rejoin;
    connection.add(this);
  }

  // For the host

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
    if (!(this.snapshot.error instanceof TransferFailed)) return this.#command("transfer/retry");
    // The event comes before the reply, which still belongs to the attempt that failed.
    await this.catch(() => {});
    const takeBack = this.again();
    this.#settledByEvent = true;
    this.#fault = undefined;
    this.#connection.add(this);
    this.obey(this.#signal, this.#abort);
    try {
      return await this.#command("transfer/retry");
    } catch (error) {
      if (!this.done) {
        this.#connection.settle(this, true);
        takeBack();
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
    this.obey(signal, this.#abort);
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
    if (event.name === "failure" && this.ending?.name === "failure") return;
    const error = event.error && this.#reason(event.error);
    this.observe(event, error);
    if (!isTerminal(event) || !this.#settledByEvent || this.done) return;
    if (error !== undefined) return this.fail(error);
    let call;
    try {
      call = this.#rejoin?.(event);
    } catch (gone) {
      return this.fail(gone);
    }
    if (call !== undefined) this.begin(call);
    else this.#finish(() => this.#fromEvent(event));
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
        if (event !== undefined && this.ending === undefined) this.take(event);
      },
      (error) => {
        if (error.code === "ERR_OVERLOADED") setTimeout(() => this.look(), error.retryAfterMs);
        else this.fail(error);
      },
    );
  }

  /** Settles without success. */
  fail(error) {
    if (this.done) return;
    const reason = this.#reason(error);
    this.lose(reason);
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
    if (this.done) return;
    this.#fault ??= error;
    this.cancelSoon();
  }

  #abort = () => this.cancelSoon();

  async #finish(read) {
    try {
      await this.#work;
      this.succeed(read());
      this.#settle();
    } catch (error) {
      this.fail(error);
    }
  }

  #settle(error) {
    this.#feeder?.stop();
    this.#connection.settle(this, error instanceof TransferFailed);
  }

  #replied(result) {
    if (this.done) return;
    if (!this.#settledByEvent) this.#finish(() => this.#fromReply(result));
    else if (this.ending === undefined) this.look();
  }

  #refused(error) {
    // The event says whether it was rejected or failed; the reply's error is the same.
    this.fail(this.ending?.error ?? error);
  }

  async #command(method) {
    const { state } = await this.#connection.request(method, { transferId: this.transferId });
    return state;
  }
}
