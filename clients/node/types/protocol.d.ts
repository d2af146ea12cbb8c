// Written by scripts/generate-types.mjs from schema/openrpc.json. Do not edit.

/** Printable ASCII without spaces; shown nowhere. */
export type Credential = string;

/** Nothing to tell: `{}`. */
export type Empty = Record<string, never>;

/** Names one transfer: 1 to 128 characters, chosen by the host or made by ferry. */
export type TransferId = string;

/**
 * A moment on a channel, in 100 ns since 1970, strictly rising per remote; on kind `cometchat` the
 * message's id, which rises too. A decimal string because 17 digits do not fit a double.
 */
export type Timetoken = string;

/** SHA-256, 64 lower-case hexadecimal digits. */
export type Sha256 = string;

/** RFC 3339 in UTC with milliseconds: `2026-01-31T12:00:00.000Z`. */
export type Time = string;

/**
 * Where the next page starts, to be passed back as it is; null on the last page. A page may hold
 * fewer than `limit` entries (a line has a size limit too) and still not be the last.
 */
export type Next = string | null;

/**
 * queued → running ⇄ paused → succeeded | failed | rejected | cancelled. failed: `transfer/retry` is
 * allowed; rejected: refused before any byte counted, the request itself must change; interrupted:
 * left by an earlier process.
 */
export type State = "queued" | "running" | "paused" | "succeeded" | "failed" | "rejected" | "cancelled" | "interrupted";

export type Direction = "upload" | "download";

/**
 * The reply with `detach: true`: sent as soon as the transfer is accepted; the outcome comes as a
 * notification.
 */
export type Detached = {
  transferId: TransferId;
};

/** What a program needs to know of a failure. Never holds keys, tokens or signed URLs. */
export type ErrorData = {
  /**
   * The contract: what went wrong. One of the keys of components.errors that start with ERR_.
   */
  code: string;
  /** Whether trying again unchanged can help. */
  retryable: boolean;
  /** How long to wait before trying again. */
  retryAfterMs?: number;
  /** The step in which it failed. */
  phase?: "prepare" | "upload" | "finish" | "publish" | "download" | "list" | "delete" | "subscribe";
  /** Which attempt failed, from 1. */
  attempt?: number;
  /** The status of the HTTP answer that caused it. */
  httpStatus?: number;
  /** The remote's own code. */
  serverCode?: string;
  /** The remote's own words, redacted, at most 1 KiB. */
  serverMessage?: string;
  /** The failure below this one. */
  cause?: {
    code: string;
    httpStatus?: number;
  };
  transferId?: TransferId;
  /** Of a batch's file. */
  batchId?: BatchId;
  /** Of a batch's file. */
  fileId?: FileId;
  /**
   * For a bad argument: its JSON pointer in `params` (`/metadata/custom`). For ERR_UNKNOWN_ID: the
   * id that is unknown (`/transferId`).
   */
  field?: string;
  /**
   * Every error of an accepted `file/send`: whether the bytes are stored although the whole failed.
   */
  fileUploaded?: boolean;
  /** The id of a file that was stored but not announced; with `name`, for `file/publish`. */
  id?: string;
  /** The name of that file. */
  name?: string;
  /** Bytes moved before it was cancelled. */
  loaded?: number;
  /** Whether the transfer can still come to success, in this process or the next. */
  resumable?: boolean;
  /** What this version does support (protocol versions, kinds, capabilities). */
  supported?: unknown[];
  /** batch/send: what was sent before it failed, as far as it fits a line. */
  messages?: BatchMessage[];
  /** batch/send: how many messages were sent before it failed. */
  count?: number;
  /** batch/send: `messages` has not all of them; `batch/get` has. */
  truncated?: true;
};

/** A JSON-RPC error object. `data` is absent only for -32700, -32600, -32601 and -32603. */
export type Error = {
  /** The number beside data.code in components.errors. */
  code: number;
  /** For people: what failed, on what, and what to do. */
  message: string;
  data?: ErrorData;
};

/** Why a transfer ended; the same object as in the reply of a request that waits for it. */
export type TransferFailure = Error & Required<Pick<Error, "data">>;

/** What an uploader says of an object, by the names of the HTTP headers; 8 KiB in all. */
export type SettableMetadata = {
  contentType?: string;
  cacheControl?: string;
  contentDisposition?: string;
  contentEncoding?: string;
  contentLanguage?: string;
  /** The uploader's own keys and values. */
  custom?: Record<string, string>;
};

/**
 * A change: a field not named stays, null clears it (`contentType` then becomes
 * `application/octet-stream`).
 */
export type MetadataPatch = {
  contentType?: string | null;
  cacheControl?: string | null;
  contentDisposition?: string | null;
  contentEncoding?: string | null;
  contentLanguage?: string | null;
  /**
   * Per key: a string sets it, null removes it; keys not named stay. null instead of the object
   * removes all.
   */
  custom?: Record<string, string | null> | null;
};

/** What a remote knows of an object. */
export type Metadata = {
  /** The last component of the path. */
  name: string;
  /** The reference: the path below the remote's root, normalised. */
  fullPath: string;
  /** The storage it lies in; on kind `local` the remote's name. */
  bucket: string;
  /** Bytes. */
  size: number;
  contentType: string;
  cacheControl?: string;
  contentDisposition?: string;
  contentEncoding?: string;
  contentLanguage?: string;
  created: Time;
  updated: Time;
  /** Opaque; changes with every write of the content. For `ifMatch` and `ifNoneMatch`. */
  etag: string;
  /** MD5, 32 lower-case hexadecimal digits; kind `s3` alone knows it, of objects put whole. */
  md5?: string;
  /** CRC-32C, 8 lower-case hexadecimal digits. */
  crc32c?: string;
  sha256?: Sha256;
  /** Rises with every write, where the remote counts: a decimal string. */
  generation?: string;
  /** The uploader's own keys and values. */
  custom: Record<string, string>;
};

/**
 * A file that was uploaded to a channel and, but for a batch's that is not yet sent, announced.
 */
export type SentFile = {
  /** Given by the remote; with `channel` and `name` it names the file. */
  id: string;
  name: string;
  channel: string;
  /** Of its announcement; absent while it is not announced. */
  timetoken?: Timetoken;
  /** Bytes. */
  size: number;
  contentType: string;
  /** Absent with `digest: "none"`. */
  sha256?: Sha256;
  /** Usable as it is; absent where the remote gives none. */
  url?: string;
};

/** A file in `file/list`. */
export type ListedFile = {
  id: string;
  name: string;
  /** Bytes. */
  size: number;
  created: Time;
};

/** A message of a channel, as its subscribers and its history get it. */
export type Message = {
  remote: string;
  channel: string;
  /**
   * Who sent it; on kind `local` the sender's `clientInfo.name`. Absent where the remote does not
   * say.
   */
  publisher?: string;
  timetoken: Timetoken;
  /**
   * file: announces the file in `file`; others than `file` and `message` on kind `pubnub` alone.
   */
  type: "file" | "message" | "signal" | "object" | "messageAction" | "presence";
  /** When it was sent, in ms since 1970; on kind `cometchat`, whose timetokens are ids. */
  sentAt?: number;
  /** All files of a message that shows several, on kind `cometchat`; `file` is the first. */
  attachments?: MessageFile[];
  customMessageType?: string;
  /** The sender's metadata, as it was sent. */
  meta?: unknown;
  /** The sender's content, as it was sent. */
  message?: unknown;
  file?: {
    id: string;
    /**
     * As the sender named it: never use it as a path unchecked (a temporary or stream target needs
     * none).
     */
    name: string;
    /** Bytes. */
    size?: number;
    contentType?: string;
    sha256?: Sha256;
    /** Usable as it is; absent once the file was deleted. */
    url?: string;
  };
  /**
   * Why the content is as it came: it could not be decrypted, was not encrypted although `crypto` is
   * set, or announces no file.
   */
  error?: Error;
  /**
   * Too long for a line: `message` and `meta` were left out; `channel/history` with a raised
   * `maxOutLineBytes` has them.
   */
  truncated?: true;
};

/** A transfer as it is now. */
export type Snapshot = {
  transferId: TransferId;
  /** Of a batch's file. */
  batchId?: BatchId;
  /** Of a batch's file. */
  fileId?: FileId;
  direction: Direction;
  remote: string;
  /** Of an object. */
  ref?: string;
  /** Of a file. */
  channel?: string;
  state: State;
  /** Bytes moved in this attempt. */
  loaded: number;
  /** Bytes in all; null while unknown. */
  total: number | null;
  /** null while `total` is unknown. */
  percent: number | null;
  /** From 1. */
  attempt: number;
  /** Of a failed, rejected or cancelled one. */
  error?: TransferFailure;
  /** Of a `file/send` that succeeded. */
  file?: SentFile;
  /** Of an object: what was sent until success, then the remote's. */
  metadata?: SettableMetadata | Metadata;
  /**
   * Whether the transfer can still come to success: by itself, or by `transfer/resume` or
   * `transfer/retry`.
   */
  resumable: boolean;
};

/**
 * A path of a new file (absolute, or relative to `rootPath`, else to the working directory; its
 * folder must exist; with a slash at the end: a folder, in which the file gets its remote name made
 * safe), `{stream: true}` (the host pulls with `stream/read`), or `{inline: true}` (the content
 * comes in the reply, refused with ERR_DOWNLOAD_SIZE_EXCEEDED above `maxSize` or what fits a line).
 * Without a target: a temporary file, removed by `transfer/forget`, or a day later.
 */
export type Target = string | {
  stream: true;
} | {
  inline: true;
  /** Bytes; default what fits a line (`limits.maxOutLineBytes`). */
  maxSize?: number;
};

/** What a remote allows, and how fast. */
export type Limits = {
  /** Bytes; null: none. Equal to the limit is allowed. */
  maxFileSize: number | null;
  /** Files of one batch; null: none. */
  maxFileCount: number | null;
  /** Extensions and MIME patterns; empty: any. */
  allowedTypes: string[];
  /** The same; blocked beats allowed. */
  blockedTypes: string[];
  /** Whether the remote takes files at all. */
  fileTransferEnabled: boolean;
  /** Transfers running at once. */
  concurrency: number;
  /** Bytes per second; null: no limit. */
  uploadRate: number | null;
  /** Bytes per second; null: no limit. */
  downloadRate: number | null;
  /**
   * Why the limits that the remote sets itself could not be read: the built-in ones hold, and it is
   * asked again by and by.
   */
  error?: Error;
};

/** Chosen by the host, or made by ferry; no control characters. */
export type BatchId = string;

/** Chosen by the host; unique in its batch; no control characters. */
export type FileId = string;

/** By the MIME type. */
export type AttachmentType = "image" | "video" | "audio" | "file";

/** A file of a batch that is uploaded. */
export type Attachment = {
  /** Usable as it is; absent where the remote gives none. */
  url?: string;
  name: string;
  mimeType: string;
  /** In lower case, without the dot; empty where the name has none. */
  extension: string;
  /** Bytes. */
  size?: number;
};

/**
 * One file: exactly one of `path`, `data`, `text`, `stream`. A stream's `transferId` is told by
 * `started` and `batch/get`. A channel needs a name (default the last component of `path`).
 */
export type BatchItem = {
  fileId: FileId;
  path?: string;
  data?: string;
  text?: string;
  stream?: {
    /** Bytes in all, where known; more or fewer is ERR_FILE_CHANGED. */
    size?: number;
  };
  name?: string;
  contentType?: string;
  digest?: "sha256" | "none";
  /** In a batch with a prefix: where below it; default the name. */
  ref?: string;
};

/** A file of a batch as it is now. */
export type BatchFile = {
  fileId: FileId;
  transferId?: TransferId;
  name?: string;
  state: State;
  /** Bytes moved in this attempt. */
  loaded: number;
  /** Bytes in all; null while unknown. */
  total: number | null;
  attachment?: Attachment;
  error?: Error;
  /** Whether its channel was told of it. */
  sent: boolean;
  /** The message that told of it, for `message/get`. */
  messageId?: string;
  /**
   * A message that shows it was sent, and its answer was lost: it may have been made. `batch/send`
   * looks for it before it sends the file again.
   */
  inDoubt?: true;
};

/** One file of a message that shows several. */
export type MessageFile = {
  /** For `file/download`, beside the message's id. */
  id: string;
  /** Usable as it is, for as long as the remote says. */
  url: string;
  /**
   * As the sender named it: never use it as a path unchecked (a temporary or stream target needs
   * none).
   */
  name: string;
  mimeType?: string;
  /** Of the name, in lower case, without its dot; may be empty. */
  extension: string;
  /** Bytes. */
  size?: number;
};

/** A message that `batch/send` sent. */
export type BatchMessage = {
  /** For `message/get`. */
  id: string;
  type: AttachmentType;
  /** Of media messages. */
  muid?: string;
  fileIds: FileId[];
};

/** Of `initialize`. Says who the host is and learns what this ferry can do. */
export type InitializeParams = {
  /**
   * Who is asking. `name` is the default of `stateKey` and, on kind `local`, the publisher of
   * announcements.
   */
  clientInfo?: {
    name: string;
    version?: string;
  };
  /**
   * The versions the host speaks, best first. None in common: ERR_UNSUPPORTED with `data.supported`.
   */
  protocolVersions?: number[];
  /** The host's process. When it is gone ferry ends as after `shutdown` with mode `now`. */
  processId?: number | null;
  /** The folder relative paths start from; default the working directory. */
  rootPath?: string;
  /**
   * The scope of what is remembered over restarts; default `clientInfo.name`, else `default`.
   */
  stateKey?: string;
  /** Laid over the configuration file; the same shape (schema/config.schema.json). */
  config?: Record<string, unknown>;
  /** Notifications the host never wants, by method. */
  optOutNotifications?: string[];
  /** How often a transfer reports progress at most, in ms. */
  progress?: {
    intervalMs?: number;
  };
  /** The longest line the host reads. Longer pages and inline content become possible. */
  maxOutLineBytes?: number;
};

/** What this ferry is. */
export type InitializeResult = {
  serverInfo: {
    name: "ferry";
    version: string;
  };
  protocolVersion: 1;
  /** Unique per process: a changed one means that ferry was restarted. */
  instanceId: string;
  /** What this version can do. Later versions add names; absent means unsupported. */
  capabilities: {
    framings: Array<"ndjson" | "lsp">;
    /** Kinds of remotes this version has. */
    kinds: string[];
    sources: Array<"path" | "data" | "text" | "stream">;
    targets: Array<"path" | "temporary" | "inline" | "stream">;
  };
  remotes: Array<{
    name: string;
    kind: "local" | "s3" | "pubnub" | "cometchat";
    capabilities: Array<"objects" | "files" | "channels" | "subscribe" | "batches" | "filter" | "groups" | "resumable">;
  }>;
  /** The remote used where a call names none. */
  default: string;
  limits: {
    /** The longest line ferry reads. */
    maxLineBytes: number;
    /** The longest line it writes. */
    maxOutLineBytes: number;
    /** Requests open at once; more get ERR_OVERLOADED. */
    maxInFlight: number;
  };
};

/** Of `shutdown`. Ends all work and answers with what became of it. */
export type ShutdownParams = {
  /** drain: accepted transfers finish. now: they are cancelled. */
  mode?: "drain" | "now";
  /** How long a drain may take before it becomes `now`, in ms; default no limit. */
  deadlineMs?: number;
};

/** Transfers by what became of them. */
export type ShutdownResult = {
  completed: number;
  failed: number;
  cancelled: number;
  resumable: number;
};

/** Of `exit`. Ends the process: exit code 0 after `shutdown`, else 1. */
export type ExitParams = Record<string, never>;

/** Of `$/cancelRequest`. Cancels a request that is still open. */
export type CancelRequestParams = {
  /** The request's id. */
  id: number | string;
};

/** Of `ping`. Answers `{}`, always. */
export type PingParams = Record<string, never>;

export type PingResult = Empty;

/** Of `rpc.discover`. This document. */
export type RpcDiscoverParams = Record<string, never>;

/** The OpenRPC document. */
export type RpcDiscoverResult = Record<string, unknown>;

/** Of `server/stats`. Queues, memory and counters of this process. */
export type ServerStatsParams = Record<string, never>;

export type ServerStatsResult = {
  uptimeMs: number;
  residentBytes: number;
  requests: {
    /** Since the start. */
    received: number;
    inFlight: number;
    /** With ERR_OVERLOADED, since the start. */
    refused: number;
  };
  output: {
    /** What waits for room in the pipe to the host. */
    queuedBytes: number;
    /** Rounds of progress left out because the output was not taken in time. */
    droppedProgress: number;
  };
  transfers: {
    queued: number;
    running: number;
    paused: number;
    succeeded: number;
    failed: number;
    rejected: number;
    cancelled: number;
  };
  /** By the remote's name. */
  remotes: Record<string, {
    queued: number;
    running: number;
    /** Since the start. */
    bytesUp: number;
    /** Since the start. */
    bytesDown: number;
    /** Since the start. */
    retries: number;
  }>;
};

/** Of `file/send`. Uploads a file to a channel and announces it to the subscribers. */
export type FileSendParams = {
  /** The remote to use; default the configuration's `default`. */
  remote?: string;
  /** The channel: 1 to 1,024 bytes without control characters. */
  channel: string;
  /**
   * Source: a local file, or its `file://` URI; relative to `rootPath`, else to the working
   * directory. Exactly one of `path`, `data`, `text`, `stream` must be given. Missing, unreadable,
   * directories, devices: ERR_FILE_NOT_FOUND, ERR_FILE_ACCESS_DENIED, ERR_INVALID_FILE_OBJECT; a
   * file that changes while sent: ERR_FILE_CHANGED.
   */
  path?: string;
  /** Source: the content itself, base64. */
  data?: string;
  /** Source: the content itself, sent as UTF-8. */
  text?: string;
  /**
   * Source: bytes that come by `stream/write`, ended by `stream/close`. Needs `transferId` or
   * `detach`.
   */
  stream?: {
    /** Bytes in all, where known; more or fewer is ERR_FILE_CHANGED. */
    size?: number;
  };
  /**
   * The file's name, 1 to 1,024 bytes without control characters; default the last component of
   * `path`. Required with `data`, `text` and `stream` where the remote needs a name (`file/send`).
   */
  name?: string;
  /**
   * MIME type; default from the local file's extension, else from `name` or `ref`, else
   * `application/octet-stream`. Two different explicit ones are refused.
   */
  contentType?: string;
  /**
   * Whether the content's SHA-256 is computed while bytes move, and reported; on a download also
   * compared with what the remote knows.
   */
  digest?: "sha256" | "none";
  /** The host's own content beside the file: any JSON, delivered as it is. */
  message?: unknown;
  /** The host's own metadata for subscribers. */
  meta?: Record<string, unknown> | string;
  /** Whether history keeps the announcement; subscribers get it either way. */
  store?: boolean;
  /** Whether the remote replicates it to other regions; without effect on kind `local`. */
  replicate?: boolean;
  /**
   * Whole hours that history keeps the announcement; 0: the remote's own policy (kind `local`: for
   * ever).
   */
  ttl?: number;
  /**
   * The host's own type for the announcement: 3 to 50 of `A-Za-z0-9-_`, not starting with `-`, `_`,
   * `pn-` or `pn_`. Checked before any byte moves.
   */
  customMessageType?: string;
  /**
   * Encrypts, or decrypts, this request with a key of its own, on kind `pubnub`: in the older form
   * of PubNub's SDKs (deprecated; `crypto` of the configuration is for the present one). Refused
   * elsewhere. Never logged or stored, so a transfer that an earlier process left goes on only when
   * it is asked for again with its key.
   */
  cipherKey?: string;
  /**
   * More query parameters of the request that announces, on kind `pubnub`: strings, numbers, true or
   * false; without effect elsewhere.
   */
  query?: Record<string, unknown>;
  /**
   * Chosen by the host, else made. The same id again with equal params and an equal source joins
   * that transfer (each request gets the result); anything else is ERR_DUPLICATE_TRANSFER.
   */
  transferId?: TransferId;
  /**
   * true: reply `{transferId}` as soon as the transfer is accepted. Otherwise the reply comes when
   * it is settled.
   */
  detach?: boolean;
  /** false: no `progress` notifications for this transfer. */
  progress?: boolean;
};

/** The file, announced. */
export type FileSendResult = {
  transferId: TransferId;
  /** Given by the remote; with `channel` and `name` it names the file. */
  id: string;
  name: string;
  channel: string;
  /** Of its announcement. */
  timetoken: Timetoken;
  /** Bytes. */
  size: number;
  contentType: string;
  /** Absent with `digest: "none"`. */
  sha256?: Sha256;
  /** Usable as it is; absent where the remote gives none. */
  url?: string;
} | Detached;

/** Of `file/publish`. Announces a file that is already on a channel. */
export type FilePublishParams = {
  /** The remote to use; default the configuration's `default`. */
  remote?: string;
  /** The channel: 1 to 1,024 bytes without control characters. */
  channel: string;
  /** The file's id, from its announcement, `file/send` or `file/list`. */
  id: string;
  /** The file's name, as announced. */
  name: string;
  /** The host's own content beside the file: any JSON, delivered as it is. */
  message?: unknown;
  /** The host's own metadata for subscribers. */
  meta?: Record<string, unknown> | string;
  /** Whether history keeps the announcement; subscribers get it either way. */
  store?: boolean;
  /**
   * Whole hours that history keeps the announcement; 0: the remote's own policy (kind `local`: for
   * ever).
   */
  ttl?: number;
  /** Whether the remote replicates it to other regions; without effect on kind `local`. */
  replicate?: boolean;
  /**
   * The host's own type for the announcement: 3 to 50 of `A-Za-z0-9-_`, not starting with `-`, `_`,
   * `pn-` or `pn_`. Checked before any byte moves.
   */
  customMessageType?: string;
  /**
   * Encrypts, or decrypts, this request with a key of its own, on kind `pubnub`: in the older form
   * of PubNub's SDKs (deprecated; `crypto` of the configuration is for the present one). Refused
   * elsewhere. Never logged or stored, so a transfer that an earlier process left goes on only when
   * it is asked for again with its key.
   */
  cipherKey?: string;
  /**
   * More query parameters of the request that announces, on kind `pubnub`: strings, numbers, true or
   * false; without effect elsewhere.
   */
  query?: Record<string, unknown>;
};

export type FilePublishResult = {
  timetoken: Timetoken;
  /** The remote's own words, where it has any. */
  information?: string;
};

/** Of `file/list`. Lists the files of a channel, oldest first. */
export type FileListParams = {
  /** The remote to use; default the configuration's `default`. */
  remote?: string;
  /** The channel: 1 to 1,024 bytes without control characters. */
  channel: string;
  /** The most entries of a page. */
  limit?: number;
  /** `next` of the page before. A made-up one is refused. */
  next?: string;
};

/** One page. */
export type FileListResult = {
  files: ListedFile[];
  next: Next;
  /** Files of this page. */
  count: number;
};

/** Of `file/url`. The address of a file, usable as it is. */
export type FileUrlParams = {
  /** The remote to use; default the configuration's `default`. */
  remote?: string;
  /** The channel: 1 to 1,024 bytes without control characters. */
  channel: string;
  /** The file's id, from its announcement, `file/send` or `file/list`. */
  id: string;
  /** The file's name, as announced. */
  name: string;
};

export type FileUrlResult = {
  /** kind `local`: a `file://` URL of the content; treat it as read-only. */
  url: string;
};

/** Of `file/download`. Downloads a file of a channel. */
export type FileDownloadParams = {
  /** The remote to use; default the configuration's `default`. */
  remote?: string;
  /** The channel; with `id` and `name`. */
  channel?: string;
  /**
   * The file's id. Give `channel`, `id` and `name`; or `url`; or `messageId`, with `id` where the
   * message shows several files.
   */
  id?: string;
  /** The file's name, as announced. */
  name?: string;
  /** The file's address, as `file/url` or a message gives it. */
  url?: string;
  /** The message that announced it: `<channel>:<timetoken>`. */
  messageId?: string;
  /** Where the bytes go. */
  target?: Target;
  /** Whether a path target may replace an existing file; otherwise ERR_TARGET_EXISTS. */
  overwrite?: boolean;
  /**
   * Whether the content's SHA-256 is computed while bytes move, and reported; on a download also
   * compared with what the remote knows.
   */
  digest?: "sha256" | "none";
  /**
   * Encrypts, or decrypts, this request with a key of its own, on kind `pubnub`: in the older form
   * of PubNub's SDKs (deprecated; `crypto` of the configuration is for the present one). Refused
   * elsewhere. Never logged or stored, so a transfer that an earlier process left goes on only when
   * it is asked for again with its key.
   */
  cipherKey?: string;
  /**
   * Chosen by the host, else made. The same id again with equal params and an equal source joins
   * that transfer (each request gets the result); anything else is ERR_DUPLICATE_TRANSFER.
   */
  transferId?: TransferId;
  /**
   * true: reply `{transferId}` as soon as the transfer is accepted. Otherwise the reply comes when
   * it is settled.
   */
  detach?: boolean;
  /** false: no `progress` notifications for this transfer. */
  progress?: boolean;
};

/** Where it is. */
export type FileDownloadResult = {
  transferId: TransferId;
  /** The file written, absolute; absent for inline and stream targets. */
  path?: string;
  /** Whether ferry removes the file later; there with `path`. */
  temporary?: boolean;
  /** The content, base64; inline targets only. */
  data?: string;
  /** Bytes received. */
  size: number;
  /** Of the bytes received; absent with `digest: "none"`. */
  sha256?: Sha256;
} | Detached;

/** Of `file/delete`. Deletes a file of a channel; its announcements stay in history. */
export type FileDeleteParams = {
  /** The remote to use; default the configuration's `default`. */
  remote?: string;
  /** The channel: 1 to 1,024 bytes without control characters. */
  channel: string;
  /** The file's id, from its announcement, `file/send` or `file/list`. */
  id: string;
  /** The file's name, as announced. */
  name: string;
};

export type FileDeleteResult = Empty;

/** Of `object/put`. Uploads an object to a reference, replacing what is there. */
export type ObjectPutParams = {
  /** The remote to use; default the configuration's `default`. */
  remote?: string;
  /**
   * A path below the remote's root, or a URL of the remote (`gs://`, `s3://`, https) that must match
   * its endpoint, bucket and prefix: ERR_INVALID_REFERENCE. Repeated, leading and trailing slashes
   * go; `..` is a literal name. The root itself is refused here.
   */
  ref: string;
  /**
   * Source: a local file, or its `file://` URI; relative to `rootPath`, else to the working
   * directory. Exactly one of `path`, `data`, `text`, `stream` must be given. Missing, unreadable,
   * directories, devices: ERR_FILE_NOT_FOUND, ERR_FILE_ACCESS_DENIED, ERR_INVALID_FILE_OBJECT; a
   * file that changes while sent: ERR_FILE_CHANGED.
   */
  path?: string;
  /** Source: the content itself, base64. */
  data?: string;
  /** Source: the content itself, sent as UTF-8. */
  text?: string;
  /**
   * Source: bytes that come by `stream/write`, ended by `stream/close`. Needs `transferId` or
   * `detach`.
   */
  stream?: {
    /** Bytes in all, where known; more or fewer is ERR_FILE_CHANGED. */
    size?: number;
  };
  /**
   * The file's name, 1 to 1,024 bytes without control characters; default the last component of
   * `path`. Required with `data`, `text` and `stream` where the remote needs a name (`file/send`).
   */
  name?: string;
  /**
   * MIME type; default from the local file's extension, else from `name` or `ref`, else
   * `application/octet-stream`. Two different explicit ones are refused.
   */
  contentType?: string;
  /**
   * Whether the content's SHA-256 is computed while bytes move, and reported; on a download also
   * compared with what the remote knows.
   */
  digest?: "sha256" | "none";
  /** What to keep with it. `contentType` here and as a parameter must not differ. */
  metadata?: SettableMetadata;
  /**
   * `*`: only where nothing is there; an ETag: only where it differs. Else ERR_PRECONDITION_FAILED.
   */
  ifNoneMatch?: string;
  /** Only where the object there has this ETag (`*`: any). Else ERR_PRECONDITION_FAILED. */
  ifMatch?: string;
  /**
   * Chosen by the host, else made. The same id again with equal params and an equal source joins
   * that transfer (each request gets the result); anything else is ERR_DUPLICATE_TRANSFER.
   */
  transferId?: TransferId;
  /**
   * true: reply `{transferId}` as soon as the transfer is accepted. Otherwise the reply comes when
   * it is settled.
   */
  detach?: boolean;
  /** false: no `progress` notifications for this transfer. */
  progress?: boolean;
};

/** The object as the remote has it. */
export type ObjectPutResult = {
  transferId: TransferId;
  metadata: Metadata;
  url?: string;
} | Detached;

/** Of `object/get`. Downloads an object. */
export type ObjectGetParams = {
  /** The remote to use; default the configuration's `default`. */
  remote?: string;
  /**
   * A path below the remote's root, or a URL of the remote (`gs://`, `s3://`, https) that must match
   * its endpoint, bucket and prefix: ERR_INVALID_REFERENCE. Repeated, leading and trailing slashes
   * go; `..` is a literal name. The root itself is refused here.
   */
  ref: string;
  /** Where the bytes go. */
  target?: Target;
  /** Whether a path target may replace an existing file; otherwise ERR_TARGET_EXISTS. */
  overwrite?: boolean;
  /**
   * Whether the content's SHA-256 is computed while bytes move, and reported; on a download also
   * compared with what the remote knows.
   */
  digest?: "sha256" | "none";
  /**
   * Only these bytes; cut at the object's end. An `offset` past the end is ERR_INVALID_ARGUMENT.
   */
  range?: {
    /** The first byte, from 0. */
    offset: number;
    /** Bytes; default to the end. */
    length?: number;
  };
  /**
   * Chosen by the host, else made. The same id again with equal params and an equal source joins
   * that transfer (each request gets the result); anything else is ERR_DUPLICATE_TRANSFER.
   */
  transferId?: TransferId;
  /**
   * true: reply `{transferId}` as soon as the transfer is accepted. Otherwise the reply comes when
   * it is settled.
   */
  detach?: boolean;
  /** false: no `progress` notifications for this transfer. */
  progress?: boolean;
};

/** Where it is, and what the remote knows of it. */
export type ObjectGetResult = {
  transferId: TransferId;
  /** The file written, absolute; absent for inline and stream targets. */
  path?: string;
  /** Whether ferry removes the file later; there with `path`. */
  temporary?: boolean;
  /** The content, base64; inline targets only. */
  data?: string;
  /** Bytes received. */
  size: number;
  /** Of the bytes received; absent with `digest: "none"`. */
  sha256?: Sha256;
  metadata: Metadata;
} | Detached;

/** Of `object/metadata`. What the remote knows of an object. */
export type ObjectMetadataParams = {
  /** The remote to use; default the configuration's `default`. */
  remote?: string;
  /**
   * A path below the remote's root, or a URL of the remote (`gs://`, `s3://`, https) that must match
   * its endpoint, bucket and prefix: ERR_INVALID_REFERENCE. Repeated, leading and trailing slashes
   * go; `..` is a literal name. The root itself is refused here.
   */
  ref: string;
};

export type ObjectMetadataResult = {
  metadata: Metadata;
};

/** Of `object/update`. Changes an object's metadata. */
export type ObjectUpdateParams = {
  /** The remote to use; default the configuration's `default`. */
  remote?: string;
  /**
   * A path below the remote's root, or a URL of the remote (`gs://`, `s3://`, https) that must match
   * its endpoint, bucket and prefix: ERR_INVALID_REFERENCE. Repeated, leading and trailing slashes
   * go; `..` is a literal name. The root itself is refused here.
   */
  ref: string;
  /** The change. */
  metadata: MetadataPatch;
};

/** The metadata afterwards. */
export type ObjectUpdateResult = {
  metadata: Metadata;
};

/** Of `object/url`. The address of an object, usable as it is. */
export type ObjectUrlParams = {
  /** The remote to use; default the configuration's `default`. */
  remote?: string;
  /**
   * A path below the remote's root, or a URL of the remote (`gs://`, `s3://`, https) that must match
   * its endpoint, bucket and prefix: ERR_INVALID_REFERENCE. Repeated, leading and trailing slashes
   * go; `..` is a literal name. The root itself is refused here.
   */
  ref: string;
  /** Seconds it should work, where the remote signs; without effect on kind `local`. */
  expiresIn?: number;
};

export type ObjectUrlResult = {
  url: string;
  /** Absent where it does not expire. */
  expires?: Time;
};

/** Of `object/list`. Lists the objects below a reference, in byte order. */
export type ObjectListParams = {
  /** The remote to use; default the configuration's `default`. */
  remote?: string;
  /** The "folder" to list; default the root. */
  ref?: string;
  /** The most entries of a page. */
  limit?: number;
  /** `next` of the page before. A made-up one is refused. */
  next?: string;
  /**
   * true: everything below; false: objects directly below, and `prefixes` for what lies deeper.
   */
  recursive?: boolean;
};

/** One page; objects and prefixes count together. */
export type ObjectListResult = {
  items: {
    ref: string;
    name: string;
    /** Bytes. */
    size?: number;
  }[];
  /** References of the "folders" directly below; empty with `recursive`. */
  prefixes: string[];
  next: Next;
};

/** Of `object/delete`. Deletes an object. */
export type ObjectDeleteParams = {
  /** The remote to use; default the configuration's `default`. */
  remote?: string;
  /**
   * A path below the remote's root, or a URL of the remote (`gs://`, `s3://`, https) that must match
   * its endpoint, bucket and prefix: ERR_INVALID_REFERENCE. Repeated, leading and trailing slashes
   * go; `..` is a literal name. The root itself is refused here.
   */
  ref: string;
};

export type ObjectDeleteResult = Empty;

/** Of `object/resolve`. Takes a reference apart, without asking the remote. */
export type ObjectResolveParams = {
  /** The remote to use; default the configuration's `default`. */
  remote?: string;
  /** A reference; the root (`""`, `"/"`) is allowed. */
  ref: string;
  /** A path below it, resolved too. */
  child?: string;
};

export type ObjectResolveResult = {
  /** Normalised. */
  ref: string;
  /** kind `local`: the remote's name. */
  bucket: string;
  /** The last component; empty for the root. */
  name: string;
  fullPath: string;
  /** The reference one level up (`""`: the root); null for the root. */
  parent: string | null;
  /** The reference of the root. */
  root: "";
};

/** Of `transfer/get`. One transfer as it is now. */
export type TransferGetParams = {
  /**
   * Taken as by every method; without effect, since an id names its transfer on whatever remote.
   */
  remote?: string;
  /** The transfer. */
  transferId: TransferId;
};

export type TransferGetResult = Snapshot;

/** Of `transfer/list`. Lists transfers, oldest first. */
export type TransferListParams = {
  /** Only this remote's; default all. */
  remote?: string;
  /** Only those in this state. */
  state?: State;
  /** Only this batch's. */
  batchId?: BatchId;
  /** The most entries of a page. */
  limit?: number;
  /** `next` of the page before. A made-up one is refused. */
  next?: string;
};

/** One page. */
export type TransferListResult = {
  transfers: Snapshot[];
  next: Next;
};

/**
 * Of `transfer/cancel`. Cancels a transfer: `cancelled` follows once, and nothing is left behind.
 */
export type TransferCancelParams = {
  /**
   * Taken as by every method; without effect, since an id names its transfer on whatever remote.
   */
  remote?: string;
  /** The transfer. */
  transferId: TransferId;
};

/** The state afterwards. */
export type TransferCancelResult = {
  state: State;
};

/** Of `transfer/forget`. Drops a settled transfer, and its temporary file. */
export type TransferForgetParams = {
  /**
   * Taken as by every method; without effect, since an id names its transfer on whatever remote.
   */
  remote?: string;
  /** The transfer. */
  transferId: TransferId;
};

export type TransferForgetResult = Empty;

/** Of `transfer/pause`. Pauses a transfer and frees its slot. */
export type TransferPauseParams = {
  /**
   * Taken as by every method; without effect, since an id names its transfer on whatever remote.
   */
  remote?: string;
  /** The transfer. */
  transferId: TransferId;
};

/** The state afterwards. */
export type TransferPauseResult = {
  state: State;
};

/** Of `transfer/resume`. Queues a paused transfer again. */
export type TransferResumeParams = {
  /**
   * Taken as by every method; without effect, since an id names its transfer on whatever remote.
   */
  remote?: string;
  /** The transfer. */
  transferId: TransferId;
};

/** The state afterwards. */
export type TransferResumeResult = {
  state: State;
};

/** Of `transfer/retry`. Queues a failed transfer again; `attempt` rises. */
export type TransferRetryParams = {
  /**
   * Taken as by every method; without effect, since an id names its transfer on whatever remote.
   */
  remote?: string;
  /** The transfer. */
  transferId: TransferId;
};

/** The state afterwards. */
export type TransferRetryResult = {
  state: State;
};

/** Of `stream/write`. Gives bytes to an upload whose source is `stream`. */
export type StreamWriteParams = {
  /**
   * Taken as by every method; without effect, since an id names its transfer on whatever remote.
   */
  remote?: string;
  /** The transfer. */
  transferId: TransferId;
  /** Base64; at most what fits a line. */
  data: string;
};

/** Taken. Wait for it before the next write: that is the back-pressure. */
export type StreamWriteResult = Empty;

/** Of `stream/read`. Takes bytes of a download whose target is `stream`. */
export type StreamReadParams = {
  /**
   * Taken as by every method; without effect, since an id names its transfer on whatever remote.
   */
  remote?: string;
  /** The transfer. */
  transferId: TransferId;
  /** The most bytes to return; cut to what fits a line. */
  maxBytes?: number;
};

/** At least one byte, or the end. */
export type StreamReadResult = {
  /** Base64. */
  data: string;
  /** Whether these were the last. */
  eof: boolean;
};

/** Of `stream/close`. Ends the bytes of an upload whose source is `stream`. */
export type StreamCloseParams = {
  /**
   * Taken as by every method; without effect, since an id names its transfer on whatever remote.
   */
  remote?: string;
  /** The transfer. */
  transferId: TransferId;
};

/** Taken; the outcome is the transfer's own. */
export type StreamCloseResult = Empty;

/** Of `batch/create`. Makes a batch: uploads to one destination, run and reported together. */
export type BatchCreateParams = {
  /** The remote to use; default the configuration's `default`. */
  remote?: string;
  /**
   * Where the files go; `batch/send` announces them. Exactly one of `channel` and `prefix` must be
   * given.
   */
  channel?: string;
  /** For plain objects: the reference below which they go; empty for the root. */
  prefix?: string;
  /**
   * Chosen by the host; default a new one. The same id with the same parameters joins, also after a
   * restart.
   */
  batchId?: BatchId;
  /** Files that move at the same time, within the process's slots. Default 1. */
  concurrency?: number;
  /**
   * How often a file that failed is tried again unasked, where trying again can help, each time
   * after a longer wait that differs from file to file; default 0.
   */
  retries?: number;
  /** The message to answer in its thread, where the remote has threads; otherwise refused. */
  parentMessageId?: string;
};

export type BatchCreateResult = {
  batchId: BatchId;
};

/** Of `batch/upload`. Adds files to a batch, also while others move. */
export type BatchUploadParams = {
  /**
   * Taken as by every method; without effect, since an id names its batch on whatever remote.
   */
  remote?: string;
  /** The batch. */
  batchId: BatchId;
  /** The files, in the order they are to have. */
  items: BatchItem[];
};

export type BatchUploadResult = {
  /**
   * How many were taken in; they are looked at afterwards, and their events follow this reply.
   */
  accepted: number;
};

/** Of `batch/configure`. Changes how a batch goes about its files, from the next one on. */
export type BatchConfigureParams = {
  /**
   * Taken as by every method; without effect, since an id names its batch on whatever remote.
   */
  remote?: string;
  /** The batch. */
  batchId: BatchId;
  /** Files that move at the same time, within the process's slots. */
  concurrency?: number;
  /**
   * How often a file that failed is tried again unasked, where trying again can help, each time
   * after a longer wait that differs from file to file; default 0.
   */
  retries?: number;
  /**
   * The message to answer in its thread, where the remote has threads; otherwise refused. null: none
   * from now on.
   */
  parentMessageId?: string | null;
};

export type BatchConfigureResult = Empty;

/** Of `batch/remove`. Takes a file out of its batch, whatever its state, without an event. */
export type BatchRemoveParams = {
  /**
   * Taken as by every method; without effect, since an id names its batch on whatever remote.
   */
  remote?: string;
  /** The batch. */
  batchId: BatchId;
  /** The file. */
  fileId: FileId;
};

export type BatchRemoveResult = {
  /** false: the batch has no such file. */
  removed: boolean;
};

/**
 * Of `batch/retry`. Puts files that failed, or that an earlier process left, in line again, each in
 * its place.
 */
export type BatchRetryParams = {
  /**
   * Taken as by every method; without effect, since an id names its batch on whatever remote.
   */
  remote?: string;
  /** The batch. */
  batchId: BatchId;
  /** The file; default all. */
  fileId?: FileId;
};

export type BatchRetryResult = {
  /** How many; other files are left alone. */
  retried: number;
};

/**
 * Of `batch/clear`. Drops a batch with all its files, without events; its id may be used again.
 */
export type BatchClearParams = {
  /**
   * Taken as by every method; without effect, since an id names its batch on whatever remote.
   */
  remote?: string;
  /** The batch. */
  batchId: BatchId;
};

export type BatchClearResult = Empty;

/** Of `batch/get`. How a batch stands, and its files in the order they were added. */
export type BatchGetParams = {
  /**
   * Taken as by every method; without effect, since an id names its batch on whatever remote.
   */
  remote?: string;
  /** The batch. */
  batchId: BatchId;
  /** Only those in this state. */
  state?: State;
  /** The most entries of a page. */
  limit?: number;
  /** `next` of the page before. A made-up one is refused. */
  next?: string;
};

export type BatchGetResult = {
  /** `idle`: nothing is queued, running or paused. */
  status: "inProgress" | "idle";
  /** Of all files. */
  counts: {
    queued: number;
    running: number;
    paused: number;
    succeeded: number;
    failed: number;
    rejected: number;
    interrupted: number;
  };
  files: BatchFile[];
  next: Next;
};

/** Of `batch/attachments`. What is uploaded, in the order it was added. */
export type BatchAttachmentsParams = {
  /**
   * Taken as by every method; without effect, since an id names its batch on whatever remote.
   */
  remote?: string;
  /** The batch. */
  batchId: BatchId;
  /** Only these. */
  type?: AttachmentType;
  /** Only this one. */
  fileId?: FileId;
  /** The most entries of a page. */
  limit?: number;
  /** `next` of the page before. A made-up one is refused. */
  next?: string;
};

export type BatchAttachmentsResult = {
  attachments: {
    fileId: FileId;
    type: AttachmentType;
    sent: boolean;
    attachment: Attachment;
  }[];
  next: Next;
};

/**
 * Of `batch/send`. Announces what is uploaded and not yet sent; it never uploads and never clears.
 */
export type BatchSendParams = {
  /**
   * Taken as by every method; without effect, since an id names its batch on whatever remote.
   */
  remote?: string;
  /** The batch. */
  batchId: BatchId;
  /** Only these; default all. */
  fileIds?: FileId[];
  /** Told as `message.text`; of several media messages by the first. */
  caption?: string;
  /**
   * Of media messages: only files of this type, or with `split: none` what the message is shown as;
   * elsewhere refused.
   */
  type?: AttachmentType;
  /**
   * Of media messages: one per type of attachment (the default), or one for all; each is cut where
   * it has more files, or is longer, than the remote takes. Elsewhere refused.
   */
  split?: "byType" | "none";
  /**
   * Of media messages: the first one's id of yours, to which `-2`, `-3` and so on are added for the
   * others; left out: made of the files. Elsewhere refused.
   */
  muid?: string;
  /** Of media messages, to which `batchId` is added; elsewhere refused. */
  metadata?: Record<string, unknown>;
  /** Of media messages; elsewhere refused. */
  tags?: string[];
  /** Metadata beside the message; `batchId` is added to it. */
  meta?: Record<string, unknown>;
  /** Whether history keeps the announcement; subscribers get it either way. */
  store?: boolean;
  /** Whether the remote replicates it to other regions; without effect on kind `local`. */
  replicate?: boolean;
  /**
   * Whole hours that history keeps the announcement; 0: the remote's own policy (kind `local`: for
   * ever).
   */
  ttl?: number;
  /**
   * The host's own type for the announcement: 3 to 50 of `A-Za-z0-9-_`, not starting with `-`, `_`,
   * `pn-` or `pn_`. Checked before any byte moves.
   */
  customMessageType?: string;
  /**
   * More query parameters of the request that announces, on kind `pubnub`: strings, numbers, true or
   * false; without effect elsewhere.
   */
  query?: Record<string, unknown>;
};

export type BatchSendResult = {
  /** As far as they fit a line; `batch/get` tells the message of every file. */
  messages: BatchMessage[];
  /** How many messages were sent. */
  count: number;
  /** `messages` has not all of them. */
  truncated?: true;
};

/**
 * Of `channel/subscribe`. Delivers `message` notifications for channels, in order and each once.
 */
export type ChannelSubscribeParams = {
  /** The remote to use; default the configuration's `default`. */
  remote?: string;
  /** The channels, in addition to those subscribed to already; may be left out with `groups`. */
  channels?: string[];
  /** Channel groups, where the remote has the capability `groups`; otherwise refused. */
  groups?: string[];
  /**
   * A filter in the remote's own language, where it has the capability `filter`; otherwise refused.
   * It holds for all that is subscribed to on the remote.
   */
  filter?: string;
  /** Deliver what came after this moment first; default now. */
  since?: Timetoken;
};

/** Everything after this moment is delivered. */
export type ChannelSubscribeResult = {
  timetoken: Timetoken;
};

/** Of `channel/unsubscribe`. Ends the delivery for channels. */
export type ChannelUnsubscribeParams = {
  /** The remote to use; default the configuration's `default`. */
  remote?: string;
  /** The channels; neither `channels` nor `groups`: all. Others are ignored. */
  channels?: string[];
  /** Channel groups, where the remote has the capability `groups`; otherwise refused. */
  groups?: string[];
};

export type ChannelUnsubscribeResult = Empty;

/** Of `channel/history`. Messages a channel kept, oldest first. */
export type ChannelHistoryParams = {
  /** The remote to use; default the configuration's `default`. */
  remote?: string;
  /** The channel: 1 to 1,024 bytes without control characters. */
  channel: string;
  /** The most entries of a page. */
  limit?: number;
  /** Only older than this moment (exclusive); default now. */
  start?: Timetoken;
  /** Not older than this moment (inclusive); default everything. */
  end?: Timetoken;
  /**
   * Encrypts, or decrypts, this request with a key of its own, on kind `pubnub`: in the older form
   * of PubNub's SDKs (deprecated; `crypto` of the configuration is for the present one). Refused
   * elsewhere. Never logged or stored, so a transfer that an earlier process left goes on only when
   * it is asked for again with its key.
   */
  cipherKey?: string;
};

/** The newest `limit` messages between `start` and `end`. */
export type ChannelHistoryResult = {
  messages: Message[];
  /** There are older ones: pass this `start` for them. */
  more?: {
    start: Timetoken;
  };
};

/** Of `message/get`. One message. */
export type MessageGetParams = {
  /** The remote to use; default the configuration's `default`. */
  remote?: string;
  /** The message: `<channel>:<timetoken>`, split at the last colon. */
  messageId: string;
};

export type MessageGetResult = Message;

/** Of `message/delete`. Removes a message from history; a file it announced stays. */
export type MessageDeleteParams = {
  /** The remote to use; default the configuration's `default`. */
  remote?: string;
  /** The message: `<channel>:<timetoken>`, split at the last colon. */
  messageId: string;
};

export type MessageDeleteResult = Empty;

/** Of `limits/get`. The limits of a remote. */
export type LimitsGetParams = {
  /** The remote to use; default the configuration's `default`. */
  remote?: string;
};

export type LimitsGetResult = Limits;

/**
 * Of `limits/set`. Changes the limits of this process while it runs; a new concurrency acts from the
 * next transfer on.
 */
export type LimitsSetParams = {
  /** The remote to use; default the configuration's `default`. */
  remote?: string;
  /** Transfers running at once. */
  concurrency?: number;
  /** Bytes per second; null: no limit. */
  uploadRate?: number | null;
  /** Bytes per second; null: no limit. */
  downloadRate?: number | null;
};

/** The limits afterwards. */
export type LimitsSetResult = Limits;

/**
 * Of `remote/credentials`. Replaces what proves to a remote who asks, for every request from now on;
 * what failed with ERR_UNAUTHENTICATED can then be retried.
 */
export type RemoteCredentialsParams = {
  /** Which remote; there is no default here. */
  remote: string;
  /** Of a signed-in user. */
  idToken?: Credential;
  /** Of an access manager or a user. */
  authToken?: Credential;
  /** Of OAuth. */
  accessToken?: Credential;
  /** Kind `s3`, with `secretAccessKey`. */
  accessKeyId?: Credential;
  /** Kind `s3`, with `accessKeyId`. */
  secretAccessKey?: Credential;
  /** Kind `s3`, of temporary credentials. */
  sessionToken?: Credential;
};

export type RemoteCredentialsResult = Empty;

/** Every method that is answered. */
export interface Methods {
  /** Says who the host is and learns what this ferry can do. */
  initialize: { params: InitializeParams; result: InitializeResult };
  /** Ends all work and answers with what became of it. */
  shutdown: { params: ShutdownParams; result: ShutdownResult };
  /** Answers `{}`, always. */
  ping: { params: PingParams; result: PingResult };
  /** This document. */
  "rpc.discover": { params: RpcDiscoverParams; result: RpcDiscoverResult };
  /** Queues, memory and counters of this process. */
  "server/stats": { params: ServerStatsParams; result: ServerStatsResult };
  /** Uploads a file to a channel and announces it to the subscribers. */
  "file/send": { params: FileSendParams; result: FileSendResult };
  /** Announces a file that is already on a channel. */
  "file/publish": { params: FilePublishParams; result: FilePublishResult };
  /** Lists the files of a channel, oldest first. */
  "file/list": { params: FileListParams; result: FileListResult };
  /** The address of a file, usable as it is. */
  "file/url": { params: FileUrlParams; result: FileUrlResult };
  /** Downloads a file of a channel. */
  "file/download": { params: FileDownloadParams; result: FileDownloadResult };
  /** Deletes a file of a channel; its announcements stay in history. */
  "file/delete": { params: FileDeleteParams; result: FileDeleteResult };
  /** Uploads an object to a reference, replacing what is there. */
  "object/put": { params: ObjectPutParams; result: ObjectPutResult };
  /** Downloads an object. */
  "object/get": { params: ObjectGetParams; result: ObjectGetResult };
  /** What the remote knows of an object. */
  "object/metadata": { params: ObjectMetadataParams; result: ObjectMetadataResult };
  /** Changes an object's metadata. */
  "object/update": { params: ObjectUpdateParams; result: ObjectUpdateResult };
  /** The address of an object, usable as it is. */
  "object/url": { params: ObjectUrlParams; result: ObjectUrlResult };
  /** Lists the objects below a reference, in byte order. */
  "object/list": { params: ObjectListParams; result: ObjectListResult };
  /** Deletes an object. */
  "object/delete": { params: ObjectDeleteParams; result: ObjectDeleteResult };
  /** Takes a reference apart, without asking the remote. */
  "object/resolve": { params: ObjectResolveParams; result: ObjectResolveResult };
  /** One transfer as it is now. */
  "transfer/get": { params: TransferGetParams; result: TransferGetResult };
  /** Lists transfers, oldest first. */
  "transfer/list": { params: TransferListParams; result: TransferListResult };
  /** Cancels a transfer: `cancelled` follows once, and nothing is left behind. */
  "transfer/cancel": { params: TransferCancelParams; result: TransferCancelResult };
  /** Drops a settled transfer, and its temporary file. */
  "transfer/forget": { params: TransferForgetParams; result: TransferForgetResult };
  /** Pauses a transfer and frees its slot. */
  "transfer/pause": { params: TransferPauseParams; result: TransferPauseResult };
  /** Queues a paused transfer again. */
  "transfer/resume": { params: TransferResumeParams; result: TransferResumeResult };
  /** Queues a failed transfer again; `attempt` rises. */
  "transfer/retry": { params: TransferRetryParams; result: TransferRetryResult };
  /** Gives bytes to an upload whose source is `stream`. */
  "stream/write": { params: StreamWriteParams; result: StreamWriteResult };
  /** Takes bytes of a download whose target is `stream`. */
  "stream/read": { params: StreamReadParams; result: StreamReadResult };
  /** Ends the bytes of an upload whose source is `stream`. */
  "stream/close": { params: StreamCloseParams; result: StreamCloseResult };
  /** Makes a batch: uploads to one destination, run and reported together. */
  "batch/create": { params: BatchCreateParams; result: BatchCreateResult };
  /** Adds files to a batch, also while others move. */
  "batch/upload": { params: BatchUploadParams; result: BatchUploadResult };
  /** Changes how a batch goes about its files, from the next one on. */
  "batch/configure": { params: BatchConfigureParams; result: BatchConfigureResult };
  /** Takes a file out of its batch, whatever its state, without an event. */
  "batch/remove": { params: BatchRemoveParams; result: BatchRemoveResult };
  /**
   * Puts files that failed, or that an earlier process left, in line again, each in its place.
   */
  "batch/retry": { params: BatchRetryParams; result: BatchRetryResult };
  /** Drops a batch with all its files, without events; its id may be used again. */
  "batch/clear": { params: BatchClearParams; result: BatchClearResult };
  /** How a batch stands, and its files in the order they were added. */
  "batch/get": { params: BatchGetParams; result: BatchGetResult };
  /** What is uploaded, in the order it was added. */
  "batch/attachments": { params: BatchAttachmentsParams; result: BatchAttachmentsResult };
  /** Announces what is uploaded and not yet sent; it never uploads and never clears. */
  "batch/send": { params: BatchSendParams; result: BatchSendResult };
  /** Delivers `message` notifications for channels, in order and each once. */
  "channel/subscribe": { params: ChannelSubscribeParams; result: ChannelSubscribeResult };
  /** Ends the delivery for channels. */
  "channel/unsubscribe": { params: ChannelUnsubscribeParams; result: ChannelUnsubscribeResult };
  /** Messages a channel kept, oldest first. */
  "channel/history": { params: ChannelHistoryParams; result: ChannelHistoryResult };
  /** One message. */
  "message/get": { params: MessageGetParams; result: MessageGetResult };
  /** Removes a message from history; a file it announced stays. */
  "message/delete": { params: MessageDeleteParams; result: MessageDeleteResult };
  /** The limits of a remote. */
  "limits/get": { params: LimitsGetParams; result: LimitsGetResult };
  /**
   * Changes the limits of this process while it runs; a new concurrency acts from the next transfer
   * on.
   */
  "limits/set": { params: LimitsSetParams; result: LimitsSetResult };
  /**
   * Replaces what proves to a remote who asks, for every request from now on; what failed with
   * ERR_UNAUTHENTICATED can then be retried.
   */
  "remote/credentials": { params: RemoteCredentialsParams; result: RemoteCredentialsResult };
}

/** A transfer runs: queued → running, once per attempt. */
export type StartedNotification = {
  /** Rises with every notification of this process. */
  seq: number;
  transferId: TransferId;
  /** Of a batch's file. */
  batchId?: BatchId;
  /** Of a batch's file. */
  fileId?: FileId;
  /** From 1. */
  attempt: number;
  /** Bytes in all; null while unknown. */
  total: number | null;
};

/**
 * Bytes moved. At most every `progress.intervalMs` per transfer, and dropped rather than queued when
 * the host does not read. The last one before success equals the total.
 */
export type ProgressNotification = {
  /** Rises with every notification of this process. */
  seq: number;
  transferId: TransferId;
  /** Of a batch's file. */
  batchId?: BatchId;
  /** Of a batch's file. */
  fileId?: FileId;
  direction: Direction;
  /** Bytes; never falls within an attempt. */
  loaded: number;
  /** Bytes in all; null while unknown. */
  total: number | null;
  /** null while `total` is unknown. */
  percent: number | null;
  /** Bytes per second. */
  rate: number;
  /** null while unknown. */
  etaMs: number | null;
  attempt: number;
};

/**
 * An upload is settled: the remote confirmed it and, for `file/send`, it was announced. `file` or
 * `object` says what came of it.
 */
export type UploadedNotification = {
  /** Rises with every notification of this process. */
  seq: number;
  transferId: TransferId;
  /** Of a batch's file. */
  batchId?: BatchId;
  /** Of a batch's file. */
  fileId?: FileId;
  file?: SentFile;
  object?: {
    ref: string;
    metadata: Metadata;
    url?: string;
  };
  /** Of a batch's file, beside `file` or `object`. */
  attachment?: Attachment;
  /** Absent with `digest: "none"`. */
  sha256?: Sha256;
};

/** A download is settled: verified and in place. */
export type DownloadedNotification = {
  /** Rises with every notification of this process. */
  seq: number;
  transferId: TransferId;
  /** Of a batch's file. */
  batchId?: BatchId;
  /** Of a batch's file. */
  fileId?: FileId;
  /** The file written, absolute; absent for inline and stream targets. */
  path?: string;
  /** Whether ferry removes the file later; there with `path`. */
  temporary?: boolean;
  /** Bytes received. */
  size: number;
  /** Of the bytes received; absent with `digest: "none"`. */
  sha256?: Sha256;
};

/**
 * A transfer was rejected: refused before any byte counted, and the request itself must change. A
 * batch's file that never became a transfer has no `transferId`.
 */
export type ErrorNotification = {
  /** Rises with every notification of this process. */
  seq: number;
  transferId?: TransferId;
  /** Of a batch's file. */
  batchId?: BatchId;
  /** Of a batch's file. */
  fileId?: FileId;
  /** The batch has a live file of this `fileId`, which stays as it is: nothing ended. */
  duplicate?: boolean;
  error: Error;
};

/**
 * A transfer failed. `transfer/retry` is allowed; `error.data.retryable` advises whether trying
 * again unchanged can help.
 */
export type FailureNotification = {
  /** Rises with every notification of this process. */
  seq: number;
  transferId: TransferId;
  /** Of a batch's file. */
  batchId?: BatchId;
  /** Of a batch's file. */
  fileId?: FileId;
  error: TransferFailure;
};

/** A transfer was cancelled. */
export type CancelledNotification = {
  /** Rises with every notification of this process. */
  seq: number;
  transferId: TransferId;
  /** Of a batch's file. */
  batchId?: BatchId;
  /** Of a batch's file. */
  fileId?: FileId;
  error: TransferFailure;
  /** Bytes moved until then. */
  loaded: number;
  resumable: boolean;
};

/** Nothing of a batch is under way any more: told each time it drains, of all its files. */
export type CompleteNotification = {
  /** Rises with every notification of this process. */
  seq: number;
  batchId: BatchId;
  counts: {
    successful: number;
    rejected: number;
    failed: number;
  };
  successful: {
    fileId: FileId;
    attachment: Attachment;
  }[];
  rejected: {
    fileId: FileId;
    error: Error;
  }[];
  failed: {
    fileId: FileId;
    error: Error;
  }[];
  /** The lists do not have all: they did not fit a line; `batch/get` has them. */
  truncated?: boolean;
};

/** A transfer was paused. */
export type PausedNotification = {
  /** Rises with every notification of this process. */
  seq: number;
  transferId: TransferId;
  /** Of a batch's file. */
  batchId?: BatchId;
  /** Of a batch's file. */
  fileId?: FileId;
  /** Bytes moved until now. */
  loaded: number;
};

/** A paused transfer runs again. */
export type ResumedNotification = {
  /** Rises with every notification of this process. */
  seq: number;
  transferId: TransferId;
  /** Of a batch's file. */
  batchId?: BatchId;
  /** Of a batch's file. */
  fileId?: FileId;
  /** Where it goes on; 0 where it starts again. */
  loaded: number;
};

/** A subscribed channel got a message. */
export type MessageNotification = {
  /** Rises with every notification of this process. */
  seq: number;
  remote: string;
  channel: string;
  /**
   * Who sent it; on kind `local` the sender's `clientInfo.name`. Absent where the remote does not
   * say.
   */
  publisher?: string;
  timetoken: Timetoken;
  /**
   * file: announces the file in `file`; others than `file` and `message` on kind `pubnub` alone.
   */
  type: "file" | "message" | "signal" | "object" | "messageAction" | "presence";
  /** When it was sent, in ms since 1970; on kind `cometchat`, whose timetokens are ids. */
  sentAt?: number;
  /** All files of a message that shows several, on kind `cometchat`; `file` is the first. */
  attachments?: MessageFile[];
  customMessageType?: string;
  /** The sender's metadata, as it was sent. */
  meta?: unknown;
  /** The sender's content, as it was sent. */
  message?: unknown;
  file?: {
    id: string;
    /**
     * As the sender named it: never use it as a path unchecked (a temporary or stream target needs
     * none).
     */
    name: string;
    /** Bytes. */
    size?: number;
    contentType?: string;
    sha256?: Sha256;
    /** Usable as it is; absent once the file was deleted. */
    url?: string;
  };
  /**
   * Why the content is as it came: it could not be decrypted, was not encrypted although `crypto` is
   * set, or announces no file.
   */
  error?: Error;
  /**
   * A later one was told before it (kind `s3`): it became visible late, or its writer's clock is
   * behind.
   */
  late?: true;
  /**
   * Too long for a line: `message` and `meta` were left out; `channel/history` with a raised
   * `maxOutLineBytes` has them.
   */
  truncated?: true;
  /** The subscription that matched, where it is not the channel itself. */
  subscription?: string;
};

/** A subscription's connection changed. */
export type StatusNotification = {
  /** Rises with every notification of this process. */
  seq: number;
  remote: string;
  state: "connected" | "reconnecting" | "disconnected" | "denied";
  error?: Error;
};

/** Every notification. */
export interface Notifications {
  /** A transfer runs: queued → running, once per attempt. */
  started: StartedNotification;
  /**
   * Bytes moved. At most every `progress.intervalMs` per transfer, and dropped rather than queued
   * when the host does not read. The last one before success equals the total.
   */
  progress: ProgressNotification;
  /**
   * An upload is settled: the remote confirmed it and, for `file/send`, it was announced. `file` or
   * `object` says what came of it.
   */
  uploaded: UploadedNotification;
  /** A download is settled: verified and in place. */
  downloaded: DownloadedNotification;
  /**
   * A transfer was rejected: refused before any byte counted, and the request itself must change. A
   * batch's file that never became a transfer has no `transferId`.
   */
  error: ErrorNotification;
  /**
   * A transfer failed. `transfer/retry` is allowed; `error.data.retryable` advises whether trying
   * again unchanged can help.
   */
  failure: FailureNotification;
  /** A transfer was cancelled. */
  cancelled: CancelledNotification;
  /** Nothing of a batch is under way any more: told each time it drains, of all its files. */
  complete: CompleteNotification;
  /** A transfer was paused. */
  paused: PausedNotification;
  /** A paused transfer runs again. */
  resumed: ResumedNotification;
  /** A subscribed channel got a message. */
  message: MessageNotification;
  /** A subscription's connection changed. */
  status: StatusNotification;
}

/** Every `code` of an error. */
export type ErrorCode =
  | "ERR_INVALID_ARGUMENT"
  | "ERR_INVALID_REFERENCE"
  | "ERR_UNSUPPORTED"
  | "ERR_CONFIG"
  | "ERR_DUPLICATE_TRANSFER"
  | "ERR_DUPLICATE_BATCH"
  | "ERR_UNKNOWN_ID"
  | "ERR_FILE_NOT_FOUND"
  | "ERR_FILE_DATA_EMPTY"
  | "ERR_INVALID_FILE_OBJECT"
  | "ERR_FILE_CHANGED"
  | "ERR_FILE_ACCESS_DENIED"
  | "ERR_FILE_SIZE_EXCEEDED"
  | "ERR_FILE_COUNT_EXCEEDED"
  | "ERR_FILE_TYPE_BLOCKED"
  | "ERR_DOWNLOAD_SIZE_EXCEEDED"
  | "ERR_NOT_FOUND"
  | "ERR_PERMISSION_DENIED"
  | "ERR_PRECONDITION_FAILED"
  | "ERR_UNAUTHENTICATED"
  | "ERR_QUOTA_EXCEEDED"
  | "ERR_DISK_FULL"
  | "ERR_TARGET_EXISTS"
  | "ERR_PRESIGNED_URL_FAILED"
  | "ERR_S3_UPLOAD_FAILED"
  | "ERR_PRESIGNED_URL_EXPIRED"
  | "ERR_INVALID_URL"
  | "ERR_UPLOAD_STALLED"
  | "ERR_DOWNLOAD_STALLED"
  | "ERR_NETWORK"
  | "ERR_SERVER"
  | "ERR_RATE_LIMITED"
  | "ERR_RETRY_LIMIT_EXCEEDED"
  | "ERR_CHECKSUM_MISMATCH"
  | "ERR_PUBLISH_FAILED"
  | "ERR_ENCRYPTION_FAILED"
  | "ERR_DECRYPTION_FAILED"
  | "ERR_UNKNOWN"
  | "ERR_CANCELLED"
  | "ERR_SHUTTING_DOWN"
  | "ERR_OVERLOADED"
  | "ERR_LINE_TOO_LONG";
