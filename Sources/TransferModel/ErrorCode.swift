/// Every failure ferry reports, by its `data.code`; the schema lists the same.
package enum ErrorCode: String, Sendable, CaseIterable {
  // The call
  case invalidArgument = "ERR_INVALID_ARGUMENT"
  case invalidReference = "ERR_INVALID_REFERENCE"
  case unsupported = "ERR_UNSUPPORTED"
  case config = "ERR_CONFIG"
  case duplicateTransfer = "ERR_DUPLICATE_TRANSFER"
  case duplicateBatch = "ERR_DUPLICATE_BATCH"
  case unknownID = "ERR_UNKNOWN_ID"
  // The local file
  case fileNotFound = "ERR_FILE_NOT_FOUND"
  case fileDataEmpty = "ERR_FILE_DATA_EMPTY"
  case invalidFileObject = "ERR_INVALID_FILE_OBJECT"
  case fileChanged = "ERR_FILE_CHANGED"
  case fileAccessDenied = "ERR_FILE_ACCESS_DENIED"
  // A limit
  case fileSizeExceeded = "ERR_FILE_SIZE_EXCEEDED"
  case fileCountExceeded = "ERR_FILE_COUNT_EXCEEDED"
  case fileTypeBlocked = "ERR_FILE_TYPE_BLOCKED"
  case downloadSizeExceeded = "ERR_DOWNLOAD_SIZE_EXCEEDED"
  // The remote or the target refused
  case notFound = "ERR_NOT_FOUND"
  case permissionDenied = "ERR_PERMISSION_DENIED"
  case preconditionFailed = "ERR_PRECONDITION_FAILED"
  case unauthenticated = "ERR_UNAUTHENTICATED"
  case quotaExceeded = "ERR_QUOTA_EXCEEDED"
  case diskFull = "ERR_DISK_FULL"
  case targetExists = "ERR_TARGET_EXISTS"
  // Bytes to presigned storage
  case presignedURLFailed = "ERR_PRESIGNED_URL_FAILED"
  case s3UploadFailed = "ERR_S3_UPLOAD_FAILED"
  case presignedURLExpired = "ERR_PRESIGNED_URL_EXPIRED"
  case invalidURL = "ERR_INVALID_URL"
  // Every other transport fault
  case uploadStalled = "ERR_UPLOAD_STALLED"
  case downloadStalled = "ERR_DOWNLOAD_STALLED"
  case network = "ERR_NETWORK"
  case server = "ERR_SERVER"
  case rateLimited = "ERR_RATE_LIMITED"
  case retryLimitExceeded = "ERR_RETRY_LIMIT_EXCEEDED"
  case checksumMismatch = "ERR_CHECKSUM_MISMATCH"
  case publishFailed = "ERR_PUBLISH_FAILED"
  case encryptionFailed = "ERR_ENCRYPTION_FAILED"
  case decryptionFailed = "ERR_DECRYPTION_FAILED"
  case unknown = "ERR_UNKNOWN"
  // Lifecycle
  case cancelled = "ERR_CANCELLED"
  case shuttingDown = "ERR_SHUTTING_DOWN"
  case overloaded = "ERR_OVERLOADED"
  case lineTooLong = "ERR_LINE_TOO_LONG"

  /// Whether trying again unchanged can help, where nothing more exact is known.
  package var isRetryable: Bool {
    switch self {
    case .s3UploadFailed, .presignedURLExpired, .invalidURL, .uploadStalled, .downloadStalled,
      .network, .server, .rateLimited, .retryLimitExceeded, .checksumMismatch, .publishFailed,
      .overloaded, .presignedURLFailed:
      true
    case .invalidArgument, .invalidReference, .unsupported, .config, .duplicateTransfer,
      .duplicateBatch, .unknownID, .fileNotFound, .fileDataEmpty, .invalidFileObject,
      .fileChanged, .fileAccessDenied, .fileSizeExceeded, .fileCountExceeded, .fileTypeBlocked,
      .downloadSizeExceeded, .notFound, .permissionDenied, .preconditionFailed,
      .unauthenticated, .quotaExceeded, .diskFull, .targetExists, .encryptionFailed,
      .decryptionFailed, .unknown, .cancelled, .shuttingDown, .lineTooLong:
      false
    }
  }

  /// Whether a failure before the first byte means that the request itself must change.
  package var rejects: Bool {
    switch self {
    case .invalidArgument, .invalidReference, .unsupported, .config, .fileNotFound,
      .fileDataEmpty, .invalidFileObject, .fileChanged, .fileAccessDenied, .fileSizeExceeded,
      .fileCountExceeded, .fileTypeBlocked, .downloadSizeExceeded, .notFound,
      .permissionDenied, .preconditionFailed, .targetExists, .duplicateTransfer,
      .duplicateBatch, .unknownID:
      true
    case .unauthenticated, .quotaExceeded, .diskFull, .presignedURLFailed, .s3UploadFailed,
      .presignedURLExpired, .invalidURL, .uploadStalled, .downloadStalled, .network, .server,
      .rateLimited, .retryLimitExceeded, .checksumMismatch, .publishFailed,
      .encryptionFailed, .decryptionFailed, .unknown, .cancelled, .shuttingDown,
      .overloaded, .lineTooLong:
      false
    }
  }

  /// The number of the JSON-RPC error object, unique per code.
  package var number: Int {
    switch self {
    case .invalidArgument: -32602
    case .lineTooLong: -32600
    case .cancelled: -32800
    case .invalidReference: 1001
    case .unsupported: 1002
    case .config: 1003
    case .duplicateTransfer: 1004
    case .duplicateBatch: 1005
    case .unknownID: 1006
    case .fileNotFound: 1101
    case .fileDataEmpty: 1102
    case .invalidFileObject: 1103
    case .fileChanged: 1104
    case .fileAccessDenied: 1105
    case .fileSizeExceeded: 1201
    case .fileCountExceeded: 1202
    case .fileTypeBlocked: 1203
    case .downloadSizeExceeded: 1204
    case .notFound: 1301
    case .permissionDenied: 1302
    case .preconditionFailed: 1303
    case .unauthenticated: 1304
    case .quotaExceeded: 1305
    case .diskFull: 1306
    case .targetExists: 1307
    case .presignedURLFailed: 1401
    case .s3UploadFailed: 1402
    case .presignedURLExpired: 1403
    case .invalidURL: 1404
    case .uploadStalled: 1501
    case .downloadStalled: 1502
    case .network: 1503
    case .server: 1504
    case .rateLimited: 1505
    case .retryLimitExceeded: 1506
    case .checksumMismatch: 1507
    case .publishFailed: 1508
    case .encryptionFailed: 1601
    case .decryptionFailed: 1602
    case .unknown: 1603
    case .shuttingDown: 1701
    case .overloaded: 1702
    }
  }
}
