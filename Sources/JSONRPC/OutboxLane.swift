package import JSON

extension Outbox {
  /// How messages are told apart on the output.
  package enum Framing: Sendable {
    case lines
    case headers
  }

  /// The lane to the writer: whole messages in the order they go out.
  package struct Batch {
    var bytes: [UInt8] = []
    var framing = Framing.lines
    var optOut: Set<String> = []
    var trace: Trace?
    private var lastSequence: Int64 = 0

    /// Appends a notification, as ``Outbox/notify(_:_:)`` does.
    package mutating func notify(_ method: String, _ params: (inout JSONWriter) -> Void) {
      guard !optOut.contains(method) else { return }
      append(Notification(method, params))
    }

    mutating func append(_ notification: Notification) {
      lastSequence += 1
      let sequence = lastSequence
      frame { bytes in
        bytes.append(contentsOf: notification.head)
        bytes.append(contentsOf: String(sequence).utf8)
        bytes.append(contentsOf: notification.tail)
      }
    }

    mutating func append(_ message: [UInt8]) {
      frame { $0.append(contentsOf: message) }
    }

    private mutating func frame(_ write: (inout [UInt8]) -> Void) {
      switch framing {
      case .lines:
        let start = bytes.count
        write(&bytes)
        if let trace { trace.record(.output, Array(bytes[start...])) }
        bytes.append(0x0A)
      case .headers:
        var body: [UInt8] = []
        write(&body)
        trace?.record(.output, body)
        bytes.append(contentsOf: "Content-Length: \(body.count)\r\n\r\n".utf8)
        bytes.append(contentsOf: body)
      }
    }
  }

  /// A notification whose number is not yet known: what comes before it and after it.
  struct Notification {
    let head: [UInt8]
    let tail: [UInt8]

    init(_ method: String, _ params: (inout JSONWriter) -> Void) {
      var writer = JSONWriter()
      writer.beginObject()
      writer.field("jsonrpc", "2.0")
      writer.field("method", method)
      writer.key("params")
      writer.beginObject()
      writer.key("seq")
      head = writer.take()
      var rest = JSONWriter(insideOf: true)
      params(&rest)
      rest.endObject()
      rest.endObject()
      tail = rest.take()
    }
  }
}
