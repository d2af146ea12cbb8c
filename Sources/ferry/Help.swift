internal import SidecarServer

/// What ferry says about itself.
enum Help {
  /// `ferry --help`.
  static let text = """
    ferry \(Server.version) — the file-sharing sidecar

    A host (an editor, an app, a script) spawns `ferry serve`, writes one JSON-RPC request per
    line on its stdin and reads replies and notifications from its stdout: uploads, downloads,
    channels with announcements, progress. It runs at once, on a folder of this machine.

    USAGE
      ferry serve [--config FILE] [--framing auto|ndjson|lsp] [--parent-pid PID]
                  [--log-level error|warn|info|debug] [--log-file FILE]
                  [--trace-rpc FILE] [--enable-test-methods]
                              Serve one host on stdin and stdout until stdin ends.
      ferry check-config [FILE]
                              Read the configuration and say what it means, or what is wrong.
      ferry doctor [FILE]     Check that each remote can be used from here.
      ferry schema            Print the protocol as an OpenRPC document.
      ferry --version         Print the version.
      ferry --help            Print this.

    To send and fetch files from a shell: python3 -m ferry --help (clients/python).

    TRY IT
      echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' | ferry serve

      echo '{"jsonrpc":"2.0","id":1,"method":"file/send","params":
            {"channel":"demo","text":"Hello","name":"hello.txt"}}' | tr -d '\\n' | ferry serve

      echo '{"jsonrpc":"2.0","id":1,"method":"file/list","params":{"channel":"demo"}}' \\
        | ferry serve

    CONFIGURATION
      The first of: --config FILE, $FERRY_CONFIG, $XDG_CONFIG_HOME/ferry/config.yaml
      (~/.config/ferry/config.yaml). Without any there is one remote, `local`, in
      $XDG_DATA_HOME/ferry (~/.local/share/ferry).

    EXIT CODES
      0 done   1 `exit` without `shutdown`; doctor found a fault
      2 usage or configuration   74 stdout lost
      128 + signal when a signal ended it

    """

  /// `ferry` alone on a terminal.
  static let greeting = """
    ferry \(Server.version): a file-sharing sidecar. Editors and apps spawn it and talk to it over stdio;
    people can try it:

      echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' | ferry serve

    `ferry --help` tells everything.

    """
}
