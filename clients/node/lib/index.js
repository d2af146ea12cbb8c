/** Share files on channels and store objects, through the ferry sidecar. */

export { Batch } from "./batch.js";
export { BatchFile } from "./batch-file.js";
export {
  BinaryNotFound, ConnectionClosed, FerryError, ProcessDied, ProtocolError, RequestTimeout,
  TransferCancelled, TransferError, TransferFailed, TransferRejected, VersionMismatch,
} from "./errors.js";
export { Ferry } from "./ferry.js";
export { TransferHandle } from "./handle.js";
export { Pages } from "./pages.js";
export { Subscription } from "./subscription.js";
export { DownloadHandle } from "./transfers.js";
export { PROTOCOL_VERSIONS, version } from "./version.js";
