# What the shell scripts share: one voice, and how Swift and Python are found.
# Sourced, never run; expects the working directory to be the checkout's root.

say() { printf '%s\n' "ferry: $*"; }
fail() { printf '%s\n' "ferry: $*" >&2; exit 1; }

# A PATH whose first swift works: the caller's own, or one of the places installers use.
swift_path() {
  local folder
  if command -v swift >/dev/null 2>&1; then printf '%s' "$PATH"; return; fi
  for folder in "${SWIFTLY_BIN_DIR:-}" "${HOME:-}/.local/share/swiftly/bin" "${HOME:-}/.local/bin" \
    /opt/swift/usr/bin /opt/swift/bin /usr/share/swift/usr/bin /usr/local/swift/usr/bin; do
    if [ -n "$folder" ] && [ -x "$folder/swift" ]; then printf '%s' "$folder:$PATH"; return; fi
  done
  return 1
}

# The first python3 that runs at all and is 3.9 or newer; with "venv", one that can make a virtual
# environment without the network. A version manager's shim may exist and still not run.
find_python() {
  local candidate probe='import sys; sys.exit(sys.version_info < (3, 9))'
  [ "${1:-}" = venv ] && probe="import ensurepip, venv; $probe"
  for candidate in $(type -ap python3) /usr/bin/python3 /usr/local/bin/python3; do
    if "$candidate" -c "$probe" >/dev/null 2>&1 </dev/null; then printf '%s' "$candidate"; return; fi
  done
  return 1
}
