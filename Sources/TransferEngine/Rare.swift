/// An optional value that is seldom there: then it has a place of its own, else it takes none.
@propertyWrapper
indirect enum Rare<Value> {
  case none
  case some(Value)

  init(wrappedValue: Value?) { self = wrappedValue.map { .some($0) } ?? .none }

  var wrappedValue: Value? {
    get {
      switch self {
      case .none: nil
      case .some(let value): value
      }
    }
    set { self = Rare(wrappedValue: newValue) }
  }
}

extension Rare: Sendable where Value: Sendable {}
