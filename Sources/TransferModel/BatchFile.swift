package import JSON

/// Which file of which batch a transfer moves.
package struct BatchFile: Sendable, Hashable {
  /// The batch's id, chosen by the host or made by ferry.
  @ExactString package var batch: String
  /// The file's id, chosen by the host; unique in its batch.
  @ExactString package var file: String
  /// Where it stands among the files of its batch; rises in the order they were added.
  package var place: Int64

  /// Names a file of a batch.
  package init(batch: String, file: String, place: Int64) {
    self.batch = batch
    self.file = file
    self.place = place
  }
}
