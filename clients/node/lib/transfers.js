/** How transfers are begun. */

import { randomUUID } from "node:crypto";
import { pipeline } from "node:stream/promises";

import { ProtocolError } from "./errors.js";
import { TransferHandle } from "./handle.js";
import { Feeder, localPath, prepare } from "./sources.js";

/** A download; one with `stream: true` is taken by `for await (const chunk of handle.chunks())`. */
export class DownloadHandle extends TransferHandle {
  #connection;

  constructor(connection, transferId, reading) {
    super(connection, transferId, reading);
    this.#connection = connection;
  }

  /**
   * The content as it comes; ending early cancels the download.
   *
   * Each chunk is fetched when it is asked for, so a slow consumer slows the download down.
   */
  async *chunks(maxBytes = 256 * 1024) {
    yield* this.#pull(maxBytes);
    await this; // verified, or the reason why not
  }

  /** Writes the content into a Writable, as fast as that takes it. */
  pour(writable) {
    this.drain(pipeline(this.#pull(256 * 1024), writable));
  }

  async *#pull(maxBytes) {
    let complete = false;
    try {
      while (!complete) {
        const ask = { transferId: this.transferId, maxBytes };
        const { data, eof } = await this.#connection.patiently("stream/read", ask);
        complete = eof;
        if (data !== "") yield Buffer.from(data, "base64");
      }
    } finally {
      if (!complete) this.cancelSoon();
    }
  }
}

/** Begins an upload and, for a stream, the task that sends its bytes. */
export function upload(connection, method, source, { signal, ...params }, reading) {
  const { fields, stream } = prepare(source, connection.base);
  const values = { ...fields, transferId: randomUUID(), ...defined(params) };
  const handle = begin(TransferHandle, connection, method, values, signal, reading);
  if (stream !== undefined) handle.feed(new Feeder(connection, handle.transferId, stream));
  return handle;
}

/** Begins a download to a path, into memory, as a stream, or to a temporary file. */
export function download(connection, method, values, options) {
  const { to, inline = false, maxSize, stream = false, signal, ...params } = options;
  if ((to !== undefined) + inline + stream > 1) {
    throw new TypeError("choose one of to, inline: true and stream: true");
  }
  if (maxSize !== undefined && !inline) throw new TypeError("maxSize goes with inline: true");
  const pours = typeof to?.write === "function";
  let target;
  if (inline) target = { inline: true, maxSize };
  else if (stream || pours) target = { stream: true };
  else if (to !== undefined) target = localPath(to, connection.base);
  const ask = { ...values, target, transferId: randomUUID(), ...defined(params) };
  const handle = begin(DownloadHandle, connection, method, ask, signal, {
    fromReply: withBytes,
    fromEvent: ({ name, seq, ...result }) => {
      if (name !== "downloaded") throw new ProtocolError(`a download ended with \`${name}\``);
      return result;
    },
    rejoin: (event) => {
      if (!inline && event.seq !== 0) return undefined;
      return connection.post(method, { ...ask, detach: undefined });
    },
  });
  if (pours) handle.pour(to);
  return handle;
}

function begin(Kind, connection, method, params, signal, reading) {
  // Before the handle: what cannot be sent leaves nothing behind.
  const call = connection.post(method, params);
  const handle = new Kind(connection, params.transferId, reading);
  handle.begin(call, { detached: params.detach, signal });
  return handle;
}

function withBytes(result) {
  if (result.data === undefined) return result;
  return { ...result, data: Buffer.from(result.data, "base64") };
}

/** The members that have a value, so that one left undefined does not hide a default. */
export function defined(members) {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
