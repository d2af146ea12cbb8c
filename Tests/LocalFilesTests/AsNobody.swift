import Glibc

/// Runs a call without root's power over files, also where the tests run as root, as CI does.
///
/// setfsuid(2) acts on this thread alone, and the call does not leave it.
func asNobody<Result>(_ call: () -> Result) -> Result {
  guard geteuid() == 0, let setfsuid else { return call() }
  _ = setfsuid(65534)
  defer { _ = setfsuid(0) }
  return call()
}

/// Whether `asNobody` takes power away: not root, or root that can change its file-system user.
let canBeNobody: Bool = {
  guard geteuid() == 0 else { return true }
  guard let setfsuid else { return false }
  _ = setfsuid(65534)
  defer { _ = setfsuid(0) }
  // Asked for an impossible user it changes nothing and tells the present one.
  return setfsuid(.max) == 65534
}()

/// Glibc's header of it is not in Swift's module.
private var setfsuid: (@convention(c) (UInt32) -> Int32)? {
  dlsym(nil, "setfsuid").map { unsafeBitCast($0, to: (@convention(c) (UInt32) -> Int32).self) }
}
