package import JSON
package import TransferModel

/// The members of a JSON object that somebody else wrote, by name; the first of a name counts.
package struct Members {
  private var values: [ExactString: JSONNode] = [:]

  /// None for what is no object.
  package init(_ node: JSONNode?) {
    node?.forEachMember { key, value in
      if let name = try? key.string(), values[name] == nil { values[name] = value }
      return values.count < 256
    }
  }

  /// What is there and is not null.
  package subscript(_ name: String) -> JSONNode? { values[name].flatMap { $0.isNull ? nil : $0 } }

  /// A text.
  package func string(_ name: String) -> String? { self[name].flatMap { try? $0.string() } }

  /// A number, or a string of digits.
  package func int(_ name: String) -> Int64? {
    guard let node = self[name] else { return nil }
    return (try? node.int()) ?? (try? node.string()).flatMap { Int64($0) }
  }

  /// A timetoken, which comes as a string, or as a number from old services; nil for what is no
  /// moment, such as 0.
  package func timetoken(_ name: String) -> Timetoken? {
    int(name).flatMap { $0 > 0 ? Timetoken($0) : nil }
  }
}
