/// One JSON value kept as the bytes it came in: numbers keep their digits, keys their order.
package struct RawJSON: Sendable, Hashable {
  /// Valid JSON in UTF-8, without surrounding white space.
  package let bytes: [UInt8]

  /// Takes bytes that a scanner has validated already.
  package init(validated bytes: [UInt8]) { self.bytes = bytes }
}
