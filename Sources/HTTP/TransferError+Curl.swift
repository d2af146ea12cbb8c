import CCurl
import LocalFiles
import TransferModel

/// What failed on the network, in ferry's codes. Only host and port of the remote are told: a query
/// or a header may hold a signature.
extension TransferError {
  /// What libcurl could not do.
  static func fromCurl(_ code: CURLcode, _ exchange: CurlExchange) -> TransferError {
    let host = exchange.origin.shown
    var error =
      switch code {
      case CURLE_COULDNT_RESOLVE_HOST:
        network("The host of \(host) is not known; check the name and the network.")
      case CURLE_COULDNT_RESOLVE_PROXY:
        network("The host of the proxy towards \(host) is not known; check the proxy's name.")
      case CURLE_COULDNT_CONNECT:
        network(
          "Cannot connect to \(host)\(reason(exchange)); check that it runs and is reachable."
        )
      case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR: untrusted(exchange)
      case CURLE_SSL_CACERT_BADFILE:
        TransferError(
          .config,
          "The file of trusted certificates cannot be read; check caFile, or install"
            + " ca-certificates."
        )
      case CURLE_SSL_CONNECT_ERROR:
        network("\(host) and ferry agree on no TLS connection; check that the port speaks https.")
      case CURLE_OPERATION_TIMEDOUT:
        network(
          "Cannot connect to \(host) within \(exchange.traffic.options.connectTimeout.seconds) s;"
            + " check that it is reachable."
        )
      case CURLE_PARTIAL_FILE:
        network("\(host) ended its answer early; ask again.")
      case CURLE_GOT_NOTHING:
        network("\(host) closed the connection without an answer; ask again.")
      case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_SEND_FAIL_REWIND:
        network("The connection to \(host) broke\(reason(exchange)); ask again.")
      case CURLE_PROXY:
        network("The proxy towards \(host) refuses or fails; check its address and password.")
      case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL:
        TransferError(
          .server,
          "\(host) answers with something that is not HTTP; check the address and the port."
        )
      default:
        network(
          "The request to \(host) failed:"
            + " \(String(cString: ccurl_easy_strerror(code))) (libcurl error \(code.rawValue))."
        )
      }
    error.mayHaveArrived = exchange.mayHaveArrived
    if exchange.head.status > 0 { error.httpStatus = exchange.head.status }
    return error
  }

  /// Nothing moved for too long.
  static func stalled(_ exchange: CurlExchange) -> TransferError {
    let host = exchange.origin.shown
    let seconds = exchange.watch.limit(exchange.watch.phase)?.seconds ?? "0"
    let isUpload = exchange.request.lane == .bulk && exchange.body.length > 0
    var error =
      switch exchange.watch.phase {
      case .connecting, .awaiting:
        TransferError(
          isUpload ? .uploadStalled : .network,
          "\(host) did not answer within \(seconds) s; ask again later."
        )
      case .sending:
        TransferError(
          .uploadStalled,
          "\(host) took no byte for \(seconds) s; check the network, and send it again."
        )
      case .receiving:
        TransferError(
          isUpload ? .uploadStalled : .downloadStalled,
          "\(host) sent no byte for \(seconds) s; check the network, and fetch it again."
        )
      }
    error.mayHaveArrived = exchange.mayHaveArrived
    return error
  }

  /// A reused connection died under a request that must not be sent twice.
  static func deadConnection(_ exchange: CurlExchange) -> TransferError {
    var error = network(
      "The connection to \(exchange.origin.shown) broke before an answer came; look whether what"
        + " was asked has happened, and else ask again."
    )
    error.mayHaveArrived = true
    return error
  }

  private static func untrusted(_ exchange: CurlExchange) -> TransferError {
    let file =
      exchange.traffic.options.caFile.map { "caFile '\($0)' or the system trusts" }
      ?? "the system trusts (a private authority's certificate is named by caFile)"
    var error = network(
      "The certificate of \(exchange.origin.shown) is not valid for that name, or not signed by an"
        + " authority that \(file); check the host, its certificate and the clock."
    )
    error.retryableOverride = false
    return error
  }

  private static func network(_ message: String) -> TransferError {
    TransferError(.network, message)
  }

  /// The system's word on a connection, where there is one.
  private static func reason(_ exchange: CurlExchange) -> String {
    guard let handle = exchange.handle else { return "" }
    let number = Int32(truncatingIfNeeded: ccurl_get_long(handle, CURLINFO_OS_ERRNO))
    return number == 0 ? "" : " (\(words(of: number)))"
  }
}

extension Duration {
  /// For messages: `30` or `0.5`.
  fileprivate var seconds: String {
    let milliseconds = Int(self / .milliseconds(1))
    return milliseconds % 1000 == 0
      ? "\(milliseconds / 1000)" : "\(Double(milliseconds) / 1000)"
  }
}
