#!/usr/bin/env bash
# Shares a file on a channel and prints what the channel holds, with nothing but echo and jq.
#
#   examples/share.sh trip photo.jpg
#
# Each call is a ferry of its own: a line in, end of input, and it ends once the work is done.
set -euo pipefail
[ $# = 2 ] || { sed -n '2,4s/^# \{0,1\}//p' "$0" >&2; exit 1; }
ferry=${FERRY_BIN:-ferry}

# Sends one request and prints its result; an error is a message on stderr and exit code 1.
call() { # METHOD PARAMS
  echo "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"$1\",\"params\":$2}" | "$ferry" serve \
    | jq -c 'select(.id == 1) | if .error then "\(.error.message)\n" | halt_error(1) else .result end'
}

# jq writes the params, so that no name needs escaping by hand.
sent=$(call file/send "$(jq -nc --arg channel "$1" --arg path "$2" '{$channel, $path}')")
echo "$sent" | jq -r '"sent \(.name), \(.size) bytes, sha256 \(.sha256)"'

next=null
while
  ask=$(jq -nc --arg channel "$1" --argjson next "$next" '{$channel, $next}')
  page=$(call file/list "$ask")
  echo "$page" | jq -r '.files[] | "\(.created)  \(.size)  \(.name)"'
  next=$(echo "$page" | jq .next)
  [ "$next" != null ]
do :; done
