internal import JSONRPC

extension Router {
  /// Adds the methods for tests of hosts, or says how to have them.
  mutating func registerTestMethods(of server: Server, areEnabled: Bool) {
    guard areEnabled else {
      for name in [TestEcho.name, TestError.name, TestSleep.name, TestFlood.name] {
        explainAbsence(of: name, "start ferry with --enable-test-methods to have it")
      }
      return
    }
    register(TestEcho(server: server))
    register(TestError())
    register(TestSleep())
    register(TestFlood(server: server))
  }
}

extension Server {
  /// What a line that carries free content may take beside it: the envelope and the longest id.
  static let envelopeBytes: Int64 = 2048
}
