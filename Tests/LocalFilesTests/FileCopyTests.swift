import Glibc
import Testing
import TransferModel

@testable import LocalFiles

@Suite struct FileCopyTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test(
    "files of all shapes are copied whole, in slices, on one file system and across two",
    arguments: [0, 1, 4095, 4096, 1 << 20, 5_000_001],
    ["/tmp", "/dev/shm"]
  )
  func copies(size: Int, target: String) throws {
    let content = noise(size)
    let source = try SourceFile.open(try folder.file("source", content))
    let other = try TemporaryFolder(in: target)
    for slice in [999_999, 1 << 30] {
      let part = try PartFile.create(for: other("copy"), overwrite: true)
      #expect(try copy(source.number, to: part.number, slice: slice) == size)
      try part.publish(overwrite: true, durable: false)
      #expect(try other.content("copy") == content)
    }
  }

  @Test("a file with holes reads the same as its copy")
  func sparse() throws {
    let number = open(folder("sparse"), O_RDWR | O_CREAT, 0o600)
    defer { close(number) }
    #expect(ftruncate(number, 20 << 20) == 0)
    let island = noise(10_000)
    #expect(pwrite(number, island, island.count, 7 << 20) == island.count)
    let part = try PartFile.create(for: folder("copy"), overwrite: false)
    #expect(try copy(number, to: part.number, slice: 1 << 30) == 20 << 20)
    try part.publish(overwrite: false, durable: false)
    #expect(try folder.content("copy") == folder.content("sparse"))
  }

  @Test("a file of the kernel whose size says 0 is copied by reading it")
  func procFile() throws {
    let number = open("/proc/self/limits", O_RDONLY)
    defer { close(number) }
    let part = try PartFile.create(for: folder("copy"), overwrite: false)
    let count = try copy(number, to: part.number, slice: 1 << 20)
    try part.publish(overwrite: false, durable: false)
    #expect(count > 0)
    #expect(try folder.text("copy").hasPrefix("Limit"))
  }

  @Test("a slice out of the middle goes to where it is asked for")
  func offsets() throws {
    let source = try SourceFile.open(try folder.file("source", "0123456789"))
    let part = try PartFile.create(for: folder("copy"), overwrite: false)
    try part.write(Array("abcdefgh".utf8), at: 0)
    #expect(
      try FileCopy().copySlice(from: source.number, at: 3, to: part.number, at: 2, length: 4) == 4
    )
    #expect(
      try FileCopy().copySlice(from: source.number, at: 8, to: part.number, at: 6, length: 9) == 2
    )
    try part.publish(overwrite: false, durable: false)
    #expect(try folder.text("copy") == "ab345689")
  }

  @Test("a clone has the content, or was refused and changed nothing")
  func clones() throws {
    let source = try SourceFile.open(try folder.file("source", noise(100_000)))
    let part = try PartFile.create(for: folder("copy"), overwrite: false)
    let isClone = FileCopy().clone(from: source.number, to: part.number)
    #expect(try part.size() == (isClone ? 100_000 : 0))
  }

  @Test("a target open for reading only fails with its path, not with half a copy")
  func readOnlyTarget() throws {
    let source = try SourceFile.open(try folder.file("source", "content"))
    let target = try SourceFile.open(try folder.file("target", "old"))
    let error = failure { () throws(TransferError) in
      _ = try FileCopy().copySlice(
        from: source.number,
        at: 0,
        to: target.number,
        at: 0,
        length: 7
      )
    }
    #expect(error?.message.contains(folder("target")) == true)
    #expect(try folder.text("target") == "old")
  }

  @Test(
    "a scan gives every byte once and in order, whatever the pieces",
    arguments: [1, 7, 4096, 1 << 20]
  )
  func scans(bufferBytes: Int) throws {
    let content = noise(20_000)
    let source = try SourceFile.open(try folder.file("source", content))
    for range in [0..<20_000, 5..<6, 100..<15_001, 19_000..<30_000, 0..<0, 30_000..<40_000] {
      var seen: [UInt8] = []
      let count = try FileScan.forEachChunk(
        of: source.number,
        in: Int64(range.lowerBound)..<Int64(range.upperBound),
        bufferBytes: bufferBytes
      ) { chunk, offset throws(TransferError) in
        #expect(Int(offset) == range.lowerBound + seen.count)
        seen += chunk
      }
      let expected = range.clamped(to: 0..<20_000)
      #expect(seen == Array(content[expected]))
      #expect(count == expected.count)
    }
  }

  @Test("what the taker of a scan throws ends it")
  func scanEnds() throws {
    let source = try SourceFile.open(try folder.file("source", noise(100)))
    var calls = 0
    let error = failure { () throws(TransferError) in
      try FileScan.forEachChunk(of: source.number, in: 0..<100, bufferBytes: 10) {
        _,
        _ throws(TransferError) in
        calls += 1
        throw TransferError(.cancelled, "enough")
      }
    }
    #expect(error?.code == .cancelled && calls == 1)
  }

  private func copy(_ source: Int32, to target: Int32, slice: Int) throws -> Int {
    let copy = FileCopy()
    var done = 0
    while true {
      let count = try copy.copySlice(
        from: source,
        at: Int64(done),
        to: target,
        at: Int64(done),
        length: slice
      )
      done += count
      if count < slice { return done }
    }
  }
}
