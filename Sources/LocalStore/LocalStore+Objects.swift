package import TransferModel

extension LocalStore {
  /// Makes staged content an object, replacing what was there where the condition allows.
  ///
  /// The ETag is the content's id. Overwriting makes `created` and `updated` new, as object
  /// stores do, and the generation rise.
  ///
  /// - Parameters:
  ///   - staging: Holds all bytes; used up unless the call fails.
  ///   - ref: What to call the object.
  ///   - settable: What the uploader says of it.
  ///   - condition: What must hold of an object that is there.
  ///   - size: Bytes that were written to the staging.
  ///   - sha256: Lower-case hexadecimal, where computed.
  /// - Returns: The object's metadata.
  /// - Throws: `ERR_PRECONDITION_FAILED`; `ERR_INVALID_ARGUMENT` for the root and for paths over
  ///   1,024 bytes.
  package func publishObject(
    _ staging: Staging,
    ref: ObjectReference,
    settable: SettableMetadata,
    condition: WriteCondition,
    size: Int64,
    sha256: String?
  ) async throws(TransferError) -> ObjectMetadata {
    try Self.requireObject(ref)
    let object = NewObject(
      reference: ref,
      settable: settable,
      size: size,
      sha256: sha256
    )
    return try await write(staging) { index throws(TransferError) in
      try index.publishObject(staging, object, condition: condition)
    }
  }

  /// Opens an object's content.
  ///
  /// - Throws: `ERR_NOT_FOUND`.
  package func openObject(
    _ ref: ObjectReference
  ) async throws(TransferError) -> (content: StoredContent, metadata: ObjectMetadata) {
    try Self.requireObject(ref)
    return try await read { index throws(TransferError) in
      let metadata = try index.object(ref.fullPath)
      let content = try StoredContent(
        id: metadata.etag,
        size: metadata.size,
        sha256: metadata.sha256,
        layout: index.layout
      )
      return (content, metadata)
    }
  }

  /// What is known of an object.
  ///
  /// - Throws: `ERR_NOT_FOUND`.
  package func metadata(
    _ ref: ObjectReference
  ) async throws(TransferError) -> ObjectMetadata {
    try Self.requireObject(ref)
    return try await read { index throws(TransferError) in try index.object(ref.fullPath) }
  }

  /// Changes what the uploader said of an object; its content, ETag and generation stay.
  ///
  /// - Throws: `ERR_NOT_FOUND`.
  package func update(
    _ ref: ObjectReference,
    _ patch: MetadataPatch
  ) async throws(TransferError) -> ObjectMetadata {
    try Self.requireObject(ref)
    return try await write { index throws(TransferError) in
      try index.updateObject(ref.fullPath, patch)
    }
  }

  /// Where an object's present content can be had: a `file://` URI, valid until it is
  /// overwritten or deleted.
  ///
  /// - Throws: `ERR_NOT_FOUND`.
  package func objectURL(_ ref: ObjectReference) async throws(TransferError) -> String {
    url(content: try await metadata(ref).etag)
  }

  /// Removes an object and its content.
  ///
  /// - Throws: `ERR_NOT_FOUND`.
  package func deleteObject(_ ref: ObjectReference) async throws(TransferError) {
    try Self.requireObject(ref)
    try await write { index throws(TransferError) in try index.deleteObject(ref.fullPath) }
  }

  /// One page of the objects below a reference, in byte order of their paths.
  ///
  /// - Parameters:
  ///   - ref: The "folder"; the root lists the whole store.
  ///   - recursive: Whether to list all that lies below; otherwise what has a further slash
  ///     appears once as its "folder" in `prefixes`, which count against the limit too.
  ///   - limit: From 1; above 1,000 means 1,000.
  ///   - next: What the page before gave; nil: the first page.
  /// - Returns: The page.
  /// - Throws: `ERR_INVALID_ARGUMENT` for a wrong limit or `next`.
  package func listObjects(
    below ref: ObjectReference,
    recursive: Bool,
    limit: Int,
    next: String?
  ) async throws(TransferError) -> ObjectPage {
    let limit = try Self.pageSize(limit)
    return try await read { index throws(TransferError) in
      try index.listObjects(below: ref, recursive: recursive, limit: limit, next: next)
    }
  }

  /// A page's size within bounds that keep the index's lock short.
  static func pageSize(_ limit: Int) throws(TransferError) -> Int {
    guard limit >= 1 else {
      throw TransferError(
        .invalidArgument,
        "limit is \(limit) and must be at least 1",
        field: "/limit"
      )
    }
    return min(limit, 1000)
  }

  private static func requireObject(_ ref: ObjectReference) throws(TransferError) {
    guard !ref.isRoot else {
      throw TransferError(
        .invalidArgument,
        "the root is no object: name one below it",
        field: "/ref"
      )
    }
    guard ref.fullPath.utf8.count <= 1024 else {
      throw TransferError(
        .invalidArgument,
        "the reference is longer than 1,024 bytes",
        field: "/ref"
      )
    }
  }
}
