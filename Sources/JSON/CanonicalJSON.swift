/// One text per value: keys sorted by bytes, strings escaped one way, no white space.
///
/// Numbers keep their text, so `1` and `1.0` differ.
/// - Parameters:
///   - node: the value.
///   - excluding: keys of the outermost object to leave out.
/// - Returns: UTF-8 that is equal for equal values.
/// - Throws: a ``JSONError`` when an object has a key twice.
package func canonical(
  _ node: JSONNode,
  excluding: Set<String> = []
) throws(JSONError) -> [UInt8] {
  var writer = JSONWriter()
  try writeCanonical(node, excluding: excluding, to: &writer)
  return writer.take()
}

private func writeCanonical(
  _ node: JSONNode,
  excluding: Set<String>,
  to writer: inout JSONWriter
) throws(JSONError) {
  switch node.kind {
  case .null, .bool, .number: writer.raw(node.raw)
  case .string: writer.string(node.text)
  case .array:
    writer.beginArray()
    for element in try node.elements() {
      try writeCanonical(element, excluding: [], to: &writer)
    }
    writer.endArray()
  case .object:
    writer.beginObject()
    let members = try node.members().filter { !excluding.contains($0.key) }
    for member in members.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
      writer.key(named: member.key)
      try writeCanonical(member.value, excluding: [], to: &writer)
    }
    writer.endObject()
  }
}
