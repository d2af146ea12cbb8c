/** One file of a batch: awaited for its attachment, observed, removed, tried again. */

import { TransferCancelled } from "./errors.js";
import { Observed } from "./observed.js";

const NOBODY = Object.freeze({});
const LIVE = new Set(["queued", "running", "paused"]);

/** A promise of its attachment, and an async iterable of its events; a retry begins anew. */
export class BatchFile extends Observed {
  #batch;
  #signal;

  constructor(batch, fileId, listeners, signal) {
    super();
    this.#batch = batch;
    this.#signal = signal;
    this.fileId = fileId;
    /** Functions of the call that added it, by the name of their event. */
    this.listeners = listeners ?? NOBODY;
    /** What it is once it is uploaded. */
    this.attachment = undefined;
    /** Settled once the sidecar has taken it in, or has not. */
    this.sent = undefined;
  }

  // For the host

  /** Whether it is queued, running or paused. */
  get live() {
    return LIVE.has(this.snapshot.state);
  }

  /** Takes it out of the batch; whether it was there. */
  remove() {
    return this.#batch.remove(this.fileId);
  }

  /** Tries it again; whether it had failed. */
  retry() {
    return this.#batch.retry(this.fileId);
  }

  /** Pauses it, which the batch waits for, and returns its state; it has begun to move. */
  pause() {
    return this.#batch.manage("transfer/pause", this.snapshot.transferId);
  }

  /** Goes on after a pause and returns its state. */
  resume() {
    return this.#batch.manage("transfer/resume", this.snapshot.transferId);
  }

  // For the batch

  /** Takes one of its events. */
  take(event) {
    // Tried again unasked, or by somebody else.
    if (event.name === "started" && this.done) this.again();
    this.observe(event, event.error);
    if (event.name === "uploaded") {
      this.attachment = event.attachment;
      this.succeed(event.attachment);
    } else if (event.error !== undefined) {
      this.lose(event.error);
    }
  }

  /** Begins anew, in line again; returns a function that takes this back. */
  again() {
    const takeBack = super.again();
    this.heed();
    return takeBack;
  }

  /** Has its AbortSignal, if it has one, remove it while it is under way. */
  heed() {
    if (this.#signal === undefined) return;
    const remove = () => this.#batch.remove(this.fileId, this.#signal.reason);
    // Where that fails, the batch tells why.
    this.obey(this.#signal, () => void remove().catch(() => {}));
  }

  /** Ends without an attachment; `state` where no event has told it. */
  drop(error, state) {
    this.lose(error, this.live ? state : undefined);
  }
}

/** Why there is no attachment: the host did not want it any more. */
export function removal(message, cause) {
  return new TransferCancelled("ERR_CANCELLED", message, {
    data: { code: "ERR_CANCELLED", retryable: false },
    number: -32800,
    cause,
  });
}
