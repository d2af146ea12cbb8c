/**
 * What happens to a transfer, as the sidecar tells it.
 *
 * Per transfer: started (progress | paused | resumed)*, then exactly one of uploaded, downloaded,
 * rejected, failure and cancelled; after a failure, a retry begins again with started.
 */

import { TransferCancelled, TransferFailed, TransferRejected, fromWire } from "./errors.js";

/** The events of a transfer, by the name listeners use. */
export const TRANSFER_EVENTS = Object.freeze([
  "started", "progress", "paused", "resumed",
  "uploaded", "downloaded", "rejected", "failure", "cancelled",
]);

/** The events of a batch: those of its files, and that it has drained. */
export const BATCH_EVENTS = Object.freeze([...TRANSFER_EVENTS, "complete"]);

const ERRORS = {
  rejected: TransferRejected, failure: TransferFailed, cancelled: TransferCancelled,
};
const TERMINAL = new Set(["uploaded", "downloaded", ...Object.keys(ERRORS)]);
const STATES = {
  started: "running", paused: "paused", resumed: "running", uploaded: "succeeded",
  downloaded: "succeeded", rejected: "rejected", failure: "failed", cancelled: "cancelled",
};

/**
 * The event a notification is: its params with `name`, and its errors as exceptions.
 *
 * The notification `error` is the event `rejected`: Node ends a program that does not listen to an
 * event of the name `error`.
 */
export function toEvent(method, params) {
  const name = method === "error" ? "rejected" : method;
  const event = { name, ...params };
  if (name in ERRORS) event.error = fromWire(params.error, ERRORS[name]);
  if (name === "complete") {
    event.rejected = params.rejected.map((file) => withError(file, TransferRejected));
    event.failed = params.failed.map((file) => withError(file, TransferFailed));
  }
  return event;
}

function withError(file, Kind) {
  return { ...file, error: fromWire(file.error, Kind) };
}

/** Whether an event ends its transfer, or an attempt of it. */
export function isTerminal(event) {
  return TERMINAL.has(event.name);
}

/**
 * The event a transfer ended with, from the reply of `transfer/get`; undefined while it goes on.
 * Its `seq` is 0. The path and digest of a download are not in a snapshot.
 */
export function ended(snapshot) {
  const { transferId, direction, state, loaded, error, ref, metadata, file } = snapshot;
  const told = { seq: 0, transferId };
  switch (state) {
    case "succeeded":
      if (direction === "download") return toEvent("downloaded", { ...told, size: loaded });
      if (ref !== undefined) told.object = { ref, metadata };
      if (file !== undefined) told.file = file;
      return toEvent("uploaded", told);
    case "rejected":
      return toEvent("error", { ...told, error });
    case "failed":
      return toEvent("failure", { ...told, error });
    case "cancelled":
      return toEvent("cancelled", { ...told, error, loaded, resumable: snapshot.resumable });
  }
}

const UNKNOWN = Object.freeze({
  transferId: "", state: "queued", loaded: 0, total: null, percent: null, rate: 0, etaMs: null,
  attempt: 0, error: null,
});

/** What is known of a transfer before its first event; of a batch's file not even its id. */
export function initialState(transferId) {
  return transferId === undefined ? UNKNOWN : Object.freeze({ ...UNKNOWN, transferId });
}

/** The state of a transfer once an event happened. */
export function after(state, event) {
  const { transferId, loaded, total, percent, rate, etaMs, attempt } = event;
  const still = { ...state, transferId, state: STATES[event.name], rate: 0, etaMs: null };
  switch (event.name) {
    case "progress":
      return { ...state, transferId, loaded, total, percent, rate, etaMs, attempt };
    case "started":
      return { ...still, attempt, total, error: null };
    case "paused":
    case "resumed":
      return { ...still, loaded };
    default:
      return event.error ? { ...still, error: event.error } : still;
  }
}
