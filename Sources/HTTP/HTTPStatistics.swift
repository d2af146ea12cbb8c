/// What a client has done and holds now.
package struct HTTPStatistics: Sendable, Equatable {
  /// Connections made since the beginning, those that failed included.
  package var connectionsOpened = 0
  /// Connections there are, idle ones included.
  package var connectionsOpen = 0
  /// Requests for contents under way.
  package var bulk = 0
  /// Short questions under way.
  package var calls = 0
  /// Long polls under way.
  package var polls = 0
  /// Requests that wait for others to end.
  package var waiting = 0
  /// Requests handed to libcurl since the beginning.
  package var requests = 0
  /// Requests that libcurl sent again, since the connection they were sent on turned out dead.
  package var repeated = 0
  /// Bytes of bodies sent since the beginning.
  package var bytesSent: Int64 = 0
  /// Bytes of bodies received since the beginning.
  package var bytesReceived: Int64 = 0

  /// Nothing yet.
  package init() {}
}
