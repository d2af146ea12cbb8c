internal import JSON
internal import JSONRPC
internal import Sharing
internal import TransferEngine
internal import TransferModel

/// `batch/upload`: adds files to a batch.
struct BatchUpload: Method {
  static let name = "batch/upload"
  let server: Server

  struct Params: Sendable {
    var batchID: String
    var items: [BatchItem]
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) -> Params {
    let batchID = try fields.batchID()
    var items: [BatchItem] = []
    for node in try fields.node("items").elements() { items.append(try BatchItem(node)) }
    return Params(batchID: batchID, items: items)
  }

  func handle(_ params: Params, _ call: Call) {
    do throws(TransferError) {
      let settings = try server.sharing.batches.settings(of: params.batchID)
      server.engine.withLimits(of: settings.remote) { take(params, settings, call) }
    } catch {
      call.fail(error.rpc())
    }
  }

  private func take(_ params: Params, _ settings: BatchSettings, _ call: Call) {
    let server = server
    do throws(TransferError) {
      let root = server.settings.rootPath
      let items = params.items.map { item in
        Batches.Item(id: item.fileID, kind: item.kind) { id, file throws(TransferError) in
          try item.spec(
            id,
            file,
            on: settings.remote,
            to: settings.destination,
            parent: settings.parent,
            server,
            root: root
          )
        }
      }
      try server.sharing.batches.upload(params.batchID, items) {
        // Before anything is told of them.
        call.succeed { writer in
          writer.beginObject()
          writer.field("accepted", params.items.count)
          writer.endObject()
        }
      }
    } catch {
      call.fail(error.rpc())
    }
  }
}
