/** Where an upload's bytes come from, and how they get to the sidecar. */

import { basename } from "node:path";
import { fileURLToPath } from "node:url";

/** The most bytes of one `stream/write`. */
const CHUNK = 256 * 1024;

/** Bytes above which content in memory goes as a stream: base64 must fit a line. */
const INLINE_LIMIT = 8 * 1024 * 1024;

/** A path of the host's: a string, or a `file:` URL. */
export function toPath(path) {
  return path instanceof URL ? fileURLToPath(path) : String(path);
}

/** A path as the sidecar shall read it: below the absolute `base`, unless that is undefined. */
export function localPath(path, base) {
  const text = toPath(path);
  if (base === undefined || text.startsWith("file://") || text.startsWith("/")) return text;
  return base.endsWith("/") ? base + text : `${base}/${text}`;
}

/**
 * The source's parameters, and the stream to feed where it is one.
 *
 * - a string or a `file:` URL: a path, relative to `base`, or to the sidecar's `rootPath`;
 * - a Buffer, typed array or ArrayBuffer, or `{ text }`: the content itself;
 * - a Readable, or any iterable of bytes, async or not; `{ stream, size }` where the size is known.
 */
export function prepare(source, base) {
  if (typeof source === "string" || source instanceof URL) {
    return { fields: { path: localPath(source, base) } };
  }
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) {
    const bytes = toBuffer(source);
    if (bytes.length <= INLINE_LIMIT) return { fields: { data: bytes.toString("base64") } };
    return { fields: { stream: { size: bytes.length } }, stream: [bytes] };
  }
  if (typeof source?.text === "string") return { fields: { text: source.text } };
  if (isIterable(source)) {
    const name = typeof source.path === "string" ? basename(source.path) : undefined;
    return { fields: { stream: {}, name }, stream: source };
  }
  if (isIterable(source?.stream)) {
    return { fields: { stream: { size: source.size } }, stream: source.stream };
  }
  throw new TypeError(
    "no source: give a path, bytes, { text }, a Readable, an iterable of bytes or { stream, size }",
  );
}

/** Writes a stream's bytes, each chunk after the one before was taken, and closes the stream. */
export class Feeder {
  #connection;
  #transferId;
  #stream;
  #stopped = false;

  constructor(connection, transferId, stream) {
    this.#connection = connection;
    this.#transferId = transferId;
    this.#stream = stream;
  }

  /** Runs to the end of the stream, or until it is stopped. */
  async run() {
    const transferId = this.#transferId;
    for await (const chunk of this.#stream) {
      const bytes = toBuffer(chunk);
      for (let start = 0; start < bytes.length && !this.#stopped; start += CHUNK) {
        const data = bytes.toString("base64", start, start + CHUNK);
        await this.#connection.patiently("stream/write", { transferId, data });
      }
      if (this.#stopped) return;
    }
    await this.#connection.patiently("stream/close", { transferId });
  }

  /** Lets go of the source: nobody takes its bytes any more. */
  stop() {
    this.#stopped = true;
    // Its iterator may wait for bytes that never come, so the stream itself must end.
    if (typeof this.#stream.destroy === "function") this.#stream.destroy();
  }
}

function isIterable(value) {
  return value?.[Symbol.asyncIterator] !== undefined || value?.[Symbol.iterator] !== undefined;
}

function toBuffer(bytes) {
  if (bytes instanceof ArrayBuffer) return Buffer.from(bytes);
  if (ArrayBuffer.isView(bytes)) {
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
  throw new TypeError(`a source must give bytes, not ${typeof bytes}`);
}
