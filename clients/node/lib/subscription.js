/** Messages of channels, as they come. */

import { FerryError, fromWire } from "./errors.js";

/** Messages kept for a consumer that does not take them. */
const BACKLOG = 10_000;

/**
 * Iterated for its messages, each once and in order; `close()` ends it.
 *
 * `timetoken` is where to go on later (`since`). A consumer that falls 10,000 messages behind gets
 * them, then a FerryError with code CLIENT_TOO_SLOW: nothing is skipped in silence. Where the
 * sidecar ends the subscription, the iteration ends with its error, after what is queued.
 */
export class Subscription {
  #connection;
  #ask;
  #names;
  #onStatus;
  #queue = [];
  #waiting = [];
  #seen = new Map();
  #floor = 0n;
  #started = false;
  #ended = false;
  #error;
  #lost;

  constructor(connection, { onStatus, ...ask }) {
    this.#connection = connection;
    this.#ask = ask;
    this.#names = new Set([...ask.channels, ...(ask.groups ?? [])]);
    this.#onStatus = onStatus;
    this.timetoken = ask.since ?? "0";
    if (Symbol.asyncDispose) this[Symbol.asyncDispose] = () => this.close();
  }

  /** Subscribes. */
  async start() {
    // Before the request: a message may overtake its reply.
    this.#connection.subscriptions.add(this);
    try {
      const { timetoken } = await this.#connection.request("channel/subscribe", this.#ask);
      if (this.#ask.since === undefined) {
        this.#floor = BigInt(timetoken);
        if (BigInt(timetoken) > BigInt(this.timetoken)) this.timetoken = timetoken;
      }
    } catch (error) {
      this.#leave();
      throw error;
    }
    this.#started = true;
    this.#endIfLost();
    return this;
  }

  /** Unsubscribes from what no other subscription of this client needs. */
  async close() {
    this.end();
    if (!this.#leave()) return;
    const others = [...this.#connection.subscriptions].filter((s) => s.#remote === this.#remote);
    const needed = new Set(others.flatMap((other) => [...other.#names]));
    const gone = {};
    for (const key of ["channels", "groups"]) {
      const names = (this.#ask[key] ?? []).filter((name) => !needed.has(name));
      if (names.length > 0) gone[key] = names;
    }
    if (Object.keys(gone).length === 0) return;
    try {
      const ask = { ...gone, remote: this.#ask.remote };
      await this.#connection.request("channel/unsubscribe", ask);
    } catch (error) {
      // Where the process is gone, so is the subscription.
      if (!(error instanceof FerryError)) throw error;
    }
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  next() {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#serve();
    });
  }

  /** Leaving the loop closes it. */
  async return(value) {
    await this.close();
    this.#queue = [];
    return { done: true, value };
  }

  // For the client

  /** Takes a notification: a message if it is one of this subscription's and new to it. */
  take({ name, ...told }) {
    if (this.#ended || told.remote !== this.#remote) return;
    if (name === "status") return this.#changed(told);
    if (!this.#names.has(told.channel) && !this.#names.has(told.subscription)) return;
    // Another subscription's `since` brings older messages of the same channel again.
    const moment = BigInt(told.timetoken);
    if (moment <= (this.#seen.get(told.channel) ?? this.#floor)) return;
    this.#seen.set(told.channel, moment);
    this.#queue.push(told);
    if (this.#queue.length >= BACKLOG) {
      const message =
        `${BACKLOG} messages were waiting to be taken: take them faster, and go on with ` +
        "subscribe(channels, { since: subscription.timetoken })";
      this.end(new FerryError("CLIENT_TOO_SLOW", message, { retryable: true }));
    }
    this.#serve();
  }

  /** Ends the iteration, with an error where there is one, after what is queued. */
  end(error) {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    this.#serve();
  }

  #changed(status) {
    if (this.#onStatus) queueMicrotask(() => this.#onStatus(status));
    if (status.state === "disconnected" && status.error) this.#lost = fromWire(status.error);
    else if (status.state === "connected") this.#lost = undefined;
    this.#endIfLost();
  }

  #endIfLost() {
    // Before the reply a loss may be one of earlier subscriptions: `connected` follows then.
    if (!this.#started || this.#lost === undefined) return;
    this.#leave(); // there is nothing left to unsubscribe from
    this.end(this.#lost);
  }

  #serve() {
    while (this.#waiting.length > 0 && (this.#queue.length > 0 || this.#ended)) {
      const { resolve, reject } = this.#waiting.shift();
      if (this.#queue.length > 0) {
        const value = this.#queue.shift();
        this.timetoken = value.timetoken;
        resolve({ done: false, value });
      } else if (this.#error !== undefined) {
        reject(this.#error);
      } else {
        resolve({ done: true, value: undefined });
      }
    }
  }

  #leave() {
    const left = this.#connection.subscriptions.delete(this);
    if (left) this.#connection.hold();
    return left;
  }

  get #remote() {
    return this.#ask.remote ?? this.#connection.defaultRemote;
  }
}
