internal import Backends
internal import Crypto
internal import JSON
internal import TransferModel

/// What travels in a message of PubNub: JSON, or its ciphertext in base 64 as a JSON string.
struct Payload {
  let cipher: ContentCipher?

  /// The announcement of a file.
  /// - Throws: `ERR_INVALID_ARGUMENT` where encryption would hide what the service must see.
  func encode(_ announcement: Announcement) throws(TransferError) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.field("message", announcement.message)
    writer.object("file") { writer in
      writer.field("id", announcement.fileID)
      writer.field("name", announcement.fileName)
    }
    writer.endObject()
    let plain = writer.take()
    guard let cipher else { return plain }
    if let message = announcement.message { try refusePush(JSONNode(message)) }
    do throws(CipherError) {
      writer.string(Base64.encode(try cipher.encrypt(plain)))
    } catch {
      throw TransferError(.encryptionFailed, "The message cannot be encrypted: \(error.words).")
    }
    return writer.take()
  }

  private func refusePush(_ message: JSONNode) throws(TransferError) {
    let members = Members(message)
    for name in ["pn_apns", "pn_fcm", "pn_gcm", "pn_mpns"] where members[name] != nil {
      throw TransferError(
        .invalidArgument,
        "message.\(name) is for PubNub to read, which cannot read what is encrypted: leave it out, "
          + "or send on a remote without crypto.",
        field: "/message/\(name)"
      )
    }
  }

  /// What a message held, or holds as it came and why it cannot be read.
  struct Decoded {
    var node: JSONNode
    var error: TransferError?
  }

  /// Reads what may be encrypted.
  func decode(_ node: JSONNode) -> Decoded {
    guard let cipher else { return Decoded(node: node) }
    guard node.kind == .string, let text = try? node.string() else {
      // Push-shaped messages have their encrypted part beside what the service reads.
      if let other = Members(node).string("pn_other") {
        return decode(other, with: cipher, insteadOf: node)
      }
      return Decoded(
        node: node,
        error: TransferError(
          .decryptionFailed,
          "This message was not encrypted, although this remote's crypto is set."
        )
      )
    }
    return decode(text, with: cipher, insteadOf: node)
  }

  private func decode(
    _ base64: String,
    with cipher: ContentCipher,
    insteadOf node: JSONNode
  ) -> Decoded {
    let words: String
    if let bytes = Base64.decode(base64) {
      do throws(CipherError) {
        let plain = try cipher.decrypt(bytes)
        if let decoded = try? JSONNode(parsing: plain) { return Decoded(node: decoded) }
        if let text = String(validating: plain, as: UTF8.self) {
          var writer = JSONWriter()
          writer.string(text)
          return Decoded(node: JSONNode(RawJSON(validated: writer.take())))
        }
        words = "what comes out is no text, so the cipher key is another one"
      } catch {
        words = error.words
      }
    } else {
      words = "it is not base 64, so it was not encrypted"
    }
    return Decoded(
      node: node,
      error: TransferError(.decryptionFailed, "This message cannot be decrypted: \(words).")
    )
  }

  /// What the announcement of a file told: the host's own message and the file.
  static func file(in node: JSONNode) -> (message: RawJSON?, file: SharedFile)? {
    let members = Members(node)
    let file = Members(members["file"])
    guard let id = file.string("id"), let name = file.string("name"), !id.isEmpty, !name.isEmpty
    else { return nil }
    return (
      members["message"]?.raw,
      SharedFile(
        id: id,
        name: name,
        size: file.int("size").flatMap { $0 >= 0 ? $0 : nil },
        contentType: file.string("mime-type")
      )
    )
  }
}
