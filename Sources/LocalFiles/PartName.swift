import CLinux
import Glibc

/// The names of unfinished files: `.<name>.<10 random letters and digits>.part`.
enum PartName {
  /// At most 100 bytes of the name are kept, cut between characters, so that the whole fits every
  /// file system, those that encrypt names and take 143 bytes included.
  static func make(for name: String) -> String {
    ".\(SafeName.prefix(of: name, bytes: 100)).\(String(UInt64.random(in: range), radix: 36)).part"
  }

  /// Whether a name has the form of a part.
  static func isOne(_ name: String) -> Bool {
    let bytes = Array(name.utf8)
    let dot = UInt8(ascii: ".")
    guard bytes.count >= 18, bytes.first == dot, bytes.suffix(5).elementsEqual(".part".utf8),
      bytes[bytes.count - 16] == dot
    else { return false }
    return bytes[(bytes.count - 15)..<(bytes.count - 5)].allSatisfy {
      (48...57).contains($0) || (97...122).contains($0)
    }
  }

  /// Whether a file is as parts are made: regular, one name, this user's, and to be executed by nobody.
  ///
  /// Killed just before the rename, a process has opened it to others already, as its umask wanted.
  static func isOurs(_ status: stat) -> Bool {
    status.st_mode & S_IFMT == S_IFREG && status.st_mode & 0o7111 == 0
      && status.st_nlink == 1 && status.st_uid == geteuid()
  }

  /// The numbers that have exactly ten digits of base 36.
  private static let range: ClosedRange<UInt64> = 101_559_956_668_416...3_656_158_440_062_975
}
