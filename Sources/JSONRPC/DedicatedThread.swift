internal import CLinux
internal import Glibc

/// A thread of our own, for work that blocks.
package enum DedicatedThread {
  /// Starts a detached thread that runs `body` and ends with it.
  /// - Parameters:
  ///   - name: what debuggers show; at most 15 bytes.
  ///   - body: the work; it may block.
  package static func start(_ name: String, _ body: @escaping @Sendable () -> Void) {
    let box = Unmanaged.passRetained(Work(name: name, body: body))
    var thread = pthread_t()
    let status = pthread_create(&thread, nil, { runWork($0) }, box.toOpaque())
    // Without its reader or writer nothing can be answered, not even an error.
    precondition(status == 0, "no thread could be started: errno \(status)")
    pthread_detach(thread)
  }
}

private final class Work: Sendable {
  let name: String
  let body: @Sendable () -> Void

  init(name: String, body: @escaping @Sendable () -> Void) {
    self.name = name
    self.body = body
  }
}

private func runWork(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context else { return nil }
  let work = Unmanaged<Work>.fromOpaque(context).takeRetainedValue()
  clinux_name_thread(work.name)
  work.body()
  return nil
}
