/** What can go wrong, as classes a host can tell apart. */

/**
 * Base of all: `code` is the contract (`ERR_…`, or `CLIENT_…` for faults on this side).
 *
 * `retryable` says whether trying again unchanged can help, `data` is the error's data as the
 * sidecar sent it, `number` the number of its JSON-RPC error and `message` a text for people.
 */
export class FerryError extends Error {
  constructor(code, message, { retryable = false, data = {}, number, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.code = code;
    this.retryable = retryable;
    this.data = data;
    this.number = number;
  }

  /** Milliseconds to wait before trying again, as the sidecar advises; 100 where it does not. */
  get retryAfterMs() {
    return this.data.retryAfterMs ?? 100;
  }
}

/** A transfer ended without success; the base of the three below. */
export class TransferError extends FerryError {
  /** Whether it can still come to success, in this process or the next with its state key. */
  get resumable() {
    return this.data.resumable ?? false;
  }
}

/** Refused before any byte counted: the request itself must change (event `rejected`). */
export class TransferRejected extends TransferError {}

/** Failed after it was accepted; `handle.retry()` is allowed (event `failure`). */
export class TransferFailed extends TransferError {}

/**
 * Cancelled (event `cancelled`, JSON-RPC error -32800).
 *
 * By this host (`cause` is then the reason of its AbortSignal) or, where it is `resumable`, because
 * the sidecar ended: the same request with the same `transferId` goes on in the next one that has
 * the same `stateKey`.
 */
export class TransferCancelled extends TransferError {}

/** The time for an answer passed. */
export class RequestTimeout extends FerryError {
  constructor(what, ms) {
    super("CLIENT_TIMEOUT", `${what}: no answer within ${ms} ms`, { retryable: true });
  }
}

/** No `ferry` program was found; `lookedIn` lists every place, in order. */
export class BinaryNotFound extends FerryError {
  constructor(lookedIn, cause) {
    const places = lookedIn.map((place) => `  - ${place}`).join("\n");
    super(
      "CLIENT_BINARY_NOT_FOUND",
      `there is no ferry program to run. Looked in:\n${places}\nBuild it (\`make build\` in a ` +
        "checkout), put it on PATH, or name it with FERRY_BIN or the option bin.",
      { cause },
    );
    this.lookedIn = lookedIn;
  }
}

/** This package and the program share no protocol version. */
export class VersionMismatch extends FerryError {
  constructor(binary, offered, supported) {
    const theirs = supported.join(", ") || "another version";
    const ours = offered.join(", ");
    super(
      "ERR_UNSUPPORTED",
      `${binary} speaks protocol ${theirs}, and this package speaks ${ours}: install a ferry ` +
        `that speaks protocol ${ours}, or a ferry-sidecar package that speaks ${theirs}`,
      { data: { supported } },
    );
    this.offered = offered;
    this.supported = supported;
  }
}

/** The client was closed, so nothing more can be asked of it. */
export class ConnectionClosed extends FerryError {
  constructor(message = "this Ferry is closed; start a new one") {
    super("CLIENT_CLOSED", message);
  }
}

/** The program wrote something that is not Ferry's protocol, and was stopped. */
export class ProtocolError extends FerryError {
  constructor(message) {
    super("CLIENT_PROTOCOL", message);
  }
}

/** The sidecar ended by itself: with `exitCode`, or by `signal`; `stderrTail` says why. */
export class ProcessDied extends FerryError {
  constructor(exitCode, signal, stderrTail) {
    const how = signal ? `was killed by ${signal}` : `exited with code ${exitCode}`;
    const said = stderrTail.map((line) => `\n  ${line}`).join("");
    super(
      "CLIENT_PROCESS_DIED",
      `the ferry process ${how}${said && `; its last words:${said}`}`,
      { retryable: true },
    );
    this.exitCode = exitCode;
    this.signal = signal;
    this.stderrTail = stderrTail;
  }
}

/** The exception for a JSON-RPC error object; cancellations keep their own kind. */
export function fromWire(error, Kind = FerryError) {
  if (typeof error !== "object" || error === null) {
    return new ProtocolError(`an error that is not an object: ${error}`);
  }
  const data = error.data ?? {};
  const code = data.code ?? `JSONRPC_${error.code}`;
  const cancelled = error.code === -32800 || code === "ERR_CANCELLED";
  return new (cancelled ? TransferCancelled : Kind)(code, String(error.message), {
    retryable: data.retryable ?? false,
    data,
    number: error.code,
  });
}
