internal import TransferEngine
internal import TransferModel

/// How hosts name objects.
extension Server {
  /// The reference a host means.
  /// - Throws: `ERR_INVALID_REFERENCE` for a URL of another store.
  func reference(_ ref: String, on remote: String?) throws(TransferError) -> ObjectReference {
    if Self.isURL(ref) {
      return try engine.reference(ref, on: remote ?? defaultRemote)
    }
    guard !ref.utf8.contains(0) else {
      throw TransferError(
        .invalidReference,
        "A reference cannot hold the character NUL.",
        field: "/ref"
      )
    }
    guard ref.utf8.count <= 4096 else {
      throw TransferError(
        .invalidReference,
        "A reference may have at most 4096 bytes, slashes that collapse included.",
        field: "/ref"
      )
    }
    return ObjectReference(path: ref)
  }

  /// The object a host means.
  /// - Throws: `ERR_INVALID_ARGUMENT` for the root, which is no object.
  func object(_ ref: String, on remote: String?) throws(TransferError) -> ObjectReference {
    let reference = try reference(ref, on: remote)
    guard !reference.isRoot else {
      throw TransferError(
        .invalidArgument,
        "The root is no object: name one below it.",
        field: "/ref"
      )
    }
    guard reference.fullPath.utf8.count <= 1024 else {
      throw TransferError(
        .invalidReference,
        "A reference may have at most 1024 bytes.",
        field: "/ref"
      )
    }
    return reference
  }

  private static func isURL(_ ref: String) -> Bool {
    ["gs", "s3", "http", "https", "file"].contains { scheme in
      ref.utf8.count > scheme.utf8.count && ref.lowercased().hasPrefix(scheme + "://")
    }
  }
}
