/// Elements served first in, first out; taking one costs the same however many wait.
struct Line<Element> {
  private var elements: [Element] = []
  private var head = 0

  var isEmpty: Bool { head == elements.count }
  var first: Element? { isEmpty ? nil : elements[head] }
  /// Those that wait, in order.
  var all: ArraySlice<Element> { elements[head...] }

  mutating func append(_ element: Element) { elements.append(element) }

  /// Takes the first one.
  mutating func popFirst() -> Element? {
    defer { dropFirst() }
    return first
  }

  /// Removes the first one, if any.
  mutating func dropFirst() {
    guard !isEmpty else { return }
    head += 1
    // Cut when half is gone, so that the room for what was taken is given back in time.
    guard head >= 64, head * 2 >= elements.count else { return }
    elements.removeFirst(head)
    head = 0
  }

  mutating func changeFirst(_ body: (inout Element) -> Void) {
    if !isEmpty { body(&elements[head]) }
  }

  /// Removes the first that fits.
  mutating func remove(where fits: (Element) -> Bool) -> Element? {
    elements[head...].firstIndex(where: fits).map { elements.remove(at: $0) }
  }

  /// Changes the first that fits.
  mutating func change<Value>(
    where fits: (Element) -> Bool,
    _ body: (inout Element) -> Value
  ) -> Value? {
    elements[head...].firstIndex(where: fits).map { body(&elements[$0]) }
  }
}

extension Line: Sendable where Element: Sendable {}
