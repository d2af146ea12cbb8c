/** Share files on channels and store objects, through the ferry sidecar. */

import * as protocol from "./protocol.js";

export { protocol };

// What Node has and a compiler without its types may not know.
declare global {
  interface SymbolConstructor {
    readonly asyncDispose: unique symbol;
  }
}

/** An AbortSignal, whoever declares it. */
export interface AbortSignalLike {
  readonly aborted: boolean;
  readonly reason?: any;
  addEventListener(type: "abort", listener: () => void, options?: { once?: boolean }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** A Writable of Node. */
export interface WritableLike {
  write(chunk: any, ...rest: any[]): boolean;
  end(...rest: any[]): unknown;
  on(event: any, listener: (...args: any[]) => void): unknown;
}

/** A `file:` URL. */
export interface UrlLike {
  readonly href: string;
}

export type Path = string | UrlLike;

/** Bytes that come in pieces: a Readable, a web ReadableStream, any iterable. */
export type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** A path, content in memory, a text, or bytes that come in pieces. */
export type Source =
  | Path
  | ArrayBuffer
  | ArrayBufferView
  | Chunks
  | { text: string }
  | { stream: Chunks; size?: number };

/** A path, content in memory of at most 8 MiB, or a text. */
export type BatchSource = Path | ArrayBuffer | ArrayBufferView | { text: string };

export interface RequestOptions {
  /** Cancels the request. */
  signal?: AbortSignalLike;
}

export interface StartOptions {
  /** Laid over the configuration file, with its shape: `{ remotes: { … } }`. */
  config?: protocol.InitializeParams["config"];
  /** The program; default: `$FERRY_BIN`, beside the package, the checkout's build, PATH. */
  bin?: Path;
  /** Its `--config` file. */
  configFile?: Path;
  /** More arguments of `ferry serve`. */
  args?: readonly string[];
  /** Variables laid over this process's. */
  env?: Record<string, string | undefined>;
  /** The sidecar's working directory. */
  cwd?: Path;
  /** Who asks; `name` is the publisher of announcements. */
  clientInfo?: protocol.InitializeParams["clientInfo"];
  /** The scope of what is remembered over restarts; default: the name. */
  stateKey?: string;
  /** The folder relative paths start from; default `cwd`, else the current folder. */
  rootPath?: Path;
  /** How often a transfer reports. */
  progressIntervalMs?: number;
  /** Notifications that are never wanted. */
  optOut?: readonly (keyof protocol.Notifications)[];
  /** Milliseconds for the first answer; default 10,000. */
  startTimeout?: number;
  /** Milliseconds each rung of the closing ladder gets before the next one is taken. */
  closeGrace?: { drain?: number; now?: number; eof?: number; term?: number };
  /** Called with each line the sidecar logs. */
  onStderr?: (line: string) => void;
  /** Called with all traffic, which includes keys given in `config`. */
  trace?: (direction: "in" | "out", line: string | Uint8Array) => void;
}

// Errors

export interface ErrorDetails {
  retryable?: boolean;
  data?: Partial<protocol.ErrorData>;
  number?: number;
  cause?: unknown;
}

/** Base of all; `code` is the contract. */
export class FerryError extends Error {
  constructor(code: string, message: string, details?: ErrorDetails);
  /** `ERR_…`, or `CLIENT_…` for faults on this side. */
  readonly code: protocol.ErrorCode | (string & {});
  /** Whether trying again unchanged can help. */
  readonly retryable: boolean;
  /** The error's data as the sidecar sent it. */
  readonly data: Partial<protocol.ErrorData>;
  /** The number of its JSON-RPC error. */
  readonly number?: number;
  /** Milliseconds to wait before trying again, as the sidecar advises; 100 where it does not. */
  get retryAfterMs(): number;
  cause?: any;
}
/** A transfer ended without success. */
export class TransferError extends FerryError {
  /** Whether it can still come to success, in this process or the next with its state key. */
  get resumable(): boolean;
}
/** Refused before any byte counted: the request itself must change (event `rejected`). */
export class TransferRejected extends TransferError {}
/** Failed after it was accepted; `handle.retry()` is allowed (event `failure`). */
export class TransferFailed extends TransferError {}
/** Cancelled; `cause` is the reason of the AbortSignal that did it. */
export class TransferCancelled extends TransferError {}
/** The time for an answer passed. */
export class RequestTimeout extends FerryError {
  constructor(what: string, ms: number);
}
/** No `ferry` program was found; `lookedIn` lists every place, in order. */
export class BinaryNotFound extends FerryError {
  constructor(lookedIn: string[], cause?: unknown);
  readonly lookedIn: string[];
}
/** This package and the program share no protocol version. */
export class VersionMismatch extends FerryError {
  constructor(binary: string, offered: readonly number[], supported: unknown[]);
  readonly offered: readonly number[];
  readonly supported: unknown[];
}
/** The client was closed, so nothing more can be asked of it. */
export class ConnectionClosed extends FerryError {
  constructor(message?: string);
}
/** The program wrote something that is not Ferry's protocol, and was stopped. */
export class ProtocolError extends FerryError {
  constructor(message: string);
}
/** The sidecar ended by itself: with `exitCode`, or by `signal`. */
export class ProcessDied extends FerryError {
  constructor(exitCode: number | null, signal: string | null, stderrTail: string[]);
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stderrTail: string[];
}

// Events

interface EventErrors {
  rejected: TransferRejected;
  failure: TransferFailed;
  cancelled: TransferCancelled;
}
type Renamed<N> = N extends "error" ? "rejected" : N;
type Told<N extends keyof protocol.Notifications> = { readonly name: Renamed<N> } & (
  Renamed<N> extends keyof EventErrors
    ? Omit<protocol.Notifications[N], "error"> & { error: EventErrors[Renamed<N>] }
    : N extends "complete"
      ? Omit<protocol.CompleteNotification, "rejected" | "failed"> & {
          rejected: { fileId: string; error: TransferRejected }[];
          failed: { fileId: string; error: TransferFailed }[];
        }
      : protocol.Notifications[N]
);

/** Every event by its name: a notification with its `name`, and its error as an exception. */
export type Events = {
  [N in keyof protocol.Notifications as Renamed<N>]: Told<N>;
};

/** Names of the events of a transfer. */
export type TransferEventName =
  | "started"
  | "progress"
  | "paused"
  | "resumed"
  | "uploaded"
  | "downloaded"
  | "rejected"
  | "failure"
  | "cancelled";

/** An event of a transfer. */
export type TransferEvent = Events[TransferEventName];

/** Names of the events of a batch: those of its files, and that it has drained. */
export type BatchEventName = TransferEventName | "complete";

/** An event of a batch. */
export type BatchEvent = Events[BatchEventName];

/** A transfer as its events tell it; `total` and `percent` are null while unknown. */
export interface TransferState {
  readonly transferId: string;
  readonly state: protocol.State;
  readonly loaded: number;
  readonly total: number | null;
  readonly percent: number | null;
  readonly rate: number;
  readonly etaMs: number | null;
  readonly attempt: number;
  readonly error: TransferError | null;
}

// Transfers

/** What can be awaited for a result, and heard or iterated for its events, over retries too. */
declare class Observed<R> implements PromiseLike<R>, AsyncIterable<TransferEvent> {
  protected constructor();
  /** What is known of it here; `Ferry.transfer` asks the sidecar. */
  get snapshot(): TransferState;
  /** Whether it is settled. */
  get done(): boolean;
  then<A = R, B = never>(
    fulfilled?: ((result: R) => A | PromiseLike<A>) | null,
    rejected?: ((error: any) => B | PromiseLike<B>) | null,
  ): Promise<A | B>;
  catch<B = never>(rejected?: ((error: any) => B | PromiseLike<B>) | null): Promise<R | B>;
  finally(act?: (() => void) | null): Promise<R>;
  /** Its events; throws after an unhappy end. Leaving early does not concern the transfer. */
  [Symbol.asyncIterator](): AsyncIterator<TransferEvent, undefined>;
  /** The same. */
  events(): AsyncIterableIterator<TransferEvent>;
  /** Calls a function with each event of a name; returns a function that ends this. */
  on<N extends TransferEventName>(name: N, call: (event: Events[N]) => void): () => void;
  /** Removes one listener, those of one event, or all of them. */
  off<N extends TransferEventName>(name?: N, call?: (event: Events[N]) => void): void;
}

/** One transfer: a promise of its result, and an async iterable of its events. */
export class TransferHandle<R> extends Observed<R> {
  protected constructor();
  readonly transferId: string;
  pause(): Promise<protocol.State>;
  resume(): Promise<protocol.State>;
  cancel(): Promise<protocol.State>;
  /** Tries a failed transfer again: the handle can be awaited and iterated anew. */
  retry(): Promise<protocol.State>;
}

/** A download; one with `stream: true` is taken by `for await (const chunk of handle.chunks())`. */
export class DownloadHandle<R = Downloaded> extends TransferHandle<R> {
  /** The content as it comes, fetched when it is asked for; ending early cancels the download. */
  chunks(maxBytes?: number): AsyncGenerator<Uint8Array, void, undefined>;
}

type Settled<R> = R extends unknown ? (protocol.Detached extends R ? never : R) : never;
type Bytes<R> = R extends { data?: string } ? Omit<R, "data"> & { data?: Uint8Array } : never;

export type SentFile = Settled<protocol.FileSendResult>;
export type StoredObject = Settled<protocol.ObjectPutResult>;
export type Downloaded = Bytes<Settled<protocol.FileDownloadResult>>;
export type GottenObject = Bytes<Settled<protocol.ObjectGetResult>>;

/** What the source of an upload is made of. */
type SourceFields = "path" | "data" | "text" | "stream";

export type SendOptions = Omit<protocol.FileSendParams, SourceFields> & RequestOptions;
export type PutOptions = Omit<protocol.ObjectPutParams, SourceFields | "ref"> & RequestOptions;

/** Where a download goes; without any of these to a temporary file. */
export interface Target {
  /** A path, a folder with "/" at its end, or a Writable. */
  to?: Path | WritableLike;
  /** Into `data` of the result. */
  inline?: boolean;
  /** With `inline`: the most bytes that are wanted. */
  maxSize?: number;
  /** Through `handle.chunks()`. */
  stream?: boolean;
}

export type DownloadOptions = Target &
  RequestOptions &
  Omit<protocol.FileDownloadParams, "channel" | "id" | "name" | "url" | "messageId" | "target">;
export type GetOptions = Target & RequestOptions & Omit<protocol.ObjectGetParams, "ref" | "target">;

/** A file on a channel. */
export interface FileName {
  channel: string;
  id: string;
  name: string;
}

// Lists and channels

/** A list: await it for one page, iterate it for every entry of all pages from there on. */
export class Pages<P, I> implements PromiseLike<P>, AsyncIterable<I> {
  private constructor();
  page(): Promise<P>;
  then<A = P, B = never>(
    fulfilled?: ((page: P) => A | PromiseLike<A>) | null,
    rejected?: ((error: any) => B | PromiseLike<B>) | null,
  ): Promise<A | B>;
  [Symbol.asyncIterator](): AsyncGenerator<I, void, undefined>;
}

// Batches

/** Functions by the name of the event they are called with. */
export type BatchListeners = { [N in BatchEventName]?: (event: Events[N]) => void };

/** Options of `addAll`. */
export interface AddAllOptions extends RequestOptions {
  /** Called before the listeners of the batch. */
  on?: BatchListeners;
}

/** Options of `add`; an aborted `signal` removes the file. */
export type AddOptions = AddAllOptions &
  Partial<Omit<protocol.BatchItem, SourceFields>>;

/** A file for `addAll`: its source, and what else `add` takes. */
export type Addition = AddOptions & { source: BatchSource };

/** One file of a batch: a promise of its attachment, and an async iterable of its events. */
export class BatchFile extends Observed<protocol.Attachment> {
  private constructor();
  readonly fileId: string;
  /** What it is once it is uploaded. */
  readonly attachment?: protocol.Attachment;
  /** Whether it is queued, running or paused. */
  get live(): boolean;
  /** Takes it out of the batch; whether it was there. */
  remove(): Promise<boolean>;
  /** Tries it again; whether it had failed. */
  retry(): Promise<boolean>;
  /** Pauses it, which the batch waits for; it has begun to move. */
  pause(): Promise<protocol.State>;
  resume(): Promise<protocol.State>;
}

/** Uploads to one channel, or below one prefix, run and reported together. */
export class Batch implements AsyncIterable<BatchEvent> {
  private constructor();
  readonly batchId: string;
  /** Its files by `fileId`, as far as they are known here; `entries()` has all. */
  readonly files: ReadonlyMap<string, BatchFile>;
  /** Whether something of it is under way. */
  get busy(): boolean;
  /** Adds a file; those that are added together go in one call. */
  add(source: BatchSource, options?: AddOptions): BatchFile;
  /** Adds several files; `options` hold for those that have none of their own. */
  addAll(sources: Iterable<BatchSource | Addition>, options?: AddAllOptions): BatchFile[];
  /** Calls a function with each event of a name, of all files; returns a function that ends this. */
  on<N extends BatchEventName>(name: N, call: (event: Events[N]) => void): () => void;
  /** Removes one listener, those of one event, or all of them. */
  off<N extends BatchEventName>(name?: N, call?: (event: Events[N]) => void): void;
  /** What happens from now on, until the batch is complete. */
  [Symbol.asyncIterator](): AsyncIterator<BatchEvent, undefined>;
  /** The same. */
  events(): AsyncIterableIterator<BatchEvent>;
  /** Waits until nothing is under way, and tells what became of the batch. */
  complete(): Promise<Events["complete"]>;
  /** Tries a file that failed again; whether it had. */
  retry(fileId: string): Promise<boolean>;
  /** Tries all files again that failed, or that an earlier process left; how many. */
  retryFailed(): Promise<number>;
  /** Takes a file out, whatever its state; whether it was there. */
  remove(fileId: string): Promise<boolean>;
  /** Drops the batch with all its files; what was uploaded to a channel and not sent goes. */
  clear(): Promise<void>;
  /** Changes how it goes about its files, from the next one on. */
  configure(settings: Rest<"batch/configure", "batchId">): Promise<void>;
  /** How it stands: awaited, with its `status` and `counts`; iterated, its files. */
  entries(
    options?: Rest<"batch/get", "batchId">,
  ): Pages<Result<"batch/get">, protocol.BatchFile>;
  /** What is uploaded, in the order it was added. */
  attachments(
    options?: Rest<"batch/attachments", "batchId">,
  ): Pages<Result<"batch/attachments">, ArrayOf<Result<"batch/attachments">, "attachments">>;
  /** Announces what is uploaded and not yet sent; called again, it sends what is missing. */
  send(options?: Rest<"batch/send", "batchId">): Promise<Result<"batch/send">>;
  /** Stops listening; the batch lives on in the sidecar. */
  close(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A message of a channel. */
export type Message = Omit<protocol.MessageNotification, "seq">;
/** A change of a subscription's connection. */
export type Status = Omit<protocol.StatusNotification, "seq">;

export type SubscribeOptions = Omit<protocol.ChannelSubscribeParams, "channels"> & {
  /** Called when the connection to the remote changes. */
  onStatus?: (status: Status) => void;
};

/** Messages of channels, each once and in order; leaving the loop closes it. */
export class Subscription implements AsyncIterableIterator<Message> {
  private constructor();
  /** Where to go on later (`since`). */
  readonly timetoken: string;
  next(): Promise<IteratorResult<Message, undefined>>;
  return(value?: any): Promise<IteratorResult<Message, any>>;
  [Symbol.asyncIterator](): this;
  /** Unsubscribes from what no other subscription of this client needs. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

type Params<M extends keyof protocol.Methods> = protocol.Methods[M]["params"];
type Result<M extends keyof protocol.Methods> = protocol.Methods[M]["result"];
/** What a call takes beyond its positional arguments. */
type Rest<M extends keyof protocol.Methods, K extends string = never> = Omit<Params<M>, K>;
type ArrayOf<P, K extends keyof P> = P[K] extends ReadonlyArray<infer I> ? I : never;

// The client

/** A sidecar of one's own. */
export class Ferry {
  private constructor();
  /** Starts a sidecar. */
  static start(options?: StartOptions): Promise<Ferry>;

  /** What the sidecar said of itself. */
  get info(): Result<"initialize">;
  /** The sidecar's process id; undefined after its end. */
  get pid(): number | undefined;

  /** The code the sidecar exited with; null while it lives, or where a signal ended it. */
  get exitCode(): number | null;
  /** The signal that ended the sidecar, or null. */
  get signal(): string | null;

  /** Ends the sidecar: "drain" lets accepted transfers finish, "now" cancels them. */
  close(mode?: "drain" | "now"): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
  /** Keeps the host's event loop going as long as the sidecar lives. */
  ref(): this;
  /** Lets the host end although work is open. (By itself it waits for open work only.) */
  unref(): this;

  /** Sends any request; an AbortSignal cancels it. */
  request<M extends keyof protocol.Methods>(
    method: M,
    params?: Params<M>,
    options?: RequestOptions,
  ): Promise<Result<M>>;
  request(method: string, params?: object, options?: RequestOptions): Promise<any>;

  /** Calls a function with each event of a name, of all transfers and channels. */
  on<N extends keyof Events>(name: N, call: (event: Events[N]) => void): () => void;
  /** Removes one listener, those of one event, or all of them. */
  off<N extends keyof Events>(name?: N, call?: (event: Events[N]) => void): void;

  /** Uploads a file and announces it on a channel. */
  send(source: Source, options: SendOptions): TransferHandle<SentFile>;
  /** Announces an uploaded file (again). */
  publish(
    file: FileName,
    options?: Rest<"file/publish", keyof FileName>,
  ): Promise<Result<"file/publish">>;
  /** The files of a channel. */
  files(
    channel: string,
    options?: Rest<"file/list", "channel">,
  ): Pages<Result<"file/list">, protocol.ListedFile>;
  /** Where a file can be had, usable as it is: keep it as secret as the file. */
  fileUrl(file: FileName, options?: Rest<"file/url", keyof FileName>): Promise<string>;
  /** Downloads a file. */
  download(
    file: FileName | { url: string } | { messageId: string },
    options?: DownloadOptions,
  ): DownloadHandle;
  /** Deletes a file of a channel. */
  deleteFile(file: FileName, options?: Rest<"file/delete", keyof FileName>): Promise<void>;

  /** Stores an object. */
  put(source: Source, ref: string, options?: PutOptions): TransferHandle<StoredObject>;
  /** Downloads an object. */
  get(ref: string, options?: GetOptions): DownloadHandle<GottenObject>;
  /** What the remote knows of an object. */
  metadata(ref: string, options?: Rest<"object/metadata", "ref">): Promise<protocol.Metadata>;
  /** Changes metadata: what is not named stays, null clears. */
  update(
    ref: string,
    metadata: protocol.MetadataPatch,
    options?: Rest<"object/update", "ref" | "metadata">,
  ): Promise<protocol.Metadata>;
  /** Where an object can be had, for `expiresIn` seconds where the remote limits it. */
  url(ref: string, options?: Rest<"object/url", "ref">): Promise<Result<"object/url">>;
  /** What is below a reference (default: the root). */
  list(
    ref?: string,
    options?: Rest<"object/list", "ref">,
  ): Pages<Result<"object/list">, ArrayOf<Result<"object/list">, "items">>;
  /** Deletes an object. */
  delete(ref: string, options?: Rest<"object/delete", "ref">): Promise<void>;
  /** Takes a reference apart, or that of a child below it; asks nothing of the remote. */
  resolve(
    ref: string,
    child?: string,
    options?: Rest<"object/resolve", "ref" | "child">,
  ): Promise<Result<"object/resolve">>;

  /** One transfer as the sidecar knows it. */
  transfer(transferId: string): Promise<protocol.Snapshot>;
  /** The same. */
  transferGet(transferId: string): Promise<protocol.Snapshot>;
  /** Transfers, oldest first, with those that earlier processes left. */
  transfers(options?: Params<"transfer/list">): Pages<Result<"transfer/list">, protocol.Snapshot>;
  transferPause(transferId: string): Promise<protocol.State>;
  transferResume(transferId: string): Promise<protocol.State>;
  transferRetry(transferId: string): Promise<protocol.State>;
  transferCancel(transferId: string): Promise<protocol.State>;
  /** Drops what is remembered of a settled transfer, and its temporary file. */
  transferForget(transferId: string): Promise<void>;
  /** A handle on a transfer that was begun elsewhere: its result is the event that ends it. */
  attach(transferId: string): TransferHandle<Events["uploaded"] | Events["downloaded"]>;

  /** Many uploads to one `channel`, or below one `prefix`, run and reported together. */
  batch(settings: Params<"batch/create">): Promise<Batch>;

  /** Messages of channels. */
  subscribe(
    channels: string | Iterable<string>,
    options?: SubscribeOptions,
  ): Promise<Subscription>;
  /** Messages a channel kept, oldest first in each page; iterated, older pages follow. */
  history(
    channel: string,
    options?: Rest<"channel/history", "channel">,
  ): Pages<Result<"channel/history">, protocol.Message>;
  /** One message; on a local remote its id is `channel:timetoken`. */
  message(
    messageId: string,
    options?: Rest<"message/get", "messageId">,
  ): Promise<protocol.Message>;
  /** Removes a message from history; a file it announced stays. */
  deleteMessage(messageId: string, options?: Rest<"message/delete", "messageId">): Promise<void>;

  /** Resolves once the sidecar has answered. */
  ping(): Promise<void>;
  /** Queues, transfers and memory of the sidecar. */
  stats(): Promise<Result<"server/stats">>;
  /** The protocol's OpenRPC document. */
  discover(): Promise<Result<"rpc.discover">>;
  /** The limits in force. */
  limits(options?: Params<"limits/get">): Promise<protocol.Limits>;
  /** Changes limits from now on: rates in bytes per second, null for no limit. */
  setLimits(limits: Params<"limits/set">): Promise<protocol.Limits>;
  /** Replaces what proves to a remote who asks; each kind takes its own. */
  setCredentials(remote: string, credentials: Rest<"remote/credentials", "remote">): Promise<void>;
  /** Ends all work and tells what became of it; `close` does this by itself. */
  shutdown(
    mode?: "drain" | "now",
    options?: Rest<"shutdown", "mode">,
  ): Promise<Result<"shutdown">>;
}

/** The versions of the protocol this package speaks. */
export const PROTOCOL_VERSIONS: readonly number[];
/** The version of this package. */
export const version: string;
