import Backends
import Testing
import TransferModel

@testable import PubNubBackend

@Suite("Places that may hold a file which is not announced")
struct OrphanTests {
  private let content = OutgoingContent(size: 5, sha256: "aa", identity: "1")
  private static let fault = answer(
    "<Error><Code>InternalError</Code><Message>sorry</Message></Error>"
  )

  /// A conversation up to the form's answer.
  private func sent(_ remote: PubNubRemote = remote()) throws -> any Backend {
    var upload = try remote.upload(sendSpec())
    _ = upload.next()
    upload.receive(.sourceOpened(content))
    _ = upload.next()
    upload.receive(.answered(id: 0, slotAnswer))
    _ = upload.next()
    return upload
  }

  @Test("A failure of the storage may come after its answer has begun")
  func lateFailure() throws {
    let remote = remote()
    var upload = try sent(remote)
    upload.receive(.answered(id: 0, Self.fault))
    let error = try #require(upload.next().error)
    #expect(error.code == .s3UploadFailed && error.isRetryable)
    #expect(error.serverCode == "InternalError")
    #expect(upload.unannounced == nil)
    #expect(upload.cleanUp == [remote.deleteRequest(channel: "ch", id: "f1", name: "kept.txt")])
  }

  @Test("What an earlier place may hold is removed once another holds the file", arguments: 0..<4)
  func orphans(_ how: Int) throws {
    let remote = remote()
    var upload = try sent(remote)
    switch how {
    case 0: upload.receive(.answered(id: 0, answer("<html>", 503)))
    case 1: upload.receive(.interrupted(id: 0))
    // Its answer was lost, or the process killed.
    default: break
    }
    if how == 3 {
      let checkpoint = try #require(upload.checkpoint)
      upload = try remote.upload(sendSpec())
      upload.recover(checkpoint)
      #expect(upload.unannounced == nil)
    } else if how != 1 {
      upload.restart()
    }
    if how != 1 {
      #expect(upload.next() == .content(.openSource))
      upload.receive(.sourceOpened(content))
    }
    _ = upload.next()
    let second = String(decoding: slotAnswer.body, as: UTF8.self).replacing("f1", with: "f2")
    upload.receive(.answered(id: 0, answer(second)))
    _ = upload.next()
    upload.receive(.answered(id: 0, HTTPResponse(status: 204)))
    let removal = remote.deleteRequest(channel: "ch", id: "f1", name: "kept.txt")
    #expect(upload.cleanUp.first == removal)
    #expect(upload.next().request == removal)
    // A pause asks again; a refusal does not matter.
    upload.receive(.interrupted(id: 0))
    #expect(upload.next().request == removal)
    upload.receive(
      how == 0 ? .failed(id: 0, TransferError(.network, "no")) : .answered(id: 0, answer("", 403))
    )
    #expect(upload.next() == .content(.verifySource))
    upload.receive(.sourceVerified)
    #expect(upload.unannounced?.id == "f2")
    #expect(upload.unannounced?.sha256 == "aa")
    #expect(upload.cleanUp == [])
  }

  @Test("A place whose form was refused holds nothing")
  func refusedForm() throws {
    var upload = try sent()
    upload.receive(.answered(id: 0, answer("<Error><Code>EntityTooLarge</Code></Error>", 400)))
    #expect(upload.cleanUp == [])
    #expect(upload.checkpoint == nil)
  }
}
