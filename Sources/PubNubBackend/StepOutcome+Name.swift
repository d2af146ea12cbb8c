internal import Backends

extension StepOutcome {
  /// The case alone, for crash messages: what it carries may be signed, or a host's.
  var caseName: String { Mirror(reflecting: self).children.first?.label ?? "\(self)" }
}
