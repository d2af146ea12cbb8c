internal import Configuration
internal import Glibc
internal import JSON
internal import JSONRPC
internal import Sharing
internal import Synchronization
internal import TransferEngine
internal import TransferModel

/// `server/stats`: what the process is doing and what it takes.
struct ServerStats: ImmediateMethod {
  static let name = "server/stats"
  static let isAlwaysServed = true
  let server: Server

  struct Outcome: Reply {
    let server: Server

    func write(to writer: inout JSONWriter) {
      writer.beginObject()
      writer.field("uptimeMs", Int64((ContinuousClock.now - server.started) / .milliseconds(1)))
      writer.field("residentBytes", residentBytes())
      writer.object("requests") { writer in
        writer.field("received", server.counters.received.load(ordering: .relaxed))
        writer.field("inFlight", server.connection.inFlightCount)
        writer.field(
          "refused",
          server.counters.refused.load(ordering: .relaxed) + server.connection.overloadedCount
        )
      }
      writer.object("output") { writer in
        writer.field("queuedBytes", server.outbox.queuedBytes)
        writer.field("droppedProgress", server.outbox.droppedProgress)
      }
      let counts = server.sharingIfAny?.engine.counts ?? [:]
      writer.object("transfers") { writer in
        for state in TransferState.allCases where state != .interrupted {
          writer.key(named: state.rawValue)
          writer.int(Int64(counts[state] ?? 0))
        }
      }
      let activity = server.sharingIfAny?.engine.activity ?? [:]
      writer.object("remotes") { writer in
        for remote in server.configuration.remotes {
          let traffic = server.sharingIfAny?.engine.remotes.traffic(of: remote.name)
          writer.object(named: remote.name) { writer in
            writer.field("queued", activity[remote.name]?.queued ?? 0)
            writer.field("running", activity[remote.name]?.running ?? 0)
            writer.field("bytesUp", traffic?.bytesUp ?? 0)
            writer.field("bytesDown", traffic?.bytesDown ?? 0)
            writer.field("retries", traffic?.retries ?? 0)
          }
        }
      }
      writer.endObject()
    }
  }

  static func decode(_ fields: inout JSONFields) throws(JSONError) {}

  func run(_: Void) throws(TransferError) -> Outcome { Outcome(server: server) }
}

/// Resident memory by /proc/self/statm; 0 where the kernel does not tell.
private func residentBytes() -> Int64 {
  guard let file = fopen("/proc/self/statm", "re") else { return 0 }
  defer { fclose(file) }
  var line = [CChar](repeating: 0, count: 128)
  guard fgets(&line, Int32(line.count), file) != nil else { return 0 }
  let fields = String(decoding: line.prefix { $0 > 0 }.map { UInt8($0) }, as: UTF8.self)
    .split(separator: " ")
  return (fields.count > 1 ? Int64(fields[1]) ?? 0 : 0) * Int64(sysconf(Int32(_SC_PAGESIZE)))
}
