import Glibc

/// The wall clock in the units the index keeps.
enum Clock {
  /// 100 ns units since 1970.
  static func timetoken() -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Int64(now.tv_sec) * 10_000_000 + Int64(now.tv_nsec) / 100
  }

  /// Milliseconds since 1970.
  static func milliseconds() -> Int64 { timetoken() / 10_000 }
}
