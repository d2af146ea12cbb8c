import Glibc
import TransferModel

/// Threads of the store's own, where blocking is allowed.
enum OwnThread {
  private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  /// Starts a detached thread that runs the closure and ends.
  static func start(_ run: @escaping @Sendable () -> Void) throws(TransferError) {
    var thread = pthread_t()
    // The thread takes over this one retain.
    let body = Unmanaged.passRetained(Body(run))
    let code = pthread_create(
      &thread,
      nil,
      { argument in
        guard let argument else { return nil }
        Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
        return nil
      },
      body.toOpaque()
    )
    guard code == 0 else {
      body.release()
      throw TransferError(
        .unknown,
        "cannot start a thread: \(String(cString: strerror(code)))"
      )
    }
    pthread_detach(thread)
  }
}
