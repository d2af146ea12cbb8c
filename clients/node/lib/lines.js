/** Lines of JSON: split on byte 0x0A only, whatever else a text may hold. */

import { FerryError, ProtocolError } from "./errors.js";

/** The longest line either side takes, in bytes, without its LF. */
export const MAX_LINE = 16 * 1024 * 1024;

/** The deepest nesting the sidecar reads. */
const MAX_DEPTH = 128;

/** Half a surrogate pair as JSON.stringify escapes it. */
const HALF = /\\ud[89a-f]/;

const LF = 0x0a;
const CR = 0x0d;

/** Cuts a stream of Buffers into lines, in time linear in the bytes. */
export class LineSplitter {
  #limit;
  #parts = [];
  #size = 0;

  constructor(limit = MAX_LINE) {
    this.#limit = limit;
  }

  /**
   * The lines that are complete now, without LF and one trailing CR, blank ones left out.
   * Throws ProtocolError where a line is longer than the limit.
   */
  feed(chunk) {
    const lines = [];
    let start = 0;
    for (let end; (end = chunk.indexOf(LF, start)) >= 0; start = end + 1) {
      this.#keep(chunk.subarray(start, end));
      const line = this.rest();
      if (line.length > 0) lines.push(line);
    }
    this.#keep(chunk.subarray(start));
    return lines;
  }

  /** Takes what came after the last LF; empty where it is blank. */
  rest() {
    let line = this.#parts.length === 1 ? this.#parts[0] : Buffer.concat(this.#parts);
    this.#parts.length = 0;
    this.#size = 0;
    if (line[line.length - 1] === CR) line = line.subarray(0, -1);
    return line[0] <= 0x20 && line.toString().trim() === "" ? line.subarray(0, 0) : line;
  }

  #keep(part) {
    if (part.length === 0) return;
    this.#size += part.length;
    if (this.#size > this.#limit) {
      this.#parts = [];
      this.#size = 0;
      throw new ProtocolError(`the program wrote a line of more than ${this.#limit} bytes`);
    }
    this.#parts.push(part);
  }
}

/**
 * One line of JSON with its LF.
 *
 * Throws FerryError for what JSON, UTF-8 or the sidecar's bounds cannot hold: refused here, since
 * the sidecar could not say which request such a line was.
 */
export function encode(message) {
  let text;
  try {
    check(message, MAX_DEPTH);
    text = JSON.stringify(message);
    // What looks like half a character may be a text about one.
    if (HALF.test(text)) checkTexts(message);
  } catch (error) {
    throw error instanceof FerryError ? error : refusal(`not JSON: ${error.message}`);
  }
  const bytes = text.length * 3 > MAX_LINE ? Buffer.byteLength(text) : 0;
  if (bytes > MAX_LINE) {
    throw new FerryError(
      "ERR_LINE_TOO_LONG",
      `a request of ${bytes} bytes, over ${MAX_LINE}: send content as a path or a stream`,
    );
  }
  return `${text}\n`;
}

// JSON.stringify would write NaN as null and leave functions out.
function check(value, depth) {
  switch (typeof value) {
    case "number":
      if (!Number.isFinite(value)) throw refusal(`${value} is not JSON`);
      return;
    case "function":
    case "symbol":
    case "bigint":
      throw refusal(`a ${typeof value} is not JSON`);
    case "object":
      if (value === null) return;
      if (typeof value.toJSON === "function") return check(value.toJSON(), depth);
      if (depth === 0) throw refusal(`the parameters are nested deeper than ${MAX_DEPTH}`);
      for (const key in value) check(value[key], depth - 1);
  }
}

// JSON.stringify would escape half a character, which the sidecar cannot read.
function checkTexts(value) {
  JSON.stringify(value, (key, member) => {
    if ([key, member].some((text) => typeof text === "string" && /\p{Surrogate}/u.test(text))) {
      throw refusal("a text that is not valid Unicode (half a surrogate pair): rename it");
    }
    return member;
  });
}

function refusal(message) {
  return new FerryError("ERR_INVALID_ARGUMENT", message);
}
