internal import JSON
internal import JSONRPC
internal import TransferEngine
internal import TransferModel

extension TransferEngine {
  /// Starts or joins a transfer for a request, which is answered when the changes are consumed.
  func submit(
    _ spec: TransferSpec,
    isChosen: Bool,
    for call: Call,
    isDetached: Bool,
    on connection: Connection
  ) throws(TransferError) {
    let waiter = Waiter(call, of: connection, remote: spec.remote, isDetached: isDetached)
    try submit(spec, isChosen: isChosen, waiter: waiter)
    withdrawWhenCancelled(waiter, call, from: spec.id)
  }

  /// Goes on waiting with a request that was parked; nil where it is over.
  func revive(
    _ ticket: String,
    of id: TransferID,
    remote: String,
    on connection: Connection
  ) -> Waiter? {
    var waiter: Waiter?
    connection.revive(ticket) { call in
      let revived = Waiter(call, of: connection, remote: remote, isDetached: false)
      withdrawWhenCancelled(revived, call, from: id)
      waiter = revived
    }
    return waiter
  }

  private func withdrawWhenCancelled(_ waiter: Waiter, _ call: Call, from id: TransferID) {
    // Weak: the engine holds the waiter, the waiter the call, and the call this handler.
    call.onCancel { [weak waiter] in
      if let waiter { self.withdraw(waiter, from: id) }
    }
  }
}

extension Waiter {
  /// A request that waits for a transfer on a remote.
  fileprivate convenience init(
    _ call: Call,
    of connection: Connection,
    remote: String,
    isDetached: Bool
  ) {
    self.init(isDetached: isDetached) { id in
      connection.park(call, owner: id.description)
    } answer: { answer in
      switch answer {
      case .accepted(let id):
        call.succeed { writer in
          writer.beginObject()
          writer.field("transferId", id.description)
          writer.endObject()
        }
      case .withdrawn:
        call.fail(.cancelled)
      case .settled(let settlement):
        call.answer(with: settlement, remote: remote)
      }
    }
  }
}

extension Call {
  /// Answers with how a transfer ended.
  fileprivate func answer(with settlement: TransferSettlement, remote: String) {
    switch settlement.outcome {
    case .succeeded(let result):
      succeed { $0.result(result, of: settlement.id, remote: remote) }
    case .failed(let error), .rejected(let error), .cancelled(let error):
      fail(error.rpc(settlement.context))
    }
  }
}

extension TransferSettlement {
  /// What an error about this end tells beside itself.
  var context: TransferError.Context {
    var context = TransferError.Context(
      transferID: id,
      attempt: attempt,
      batchID: slot.batchFile?.batch,
      fileID: slot.batchFile?.file
    )
    switch outcome {
    case .succeeded, .rejected: break
    case .failed, .cancelled: (context.loaded, context.resumable) = (loaded, isResumable)
    }
    return context
  }
}
