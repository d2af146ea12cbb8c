/// Writes one JSON text on one line, value after value, with a comma wherever one is due.
///
/// The caller writes values in an order that makes sense: a key before each member's value.
package struct JSONWriter: ~Copyable {
  /// What was written so far.
  package private(set) var bytes: [UInt8]
  private var needsComma: Bool

  /// Starts with nothing written.
  package init() {
    bytes = []
    bytes.reserveCapacity(128)
    needsComma = false
  }

  /// Goes on inside an object or array whose beginning is written elsewhere.
  /// - Parameter hasMembers: whether a comma is due before the next member.
  package init(insideOf hasMembers: Bool) {
    bytes = []
    needsComma = hasMembers
  }

  /// Gives the bytes away and starts anew.
  package mutating func take() -> [UInt8] {
    needsComma = false
    var taken: [UInt8] = []
    swap(&taken, &bytes)
    return taken
  }

  // MARK: - Structure

  /// Opens an object.
  package mutating func beginObject() { open(UInt8(ascii: "{")) }

  /// Closes the innermost object.
  package mutating func endObject() { close(UInt8(ascii: "}")) }

  /// Opens an array.
  package mutating func beginArray() { open(UInt8(ascii: "[")) }

  /// Closes the innermost array.
  package mutating func endArray() { close(UInt8(ascii: "]")) }

  /// Writes a member's key; its value follows.
  package mutating func key(_ name: String) {
    comma()
    quoted(name)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  private mutating func open(_ bracket: UInt8) {
    comma()
    bytes.append(bracket)
    needsComma = false
  }

  private mutating func close(_ bracket: UInt8) {
    bytes.append(bracket)
    needsComma = true
  }

  private mutating func comma() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    needsComma = true
  }

  // MARK: - Values

  /// Writes a string, escaping what could break a line or a reader of lines.
  package mutating func string(_ value: String) {
    comma()
    quoted(value)
  }

  /// Writes an integer.
  package mutating func int(_ value: Int64) {
    comma()
    bytes.appendDecimal(value)
  }

  /// Writes a number; infinities and NaN, which JSON lacks, become `null`.
  package mutating func double(_ value: Double) {
    comma()
    bytes.append(contentsOf: (value.isFinite ? value.description : "null").utf8)
  }

  /// Writes `true` or `false`.
  package mutating func bool(_ value: Bool) {
    comma()
    bytes.append(contentsOf: (value ? "true" : "false").utf8)
  }

  /// Writes `null`.
  package mutating func null() {
    comma()
    bytes.append(contentsOf: "null".utf8)
  }

  /// Writes a value that was validated before, escaping what could break a reader of lines.
  package mutating func raw(_ value: RawJSON) {
    comma()
    value.bytes.withUnsafeBufferPointer { LineSafe.appendRaw($0, to: &bytes) }
  }

  /// Writes a value that is JSON on one line already, byte for byte.
  package mutating func verbatim(_ json: String) {
    comma()
    bytes.append(contentsOf: json.utf8)
  }

  private mutating func quoted(_ value: String) {
    bytes.append(UInt8(ascii: "\""))
    var value = value
    value.withUTF8 { LineSafe.appendEscaped($0, to: &bytes) }
    bytes.append(UInt8(ascii: "\""))
  }
}

// MARK: - Members

extension JSONWriter {
  /// Writes a member with a string; nothing for nil.
  package mutating func field(_ name: String, _ value: String?) {
    guard let value else { return }
    key(name)
    string(value)
  }

  /// Writes a member with an integer; nothing for nil.
  package mutating func field(_ name: String, _ value: Int64?) {
    guard let value else { return }
    key(name)
    int(value)
  }

  /// Writes a member with an integer; nothing for nil.
  package mutating func field(_ name: String, _ value: Int?) {
    field(name, value.map { Int64($0) })
  }

  /// Writes a member with a number; nothing for nil.
  package mutating func field(_ name: String, _ value: Double?) {
    guard let value else { return }
    key(name)
    double(value)
  }

  /// Writes a member with `true` or `false`; nothing for nil.
  package mutating func field(_ name: String, _ value: Bool?) {
    guard let value else { return }
    key(name)
    bool(value)
  }

  /// Writes a member with a validated value; nothing for nil.
  package mutating func field(_ name: String, _ value: RawJSON?) {
    guard let value else { return }
    key(name)
    raw(value)
  }

  /// Writes a member with an array of strings; nothing for nil.
  package mutating func field(_ name: String, _ values: [String]?) {
    guard let values else { return }
    key(name)
    beginArray()
    for value in values { string(value) }
    endArray()
  }

  /// Writes a member whose value is an object that `members` fills.
  package mutating func object(_ name: String, _ members: (inout JSONWriter) -> Void) {
    key(name)
    beginObject()
    members(&self)
    endObject()
  }
}

extension [UInt8] {
  /// Appends an integer in decimal without making a string.
  package mutating func appendDecimal(_ value: Int64) {
    var rest = value.magnitude
    if value < 0 { append(UInt8(ascii: "-")) }
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
      var start = 20
      repeat {
        start -= 1
        digits[start] = UInt8(ascii: "0") + UInt8(rest % 10)
        rest /= 10
      } while rest > 0
      append(contentsOf: UnsafeMutableBufferPointer(rebasing: digits[start...]))
    }
  }
}
