package import JSON

/// What a remote knows of an object.
package struct ObjectMetadata: Sendable, Equatable {
  /// The reference: path below the remote's root, normalised.
  package var fullPath: String
  /// Bytes.
  package var size: Int64
  /// What the uploader said of it.
  package var settable: SettableMetadata
  /// Milliseconds since 1970.
  package var createdMs: Int64
  /// Of content or metadata, milliseconds since 1970.
  package var updatedMs: Int64
  /// Changes with every write of the content.
  package var etag: String
  /// Lower-case hexadecimal, where known.
  package var md5: String?
  /// Lower-case hexadecimal, where known.
  package var sha256: String?
  /// Rises with every write, where the remote counts.
  package var generation: Int64?
  /// The storage it lies in, where that has a name of its own beside the remote's.
  package var bucket: String?

  /// Makes metadata as a remote reports it.
  package init(
    fullPath: String,
    size: Int64,
    settable: SettableMetadata,
    createdMs: Int64,
    updatedMs: Int64,
    etag: String,
    md5: String? = nil,
    sha256: String? = nil,
    generation: Int64? = nil,
    bucket: String? = nil
  ) {
    self.fullPath = fullPath
    self.size = size
    self.settable = settable
    self.createdMs = createdMs
    self.updatedMs = updatedMs
    self.etag = etag
    self.md5 = md5
    self.sha256 = sha256
    self.generation = generation
    self.bucket = bucket
  }

  /// The last component of the path.
  package var name: String { ObjectReference.lastComponent(of: fullPath) }
}

/// The part of an object's metadata that its uploader chooses.
package struct SettableMetadata: Sendable, Equatable {
  /// A MIME type.
  package var contentType: String
  /// Sent as `Cache-Control` by remotes that serve HTTP.
  package var cacheControl: String?
  /// Sent as `Content-Disposition` by remotes that serve HTTP.
  package var contentDisposition: String?
  /// Names a coding the bytes already have; nothing is encoded here.
  package var contentEncoding: String?
  /// A language tag such as `de-CH`.
  package var contentLanguage: String?
  /// The uploader's own keys and values.
  package var custom: [ExactString: String]

  /// Makes metadata of a type and, where given, more.
  package init(contentType: String, custom: [ExactString: String] = [:]) {
    self.contentType = contentType
    self.custom = custom
  }
}

/// A change to metadata: `nil` leaves a field, `.some(nil)` clears it.
package struct MetadataPatch: Sendable, Equatable {
  /// A cleared type becomes `application/octet-stream`.
  package var contentType: String??
  /// As ``SettableMetadata/cacheControl``.
  package var cacheControl: String??
  /// As ``SettableMetadata/contentDisposition``.
  package var contentDisposition: String??
  /// As ``SettableMetadata/contentEncoding``.
  package var contentEncoding: String??
  /// As ``SettableMetadata/contentLanguage``.
  package var contentLanguage: String??
  /// Per key: a value sets it, nil removes it; a nil dictionary removes all custom keys.
  package var custom: [ExactString: String?]??

  /// A patch that changes nothing.
  package init() {}

  /// The metadata after this patch; a cleared content type becomes `application/octet-stream`.
  package func applied(to old: SettableMetadata) -> SettableMetadata {
    var new = old
    if let contentType { new.contentType = contentType ?? ContentType.unknown }
    if let cacheControl { new.cacheControl = cacheControl }
    if let contentDisposition { new.contentDisposition = contentDisposition }
    if let contentEncoding { new.contentEncoding = contentEncoding }
    if let contentLanguage { new.contentLanguage = contentLanguage }
    if let custom {
      if let custom {
        for (key, value) in custom { new.custom[key] = value }
      } else {
        new.custom = [:]
      }
    }
    return new
  }
}

/// What must hold of an object for a write to go ahead.
package struct WriteCondition: Sendable, Equatable {
  /// `*`: only where nothing is there; an ETag: only where it differs.
  package var ifNoneMatch: String?
  /// Only where the object there has this ETag (`*`: any).
  package var ifMatch: String?

  /// No condition unless given.
  package init(ifNoneMatch: String? = nil, ifMatch: String? = nil) {
    self.ifNoneMatch = ifNoneMatch
    self.ifMatch = ifMatch
  }
}

/// One page of a listing.
package struct ObjectPage: Sendable, Equatable {
  /// Objects in byte order of their paths.
  package var items: [ObjectEntry]
  /// References of "folders" below the listed one; empty when listing recursively.
  package var prefixes: [String]
  /// Where the next page starts; nil on the last.
  package var next: String?

  /// Makes a page.
  package init(items: [ObjectEntry], prefixes: [String], next: String?) {
    self.items = items
    self.prefixes = prefixes
    self.next = next
  }
}

/// One object in a listing.
package struct ObjectEntry: Sendable, Equatable {
  /// The reference: path below the remote's root, normalised.
  package var fullPath: String
  /// Bytes; nil where a listing does not say.
  package var size: Int64?

  /// Makes an entry.
  package init(fullPath: String, size: Int64?) {
    self.fullPath = fullPath
    self.size = size
  }
}
