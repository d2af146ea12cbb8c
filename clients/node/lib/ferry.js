/** The client: one sidecar and every method of its protocol. */

import { Batch } from "./batch.js";
import { Connection } from "./connection.js";
import { ProtocolError } from "./errors.js";
import { TransferHandle } from "./handle.js";
import { Pages } from "./pages.js";
import { Subscription } from "./subscription.js";
import { download, upload } from "./transfers.js";

/**
 * A sidecar of one's own: `await using f = await Ferry.start()`, or `close()` at the end.
 *
 * Transfers (`send`, `put`, `download`, `get`) return a handle at once, to await, iterate, pause
 * and cancel; lists return Pages, to await for one page or iterate for all; the rest are promises.
 * Errors are FerryError and its subclasses. Names of parameters and results are the protocol's.
 */
export class Ferry {
  #connection;

  /** Starts a sidecar; see the type StartOptions. */
  static async start(options = {}) {
    const connection = new Connection(options);
    await connection.open();
    return new Ferry(connection);
  }

  constructor(connection) {
    if (!(connection instanceof Connection)) throw new TypeError("use await Ferry.start(options)");
    this.#connection = connection;
    if (Symbol.asyncDispose) this[Symbol.asyncDispose] = () => this.close();
  }

  /** What the sidecar said of itself. */
  get info() {
    return this.#connection.info;
  }

  /** The sidecar's process id; undefined after its end. */
  get pid() {
    return this.#connection.pid;
  }

  /** The code the sidecar exited with; null while it lives, or where a signal ended it. */
  get exitCode() {
    return this.#connection.exit.exitCode;
  }

  /** The signal that ended the sidecar, or null. */
  get signal() {
    return this.#connection.exit.signal;
  }

  /**
   * Ends the sidecar and leaves no process: "drain" lets accepted transfers finish, "now" cancels
   * them.
   */
  close(mode = "drain") {
    return this.#connection.close(mode);
  }

  /** Keeps the host's event loop going as long as the sidecar lives. */
  ref() {
    this.#connection.held = true;
    return this;
  }

  /** Lets the host end although work is open. (By itself it waits for open work only.) */
  unref() {
    this.#connection.held = false;
    return this;
  }

  /** Sends any request; an AbortSignal cancels it. */
  request(method, params, options) {
    return this.#connection.request(method, params, options);
  }

  /** Calls a function with each event of a name, of all transfers and channels. */
  on(name, call) {
    return this.#connection.emitter.on(name, call);
  }

  /** Removes one listener, those of one event, or all of them. */
  off(name, call) {
    this.#connection.emitter.off(name, call);
  }

  // Files

  /** Uploads a file and announces it on a channel. */
  send(source, options) {
    return upload(this.#connection, "file/send", source, options, {
      fromReply: (result) => result,
      fromEvent: ({ name, transferId, file, sha256 }) => {
        if (file === undefined) throw new ProtocolError(`a send ended with \`${name}\` alone`);
        return { transferId, ...(sha256 && { sha256 }), ...file };
      },
    });
  }

  /** Announces an uploaded file (again). */
  publish({ channel, id, name }, options) {
    return this.request("file/publish", { channel, id, name, ...options });
  }

  /** The files of a channel. */
  files(channel, options) {
    return this.#pages("file/list", { channel, ...options }, "files");
  }

  /** Where a file can be had, usable as it is: keep it as secret as the file. */
  async fileUrl({ channel, id, name }, options) {
    return (await this.request("file/url", { channel, id, name, ...options })).url;
  }

  /**
   * Downloads a file named by `{ channel, id, name }`, `{ url }` or `{ messageId }`.
   *
   * It goes to a path or a Writable (`to`), into memory (`inline`), through `handle.chunks()`
   * (`stream`), or to a temporary file. The name is what the sender chose: a `to` that ends in "/"
   * is a folder, in which the file gets that name made safe.
   */
  download(file, options = {}) {
    const { channel, id, name, url, messageId } = file;
    // A file that was sent or listed has a name and may have a url; the name is the better one.
    const values = id !== undefined ? { channel, id, name } : { url, messageId };
    return download(this.#connection, "file/download", values, options);
  }

  /** Deletes a file of a channel. */
  async deleteFile({ channel, id, name }, options) {
    await this.request("file/delete", { channel, id, name, ...options });
  }

  // Objects

  /** Stores an object. */
  put(source, ref, options = {}) {
    return upload(this.#connection, "object/put", source, { ref, ...options }, {
      fromReply: (result) => result,
      fromEvent: ({ name, transferId, object }) => {
        if (object === undefined) throw new ProtocolError(`a put ended with \`${name}\` alone`);
        const { metadata, url } = object;
        return { transferId, metadata, ...(url && { url }) };
      },
    });
  }

  /** Downloads an object; targets as for `download`. */
  get(ref, options = {}) {
    return download(this.#connection, "object/get", { ref }, options);
  }

  /** What the remote knows of an object. */
  async metadata(ref, options) {
    return (await this.request("object/metadata", { ref, ...options })).metadata;
  }

  /** Changes metadata: what is not named stays, null clears. */
  async update(ref, metadata, options) {
    return (await this.request("object/update", { ref, metadata, ...options })).metadata;
  }

  /** Where an object can be had, for `expiresIn` seconds where the remote limits it. */
  url(ref, options) {
    return this.request("object/url", { ref, ...options });
  }

  /** What is below a reference (default: the root): awaited, also its prefixes ("folders"). */
  list(ref, options) {
    return this.#pages("object/list", { ref, ...options }, "items");
  }

  /** Deletes an object. */
  async delete(ref, options) {
    await this.request("object/delete", { ref, ...options });
  }

  /** Takes a reference apart, or that of a child below it; asks nothing of the remote. */
  resolve(ref, child, options) {
    return this.request("object/resolve", { ref, child, ...options });
  }

  // Transfers

  /** One transfer as the sidecar knows it; the same as `transferGet`. */
  transfer(transferId) {
    return this.transferGet(transferId);
  }

  /** One transfer as the sidecar knows it. */
  transferGet(transferId) {
    return this.request("transfer/get", { transferId });
  }

  /** Transfers, oldest first, with those that earlier processes left. */
  transfers(options) {
    return this.#pages("transfer/list", { ...options }, "transfers");
  }

  /** Pauses a transfer; returns its state. */
  async transferPause(transferId) {
    return (await this.request("transfer/pause", { transferId })).state;
  }

  /** Goes on with a paused or interrupted transfer; returns its state. */
  async transferResume(transferId) {
    return (await this.request("transfer/resume", { transferId })).state;
  }

  /** Tries a failed transfer again; returns its state. */
  async transferRetry(transferId) {
    return (await this.request("transfer/retry", { transferId })).state;
  }

  /** Cancels a transfer; returns its state. A batch's file is removed from it. */
  async transferCancel(transferId) {
    // Nobody would be told of its end.
    for (const batch of this.#connection.batches.values()) {
      for (const [fileId, file] of batch.files) {
        if (!file.live || file.snapshot.transferId !== transferId) continue;
        await batch.remove(fileId);
        return "cancelled";
      }
    }
    return (await this.request("transfer/cancel", { transferId })).state;
  }

  /** Drops what is remembered of a settled transfer, and its temporary file. */
  async transferForget(transferId) {
    await this.request("transfer/forget", { transferId });
  }

  /**
   * A handle on a transfer that was begun elsewhere: its result is the event that ends it.
   *
   * Where it has ended already, the event (with `seq` 0) is made of what `transferGet` tells. One
   * that is interrupted goes on with `resume()`.
   */
  attach(transferId) {
    const fromEvent = (event) => event;
    const handle = new TransferHandle(this.#connection, transferId, { fromEvent });
    handle.look();
    return handle;
  }

  // Batches

  /**
   * Many uploads to one `channel`, or below one `prefix`, run and reported together:
   * `await using b = await f.batch({ channel: "trip" })`. One with the same `batchId` and settings
   * is joined.
   */
  batch(settings) {
    return new Batch(this.#connection, settings).start();
  }

  // Channels

  /** Messages of channels: `for await (const message of await f.subscribe("trip"))`. */
  subscribe(channels, options) {
    const names = typeof channels === "string" ? [channels] : [...channels];
    return new Subscription(this.#connection, { channels: names, ...options }).start();
  }

  /**
   * Messages a channel kept, oldest first: await for the newest page, iterate for older pages too,
   * each oldest first. `start` (exclusive) and `end` (inclusive) are timetokens, the newer and the
   * older bound.
   */
  history(channel, { start, ...options } = {}) {
    return new Pages(
      (mark) => this.request("channel/history", { channel, ...options, start: mark }),
      (page) => page.messages,
      (page) => page.more?.start,
      start,
    );
  }

  /** One message; on a local remote its id is `channel:timetoken`. */
  message(messageId, options) {
    return this.request("message/get", { messageId, ...options });
  }

  /** Removes a message from history; a file it announced stays. */
  async deleteMessage(messageId, options) {
    await this.request("message/delete", { messageId, ...options });
  }

  // The sidecar

  /** Resolves once the sidecar has answered. */
  async ping() {
    await this.request("ping");
  }

  /** Queues, transfers and memory of the sidecar. */
  stats() {
    return this.request("server/stats");
  }

  /** The protocol's OpenRPC document. */
  discover() {
    return this.request("rpc.discover");
  }

  /** The limits in force. */
  limits(options) {
    return this.request("limits/get", { ...options });
  }

  /** Changes limits from now on: rates in bytes per second, null for no limit. */
  setLimits(limits) {
    return this.request("limits/set", limits);
  }

  /** Replaces what proves to a remote who asks; each kind takes its own. */
  async setCredentials(remote, credentials) {
    await this.request("remote/credentials", { remote, ...credentials });
  }

  /** Ends all work and tells what became of it; `close` does this by itself. */
  shutdown(mode = "drain", options) {
    return this.request("shutdown", { mode, ...options });
  }

  #pages(method, { next, ...params }, entries) {
    return new Pages(
      (mark) => this.request(method, { ...params, next: mark }),
      (page) => page[entries],
      (page) => page.next,
      next,
    );
  }
}
