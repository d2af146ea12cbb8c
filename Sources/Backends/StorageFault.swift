/// `<Error><Code>…</Code><Message>…</Message></Error>` of the storage.
package struct StorageFault: Equatable {
  /// Such as `EntityTooLarge`.
  package var code: String
  /// For people.
  package var message: String?

  /// Reads the body of an answer; nil for what is no such XML.
  package init?(_ body: [UInt8]) {
    let text = String(decoding: body.prefix(64 << 10), as: UTF8.self)
    guard text.contains("<Error>"), let code = Self.element("Code", in: text) else { return nil }
    self.code = code
    message = Self.element("Message", in: text)
  }

  private static func element(_ name: String, in text: String) -> String? {
    let parts = text.split(separator: "<\(name)>", maxSplits: 1)
    guard parts.count == 2 else { return nil }
    let content = parts[1].split(separator: "</\(name)>", omittingEmptySubsequences: false)
    guard content.count > 1 else { return nil }
    return [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")]
      .reduce(String(content[0])) { text, entity in
        text.split(separator: entity.0, omittingEmptySubsequences: false)
          .joined(separator: entity.1)
      }
  }
}
