import Testing

@testable import TransferEngine
@testable import TransferModel

@Suite("The life of one transfer")
struct TransferMachineTests {
  enum Event: Sendable {
    case admit, pause, resume, cancel, retry, reject, suspend
    case ended(TransferMachine.RunEnd)
  }

  static func apply(_ event: Event, to machine: inout TransferMachine) -> TransferMachine.Action {
    switch event {
    case .admit: machine.admit()
    case .pause: machine.pause()
    case .resume: machine.resume()
    case .cancel: machine.cancel()
    case .retry: machine.retry()
    case .reject: machine.reject()
    case .suspend: machine.suspend()
    case .ended(let end): machine.runEnded(end)
    }
  }

  struct Row: Sendable, CustomTestStringConvertible {
    let name: String
    let events: [(Event, TransferMachine.Action)]
    let end: TransferState

    var testDescription: String { name }

    init(_ name: String, _ end: TransferState, _ events: [(Event, TransferMachine.Action)]) {
      self.name = name
      self.end = end
      self.events = events
    }
  }

  static let start = TransferMachine.Action.start(attempt: 1, announces: true)
  static let again = TransferMachine.Action.start(attempt: 1, announces: false)

  static let rows: [Row] = [
    Row(
      "runs to its end",
      .succeeded,
      [(.admit, start), (.ended(.succeeded), .settle(.succeeded))]
    ),
    Row(
      "fails, is retried, succeeds",
      .succeeded,
      [
        (.admit, start), (.ended(.failed(rejected: false)), .settle(.failed)),
        (.retry, .enqueue(resumed: false)), (.admit, .start(attempt: 2, announces: true)),
        (.ended(.succeeded), .settle(.succeeded)),
      ]
    ),
    Row(
      "is refused before a byte moved, and a retry does nothing",
      .rejected,
      [(.admit, start), (.ended(.failed(rejected: true)), .settle(.rejected)), (.retry, .none)]
    ),
    Row("is rejected before it is queued", .rejected, [(.reject, .settle(.rejected))]),
    Row(
      "is paused while queued",
      .queued,
      [(.pause, .pause), (.pause, .none), (.resume, .enqueue(resumed: true))]
    ),
    Row(
      "is paused while running and goes on within the attempt",
      .succeeded,
      [
        (.admit, start), (.pause, .stop), (.ended(.stopped), .pause),
        (.resume, .enqueue(resumed: true)), (.admit, again),
        (.ended(.succeeded), .settle(.succeeded)),
      ]
    ),
    Row(
      "is paused and resumed before its run has stopped",
      .running,
      [
        (.admit, start), (.pause, .stop), (.resume, .none),
        (.ended(.stopped), .pauseAndEnqueue), (.admit, again),
      ]
    ),
    Row(
      "is paused, resumed and paused again before its run has stopped",
      .paused,
      [
        (.admit, start), (.pause, .stop), (.resume, .none), (.pause, .none),
        (.ended(.stopped), .pause),
      ]
    ),
    Row(
      "is paused too late",
      .succeeded,
      [(.admit, start), (.pause, .stop), (.ended(.succeeded), .settle(.succeeded))]
    ),
    Row(
      "fails while being paused",
      .failed,
      [
        (.admit, start), (.pause, .stop),
        (.ended(.failed(rejected: false)), .settle(.failed)),
      ]
    ),
    Row("is cancelled while queued", .cancelled, [(.cancel, .settle(.cancelled))]),
    Row(
      "is cancelled while running",
      .cancelled,
      [
        (.admit, start), (.cancel, .stop), (.cancel, .none),
        (.ended(.stopped), .settle(.cancelled)), (.cancel, .none), (.retry, .none),
      ]
    ),
    Row(
      "is cancelled while being paused",
      .cancelled,
      [
        (.admit, start), (.pause, .stop), (.cancel, .none),
        (.ended(.stopped), .settle(.cancelled)),
      ]
    ),
    Row(
      "is cancelled while paused",
      .cancelled,
      [(.pause, .pause), (.cancel, .settle(.cancelled)), (.resume, .none)]
    ),
    Row(
      "is cancelled too late",
      .succeeded,
      [(.admit, start), (.cancel, .stop), (.ended(.succeeded), .settle(.succeeded))]
    ),
    Row(
      "fails while being cancelled: nobody waits for the reason",
      .cancelled,
      [
        (.admit, start), (.cancel, .stop),
        (.ended(.failed(rejected: false)), .settle(.cancelled)),
      ]
    ),
    Row(
      "hears nothing after its end",
      .succeeded,
      [
        (.admit, start), (.ended(.succeeded), .settle(.succeeded)), (.pause, .none),
        (.resume, .none), (.cancel, .none), (.retry, .none), (.admit, .none),
      ]
    ),
  ]

  static let restored: [Row] = [
    Row(
      "is interrupted until it is resumed, as a new attempt",
      .succeeded,
      [
        (.pause, .none), (.suspend, .none), (.resume, .enqueue(resumed: false)),
        (.admit, .start(attempt: 4, announces: true)), (.ended(.succeeded), .settle(.succeeded)),
      ]
    ),
    Row("is cancelled while interrupted", .cancelled, [(.cancel, .settle(.cancelled))]),
  ]

  @Test("What an earlier process left", arguments: restored)
  func restoredRow(_ row: Row) {
    var machine = TransferMachine(restoring: .interrupted, attempt: 3)
    #expect(machine.visible == .interrupted)
    for (index, (event, action)) in row.events.enumerated() {
      #expect(Self.apply(event, to: &machine) == action, "step \(index): \(event)")
    }
    #expect(machine.visible == row.end)
  }

  @Test("What an earlier process ended stays ended, and what failed can be retried")
  func restoredEnds() {
    var failed = TransferMachine(restoring: .failed, attempt: 2)
    #expect(failed.retry() == .enqueue(resumed: false))
    #expect(failed.attempt == 3)
    var done = TransferMachine(restoring: .succeeded, attempt: 1)
    #expect(done.resume() == .none)
    #expect(done.visible == .succeeded)
  }

  @Test("A request that finds what an ending process left is the attempt after its last")
  func follows() {
    var queued = TransferMachine()
    queued.follow(attempt: 3)
    #expect(queued.admit() == .start(attempt: 4, announces: true))
    var paused = TransferMachine()
    #expect(paused.pause() == .pause)
    paused.follow(attempt: 1)
    #expect(paused.visible == .paused)
    #expect(paused.attempt == 2)
    var cancelled = TransferMachine()
    #expect(cancelled.cancel() == .settle(.cancelled))
    cancelled.follow(attempt: 2)
    #expect(cancelled.visible == .cancelled)
    #expect(cancelled.attempt == 2)
  }

  @Test(arguments: rows)
  func row(_ row: Row) {
    var machine = TransferMachine()
    for (index, (event, action)) in row.events.enumerated() {
      #expect(Self.apply(event, to: &machine) == action, "step \(index): \(event)")
    }
    #expect(machine.visible == row.end)
  }
}
