/// An answer to an ``HTTPRequest``, of any status.
package struct HTTPResponse: Sendable, Equatable {
  /// 200 to 599.
  package var status: Int
  /// In the order they came; of the last answer where there were interim ones.
  package var headers: [HTTPHeader]
  /// What came into memory; empty where the body went to the target.
  package var body: [UInt8]
  /// The bytes that went to the target.
  package var delivered: Int64
  /// Whether there was more than the request's sink asked for, and it was not fetched.
  package var isCut: Bool
  /// Whether the request may have reached the remote more than once.
  package var wasRepeated: Bool

  /// Makes an answer.
  package init(
    status: Int,
    headers: [HTTPHeader] = [],
    body: [UInt8] = [],
    delivered: Int64 = 0,
    isCut: Bool = false,
    wasRepeated: Bool = false
  ) {
    self.status = status
    self.headers = headers
    self.body = body
    self.delivered = delivered
    self.isCut = isCut
    self.wasRepeated = wasRepeated
  }

  /// Whether the remote did what was asked.
  package var isSuccess: Bool { (200..<300).contains(status) }

  /// The value of a header by its name in any case; the first where there are several.
  package func header(_ name: String) -> String? { headers.first(name) }
}
