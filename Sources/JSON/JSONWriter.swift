/// Writes one JSON text on one line, value after value, with a comma wherever one is due.
///
/// The caller writes values in an order that makes sense: a key before each member's value.
package struct JSONWriter: ~Copyable {
  private var bytes = ByteBuffer(capacity: 512)
  private var needsComma: Bool

  /// Starts with nothing written.
  package init() { needsComma = false }

  /// Goes on inside an object or array whose beginning is written elsewhere.
  /// - Parameter hasMembers: whether a comma is due before the next member.
  package init(insideOf hasMembers: Bool) { needsComma = hasMembers }

  /// Bytes written so far.
  package var count: Int { bytes.count }

  /// Gives the bytes away and starts anew.
  package mutating func take() -> [UInt8] {
    needsComma = false
    defer { bytes.removeAll() }
    return bytes.array
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

  /// Writes a member's key, which is plain text; its value follows.
  package mutating func key(_ name: StaticString) {
    let text = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
    assert(JSONText.plainRunEnd(text, delAndFrom: 0) == text.count, "\(name) needs an escape")
    bytes.reserve(text.count + 4)
    if needsComma { bytes.appendReserved(UInt8(ascii: ",")) }
    bytes.appendReserved(UInt8(ascii: "\""))
    bytes.appendReserved(contentsOf: text)
    bytes.appendReserved(UInt8(ascii: "\""))
    bytes.appendReserved(UInt8(ascii: ":"))
    needsComma = false
  }

  /// Writes a key that somebody else chose; its value follows.
  package mutating func key(named name: String) {
    string(name)
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
    quoted(value)
    needsComma = true
  }

  /// Writes an integer.
  package mutating func int(_ value: Int64) {
    comma()
    bytes.append(decimal: value)
  }

  /// Writes a number; infinities and NaN, which JSON lacks, become `null`.
  package mutating func double(_ value: Double) {
    comma()
    bytes.append(contentsOf: value.isFinite ? value.description : "null")
  }

  /// Writes `true` or `false`.
  package mutating func bool(_ value: Bool) {
    comma()
    bytes.append(contentsOf: value ? "true" : "false")
  }

  /// Writes `null`.
  package mutating func null() {
    comma()
    bytes.append(contentsOf: "null")
  }

  /// Writes a value that was validated before, escaping what could break a reader of lines.
  package mutating func raw(_ value: RawJSON) {
    comma()
    value.bytes.withUnsafeBufferPointer { LineSafe.appendRaw($0, to: &bytes) }
  }

  /// Writes a value that is JSON on one line already, byte for byte.
  package mutating func verbatim(_ json: String) {
    comma()
    bytes.append(contentsOf: json)
  }

  /// Writes a value that another writer wrote, byte for byte.
  package mutating func verbatim(_ json: [UInt8]) {
    comma()
    json.withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
  }

  /// Writes a string behind the comma that is due.
  private mutating func quoted(_ value: String) {
    var value = value
    value.withUTF8 { text in
      bytes.reserve(text.count + 3)
      if needsComma { bytes.appendReserved(UInt8(ascii: ",")) }
      bytes.appendReserved(UInt8(ascii: "\""))
      if JSONText.plainRunEnd(text, delAndFrom: 0) == text.count {
        bytes.appendReserved(contentsOf: text)
      } else {
        LineSafe.appendEscaped(text, to: &bytes)
      }
      bytes.append(UInt8(ascii: "\""))
    }
  }
}

// MARK: - Members

extension JSONWriter {
  /// Writes a member with a string; nothing for nil.
  package mutating func field(_ name: StaticString, _ value: String?) {
    guard let value else { return }
    key(name)
    string(value)
  }

  /// Writes a member whose name somebody else chose.
  package mutating func field(named name: String, _ value: String) {
    key(named: name)
    string(value)
  }

  /// Writes a member whose name somebody else chose.
  package mutating func field(named name: String, _ value: RawJSON) {
    key(named: name)
    raw(value)
  }

  /// Writes a member with an integer; nothing for nil.
  package mutating func field(_ name: StaticString, _ value: Int64?) {
    guard let value else { return }
    key(name)
    int(value)
  }

  /// Writes a member with an integer as a string, for readers whose numbers are doubles; nothing
  /// for nil.
  package mutating func field(_ name: StaticString, quoting value: Int64?) {
    guard let value else { return }
    key(name)
    bytes.append(UInt8(ascii: "\""))
    bytes.append(decimal: value)
    bytes.append(UInt8(ascii: "\""))
    needsComma = true
  }

  /// Writes a member with an integer; nothing for nil.
  package mutating func field(_ name: StaticString, _ value: Int?) {
    field(name, value.map { Int64($0) })
  }

  /// Writes a member with a number; nothing for nil.
  package mutating func field(_ name: StaticString, _ value: Double?) {
    guard let value else { return }
    key(name)
    double(value)
  }

  /// Writes a member with `true` or `false`; nothing for nil.
  package mutating func field(_ name: StaticString, _ value: Bool?) {
    guard let value else { return }
    key(name)
    bool(value)
  }

  /// Writes a member with a validated value; nothing for nil.
  package mutating func field(_ name: StaticString, _ value: RawJSON?) {
    guard let value else { return }
    key(name)
    raw(value)
  }

  /// Writes a member with an array of strings; nothing for nil.
  package mutating func field(_ name: StaticString, _ values: [String]?) {
    guard let values else { return }
    key(name)
    beginArray()
    for value in values { string(value) }
    endArray()
  }

  /// Writes a member whose name somebody else chose, and whose value is an object that `members`
  /// fills.
  package mutating func object(named name: String, _ members: (inout JSONWriter) -> Void) {
    key(named: name)
    beginObject()
    members(&self)
    endObject()
  }

  /// Writes a member whose value is an object that `members` fills.
  package mutating func object(_ name: StaticString, _ members: (inout JSONWriter) -> Void) {
    key(name)
    beginObject()
    members(&self)
    endObject()
  }
}

extension ByteBuffer {
  /// Appends an integer in decimal without making a string.
  fileprivate mutating func append(decimal value: Int64) {
    var rest = value.magnitude
    if value < 0 { append(UInt8(ascii: "-")) }
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
      var start = 20
      repeat {
        start -= 1
        digits[start] = UInt8(ascii: "0") + UInt8(rest % 10)
        rest /= 10
      } while rest > 0
      append(contentsOf: UnsafeBufferPointer(rebasing: digits[start...]))
    }
  }
}
