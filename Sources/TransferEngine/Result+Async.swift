extension Result where Success: ~Copyable {
  /// What asynchronous work returns or throws.
  init(of work: () async throws(Failure) -> Success) async {
    do throws(Failure) {
      self = .success(try await work())
    } catch {
      self = .failure(error)
    }
  }
}
