internal import JSON
internal import JSONRPC
internal import Sharing
internal import TransferEngine
internal import TransferModel

/// `batch/get`: how a batch stands, and its files page by page.
struct BatchGet: AsyncMethod {
  static let name = "batch/get"
  let server: Server

  struct Params: Sendable {
    var batchID: String
    var state: TransferState?
    var page: BatchPageParams
  }

  struct Outcome: Reply {
    let page: BatchPage
    let items: BatchItems

    func write(to writer: inout JSONWriter) {
      writer.beginObject()
      writer.field("status", page.isIdle ? "idle" : "inProgress")
      writer.object("counts") { writer in
        for state in TransferState.allCases where state != .cancelled {
          writer.key(named: state.rawValue)
          writer.int(Int64(page.counts[state] ?? 0))
        }
      }
      items.write(as: "files", to: &writer)
      writer.endObject()
    }
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> Params {
    try Params(
      batchID: fields.batchID(),
      state: fields.optionalEnum("state", of: TransferState.self),
      page: BatchPageParams(&fields)
    )
  }

  func run(_ params: Params) async throws(TransferError) -> Outcome {
    let page = try await server.sharing.batches.page(
      of: params.batchID,
      behind: params.page.place,
      limit: params.page.limit(within: server.settings.pageBytes)
    ) { state, _, _ in
      params.state == nil || state == params.state
    }
    let items = BatchItems(page, within: server.settings.pageBytes) { entry, writer in
      writer.entry(entry, of: params.batchID)
    }
    return Outcome(page: page, items: items)
  }
}

/// `batch/attachments`: what is uploaded, in the order it was added.
struct BatchAttachments: AsyncMethod {
  static let name = "batch/attachments"
  let server: Server

  struct Params: Sendable {
    var batchID: String
    var kind: AttachmentKind?
    var fileID: String?
    var page: BatchPageParams
  }

  struct Outcome: Reply {
    let items: BatchItems

    func write(to writer: inout JSONWriter) {
      writer.beginObject()
      items.write(as: "attachments", to: &writer)
      writer.endObject()
    }
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> Params {
    try Params(
      batchID: fields.batchID(),
      kind: fields.optionalEnum("type", of: AttachmentKind.self),
      fileID: fields.optionalString("fileId"),
      page: BatchPageParams(&fields)
    )
  }

  func run(_ params: Params) async throws(TransferError) -> Outcome {
    let fileID = params.fileID.map { ExactString($0) }
    let page = try await server.sharing.batches.page(
      of: params.batchID,
      behind: params.page.place,
      limit: params.page.limit(within: server.settings.pageBytes)
    ) { state, kind, file in
      state == .succeeded && (params.kind == nil || kind == params.kind)
        && (fileID == nil || ExactString(file) == fileID)
    }
    return Outcome(
      items: BatchItems(page, within: server.settings.pageBytes) { entry, writer in
        writer.attachment(of: entry)
      }
    )
  }
}

/// Which page of a batch's files is wanted.
struct BatchPageParams: Sendable {
  private let limit: Int
  /// Of the file before the first.
  let place: Int64

  /// How many files to look up: more than fit a line would be looked up in vain.
  func limit(within bytes: Int) -> Int { min(limit, max(1, bytes / 256)) }

  init(_ fields: inout JSONFields) throws(JSONError) {
    limit = try fields.limit()
    guard let next = try fields.optionalString("next") else {
      place = 0
      return
    }
    guard let number = Int64(next), number >= 0 else {
      throw fields.error("next", "must be what an earlier page gave")
    }
    place = number
  }
}

/// Files of a batch that fit a line, and where the next page starts.
struct BatchItems: Sendable {
  private let items: [RawJSON]
  private let next: Int64?

  init(_ page: BatchPage, within bytes: Int, item: (BatchEntry, inout JSONWriter) -> Void) {
    let all = page.files.map { entry in
      var writer = JSONWriter()
      item(entry, &writer)
      return RawJSON(validated: writer.take())
    }
    let fit = min(all.count, max(1, count(all, within: bytes)))
    items = Array(all.prefix(fit))
    let isLast = fit == all.count && !page.hasMore
    next = isLast || fit == 0 ? nil : page.files[fit - 1].place
  }

  func write(as name: StaticString, to writer: inout JSONWriter) {
    writer.array(name, items)
    writer.next(next.map { String($0) })
  }
}
