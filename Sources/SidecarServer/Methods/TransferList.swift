internal import JSON
internal import JSONRPC
internal import TransferEngine
internal import TransferModel

/// `transfer/list`: transfers in the order they were accepted, page by page.
struct TransferList: ImmediateMethod {
  static let name = "transfer/list"
  let server: Server

  struct Params: Sendable {
    var remote: String?
    var state: TransferState?
    var batchID: String?
    var limit: Int
    var next: String?
  }

  struct Outcome: Reply {
    let items: [RawJSON]
    let next: String?

    func write(to writer: inout JSONWriter) {
      writer.beginObject()
      writer.array("transfers", items)
      writer.next(next)
      writer.endObject()
    }
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> Params {
    try Params(
      remote: fields.remote(),
      state: fields.optionalEnum("state", of: TransferState.self),
      batchID: fields.optionalString("batchId"),
      limit: fields.limit(),
      next: fields.optionalString("next")
    )
  }

  func run(_ params: Params) throws(TransferError) -> Outcome {
    let page = try server.engine.list(
      state: params.state,
      remote: params.remote,
      batch: params.batchID,
      limit: params.limit,
      next: params.next
    )
    let items = page.transfers.map { snapshot in
      var writer = JSONWriter()
      writer.snapshot(snapshot)
      return RawJSON(validated: writer.take())
    }
    guard !items.isEmpty else { return Outcome(items: [], next: nil) }
    let fit = max(1, count(items, within: server.settings.pageBytes))
    let isLast = fit == items.count && !page.hasMore
    return Outcome(
      items: Array(items.prefix(fit)),
      next: isLast ? nil : String(page.numbers[fit - 1])
    )
  }
}
