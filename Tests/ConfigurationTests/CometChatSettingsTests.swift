import Testing
import TransferModel

@testable import Configuration

@Suite("Kind cometchat")
struct CometChatSettingsTests {
  private func settings(_ keys: String) throws -> CometChatSettings {
    let yaml = "remotes: {a: {kind: cometchat, \(keys)}}"
    let configuration = try Configuration.parse(
      Array(yaml.utf8),
      file: "config.yaml",
      environment: ["HOME": "/home/ada"]
    )
    guard case .cometchat(let settings) = try configuration.remotes[0].resolve() else {
      throw TransferError(.unknown, "another kind")
    }
    return settings
  }

  @Test("A user's app is asked where users ask, a server's where servers do")
  func bases() throws {
    let user = try settings("appId: App1, region: EU, authToken: t")
    #expect(user.access == .user(authToken: Secret("t")))
    #expect(user.baseURL == "https://App1.apiclient-eu.cometchat.io/v3.0")
    let server = try settings("appId: a, region: us, apiKey: k, onBehalfOf: Alice")
    #expect(server.access == .server(apiKey: Secret("k"), onBehalfOf: "alice"))
    #expect(server.baseURL == "https://a.api-us.cometchat.io/v3")
    #expect(server.place == "app a at https://a.api-us.cometchat.io/v3, for alice")
  }

  @Test("Base URLs take the place of a region")
  func ownBases() throws {
    let keys =
      "clientBaseUrl: 'http://127.0.0.1:8080/v3.0/', apiBaseUrl: 'http://127.0.0.1:8080/v3'"
    let user = try settings("appId: a, authToken: t, \(keys), caFile: ~/ca.pem, retries: 1")
    #expect(user.baseURL == "http://127.0.0.1:8080/v3.0")
    #expect(user.http.retries == 1)
    #expect(user.http.caFile == "/home/ada/ca.pem")
    let server = try settings("appId: a, apiKey: k, onBehalfOf: b, \(keys)")
    #expect(server.baseURL == "http://127.0.0.1:8080/v3")
  }

  @Test(
    "What is lacking or wrong is named",
    arguments: [
      ("region: us, authToken: t", "appId"), ("appId: a, authToken: t", "region"),
      ("appId: a, region: us", "authToken"),
      ("appId: a, region: us, authToken: t, apiKey: k, onBehalfOf: b", "authToken"),
      ("appId: a, region: us, apiKey: k", "onBehalfOf"),
      ("appId: a, region: us, authToken: t, onBehalfOf: b", "onBehalfOf"),
      ("appId: a.b, region: us, authToken: t", "appId"),
      ("appId: a, region: us, authToken: 'a b'", "authToken"),
      ("appId: a, region: us, apiKey: k, onBehalfOf: 'b b'", "onBehalfOf"),
      ("appId: a, authToken: t, clientBaseUrl: 'ftp://x'", "clientBaseUrl"),
      ("appId: a, authToken: t, clientBaseUrl: 'http://x?y'", "clientBaseUrl"),
      ("appId: a, region: us, authtoken: t", "authToken"),
    ]
  )
  func wrong(_ keys: String, _ named: String) {
    let error = #expect(throws: ConfigurationError.self) { try settings(keys) }
    #expect(error?.description.contains(named) == true)
    #expect(error?.description.contains("a b") != true || named != "authToken")
  }
}
