internal import TransferModel

/// How hosts name objects.
extension Server {
  /// The reference a host means.
  /// - Throws: `ERR_INVALID_REFERENCE` for a URL of another store.
  func reference(_ ref: String, on remote: String?) throws(TransferError) -> ObjectReference {
    if let scheme = Self.scheme(of: ref) {
      throw TransferError(
        .invalidReference,
        "\"\(remote ?? defaultRemote)\" is a local remote: name its objects by a path below its "
          + "root, not by a \(scheme): URL.",
        field: "/ref"
      )
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

  /// The scheme of a text that is a URL (`gs`, `s3`, `http`, `https`, `file`).
  private static func scheme(of ref: String) -> String? {
    ["gs", "s3", "http", "https", "file"].first { scheme in
      ref.utf8.count > scheme.utf8.count && ref.lowercased().hasPrefix(scheme + "://")
    }
  }
}
