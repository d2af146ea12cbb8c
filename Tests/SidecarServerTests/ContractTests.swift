import Configuration
import Glibc
import JSON
import JSONRPC
import Testing

@testable import SidecarServer

@Suite("The methods in Swift and the schema are one contract")
struct ContractTests {
  /// A file of the checkout's `schema` folder.
  static func schema(_ name: String, file: String = #filePath) throws -> JSONNode {
    let root = file.split(separator: "/").dropLast(3).joined(separator: "/")
    let path = "/\(root)/schema/\(name)"
    let stream = try #require(fopen(path, "re"), "\(path) is missing")
    defer { fclose(stream) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = fread(&buffer, 1, buffer.count, stream)
      guard count > 0 else { break }
      bytes += buffer[..<count]
    }
    return try JSONNode(parsing: bytes)
  }

  static func member(_ name: String, of node: JSONNode) throws -> JSONNode {
    try #require(try node.members().first { $0.key == name }?.value, "no \(name)")
  }

  /// The router of a server whose host is `/dev/null`.
  static func router() throws -> Router {
    let null = open("/dev/null", O_RDWR)
    let connection = Connection(input: null, outbox: Outbox(output: null))
    let configuration = try Configuration.builtIn(environment: ["HOME": "/nowhere"])
    let server = Server(
      connection: connection,
      limits: Connection.Limits(),
      configuration: configuration,
      workingDirectory: "/",
      log: Log()
    )
    return Server.router(server, Lifecycle(server: server, output: null, log: Log()))
  }

  @Test("The router serves exactly the schema's requests")
  func methods() throws {
    let document = try Self.schema("openrpc.json")
    let names = try Self.member("methods", of: document).elements()
      .filter { try $0.members().contains { $0.key == "result" } }
      .map { try Self.member("name", of: $0).string() }
    #expect(Set(names) == Set(try Self.router().methodNames))
  }

  @Test("Each method asks for exactly the parameters that the schema gives it")
  func parameters() throws {
    let router = try Self.router()
    let document = try Self.schema("openrpc.json")
    let shared = try Self.member(
      "contentDescriptors",
      of: Self.member("components", of: document)
    )
    for method in try Self.member("methods", of: document).elements()
    where try method.members().contains(where: { $0.key == "result" }) {
      let name = try Self.member("name", of: method).string()
      let known = try Self.member("params", of: method).elements().map { param in
        if let reference = try param.members().first(where: { $0.key == "$ref" })?.value {
          let key = try #require(try reference.string().split(separator: "/").last)
          return try Self.member("name", of: Self.member(String(key), of: shared)).string()
        }
        return try Self.member("name", of: param).string()
      }
      let file = name.split(separator: "/").joined(separator: ".") + ".json"
      let example = try Self.member("params", of: Self.schema("examples/\(file)"))
      let asked = try router.askedNames(of: name, reading: example)
      #expect(Set(try #require(asked)) == Set(known), "\(name)")
    }
  }

  @Test("The document in the binary is the one in the checkout")
  func embedded() throws {
    let document = try Self.schema("openrpc.json")
    let embedded = try JSONNode(parsing: Array(Server.schema.utf8))
    #expect(try canonical(document) == canonical(embedded), "run scripts/embed-schema")
  }
}
