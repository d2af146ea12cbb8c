"""Replays the golden transcripts of schema/transcripts; their README describes the notation."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contract import ROOT
from sidecar import Sidecar, same

FOLDER = ROOT / "schema" / "transcripts"
KINDS = {
    "": lambda value: True,
    "int": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
}
WILDCARD = re.compile(r"\*(int|string|object|array)?(?:=(\w+))?")
VARIABLE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True)
class Step:
    """One line: `kind` is send, raw, expect, any (order), eof or exit."""

    kind: str
    text: str
    line: int


def parse(path: Path) -> list[Step]:
    steps = []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        mark, _, text = line.partition(" ")
        if not line.strip() or line.startswith("#"):
            continue
        kind = {"-->": "send", "~~>": "raw", "<--": "expect", "<==": "any"}.get(mark)
        assert kind, f"{path.name}:{number}: a line starts with -->, ~~>, <--, <== or #: {line}"
        if mark == "-->" and text == "EOF":
            kind = "eof"
        if mark == "<--" and text.startswith("EXIT "):
            kind, text = "exit", text.split()[1]
        steps.append(Step(kind, text, number))
    return steps


def is_raw(path: Path) -> bool:
    """Whether it sends bytes of its own framing, so that it cannot be replayed in another."""
    return any(step.kind == "raw" for step in parse(path))


class Replay:
    """One run of a transcript against a process."""

    def __init__(self, path: Path, sidecar: Sidecar, headers: bool = False) -> None:
        self.path = path
        self.sidecar = sidecar
        self.headers = headers
        self.variables: dict[str, Any] = {"DIR": str(sidecar.work)}

    def run(self) -> None:
        steps = parse(self.path)
        position = 0
        while position < len(steps):
            step = steps[position]
            self.where = f"{self.path.name}:{step.line}"
            group = [step]
            while step.kind == "any" and position + len(group) < len(steps):
                following = steps[position + len(group)]
                if following.kind != "any":
                    break
                group.append(following)
            self.perform(step, group)
            position += len(group)
        if not any(step.kind == "exit" for step in steps):
            self.where = f"{self.path.name}: the end"
            self.sidecar.close_stdin()
            self.exit(0)

    def perform(self, step: Step, group: list[Step]) -> None:
        if step.kind == "send":
            body = self.fill(step.text).encode()
            head = b"Content-Length: %d\r\n\r\n" % len(body)
            self.sidecar.send_raw(head + body if self.headers else body + b"\n")
        elif step.kind == "raw":
            pattern = rb"\\x([0-9A-F]{2})"
            data = re.sub(pattern, lambda m: bytes([int(m[1], 16)]), step.text.encode())
            self.sidecar.send_raw(data)
        elif step.kind == "eof":
            self.sidecar.close_stdin()
        elif step.kind == "exit":
            self.exit(int(step.text))
        else:
            self.expect([json.loads(s.text) for s in group])

    def expect(self, wanted: list[Any]) -> None:
        while wanted:
            message = self.next_message(wanted)
            assert message is not None, f"{self.where}: stdout ended, expected {wanted}"
            attempts = [(w, dict(self.variables)) for w in wanted]
            fitting = [(w, v) for w, v in attempts if matches(w, message, v)]
            assert fitting, f"{self.where}:\n expected {wanted}\n received {json.dumps(message)}"
            found, self.variables = fitting[0]
            wanted.remove(found)

    def next_message(self, wanted: list[Any]) -> Any:
        """Progress depends on the machine's speed, so it counts only where it is expected."""
        while True:
            message = self.sidecar.next_message()
            if not isinstance(message, dict) or message.get("method") != "progress":
                return message
            if any(isinstance(w, dict) and w.get("method") == "progress" for w in wanted):
                return message

    def exit(self, code: int) -> None:
        message = self.next_message([])
        assert message is None, f"{self.where}: nothing more was expected: {json.dumps(message)}"
        assert self.sidecar.wait_exit() == code, f"{self.where}: {self.sidecar.report()}"
        self.sidecar.expected_code = code

    def fill(self, text: str) -> str:
        """Puts captured values into a line to send, escaped for a JSON string."""

        def value(match: re.Match[str]) -> str:
            found = self.variables[match[1]]
            return json.dumps(found)[1:-1] if isinstance(found, str) else json.dumps(found)

        return VARIABLE.sub(value, text)


def matches(wanted: Any, value: Any, variables: dict[str, Any]) -> bool:
    """Whether a value fits an expectation; captures go into `variables`."""
    if isinstance(wanted, str):
        return matches_text(wanted, value, variables)
    if isinstance(wanted, dict):
        if not isinstance(value, dict):
            return False
        names = [name for name in wanted if name != "..."]
        if "..." not in wanted and set(names) != set(value):
            return False
        return all(n in value and matches(wanted[n], value[n], variables) for n in names)
    if isinstance(wanted, list):
        return (
            isinstance(value, list)
            and len(wanted) == len(value)
            and all(matches(w, v, variables) for w, v in zip(wanted, value))
        )
    return same(wanted, value)


def matches_text(wanted: str, value: Any, variables: dict[str, Any]) -> bool:
    wildcard = WILDCARD.fullmatch(wanted)
    if wildcard:
        if wildcard[2]:
            variables[wildcard[2]] = value
        return KINDS[wildcard[1] or ""](value)
    if wanted.startswith("~"):
        return isinstance(value, str) and re.search(wanted[1:], value) is not None
    whole = VARIABLE.fullmatch(wanted)
    if whole:
        return same(variables[whole[1]], value)
    return same(VARIABLE.sub(lambda m: str(variables[m[1]]), wanted), value)
