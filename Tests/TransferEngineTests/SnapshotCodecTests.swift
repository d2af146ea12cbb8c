import JSON
import Testing

@testable import TransferEngine
@testable import TransferModel

@Suite("What the journal keeps of an end")
struct SnapshotCodecTests {
  static let metadata: ObjectMetadata = {
    var settable = SettableMetadata(contentType: "text/plain", custom: ["k": "v\u{2028}"])
    settable.cacheControl = "no-cache"
    return ObjectMetadata(
      fullPath: "a/ü",
      size: 3,
      settable: settable,
      createdMs: 1,
      updatedMs: 2,
      etag: "e",
      md5: "m",
      sha256: "s",
      generation: 7
    )
  }()

  static let error: TransferError = {
    var error = TransferError(.publishFailed, "not announced", phase: .publish)
    error.cause = .init(code: .network, httpStatus: 503)
    error.fileUploaded = true
    error.fileID = "f"
    error.fileName = "n"
    error.retryableOverride = true
    error.retryAfterMs = 5
    return error
  }()

  static let endings: [SnapshotCodec.Ending] = [
    .init(result: .stored(.init(metadata: metadata, url: "file:///x")), error: nil),
    .init(
      result: .shared(
        .init(
          channel: "c",
          file: SharedFile(id: "f", name: "n", size: 3, contentType: "t/x"),
          timetoken: Timetoken(17_960_297_595_486_438),
          url: nil
        )
      ),
      error: nil
    ),
    .init(
      result: .downloaded(
        .init(
          path: "/t",
          isTemporary: true,
          size: 3,
          sha256: "s",
          metadata: metadata,
          data: nil
        )
      ),
      error: nil
    ),
    .init(result: nil, error: error),
    .init(result: nil, error: TransferError(.cancelled, "gone")),
  ]

  @Test("Comes back as it was", arguments: endings)
  func roundTrip(ending: SnapshotCodec.Ending) throws {
    #expect(try SnapshotCodec.decode(SnapshotCodec.encode(ending)) == ending)
  }

  @Test("What a run had in hand comes back as it was, and another boot is told apart")
  func runState() throws {
    var state = RunState(root: "/r")
    state.staging = "0123"
    state.part = "/p/.x.part"
    state.target = "/p/x"
    state.content = "c"
    let back = try RunState(decoding: state.encoded)
    #expect(back == state)
    #expect(back.isOfThisBoot)
    var old = state
    old.boot = "another"
    #expect(!(try RunState(decoding: old.encoded).isOfThisBoot))
  }

  @Test("Damaged bytes are an error, not a guess", arguments: ["", "{", "[]", #"{"x":1}"#])
  func damaged(text: String) {
    #expect(throws: JSONError.self) { try SnapshotCodec.decode(Array(text.utf8)) }
  }
}
