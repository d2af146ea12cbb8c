"""Schema, binary, examples, clients and documentation say the same."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any, Callable

import jsonschema
import pytest
from contract import ROOT, SCHEMA, contract
from sidecar import Sidecar

EXAMPLES = ROOT / "schema" / "examples"
ERROR_CODES = ROOT / "Sources" / "TransferModel" / "ErrorCode.swift"
DOCUMENT: dict[str, Any] = json.loads(SCHEMA.read_text())


def test_the_binary_serves_and_prints_the_schema(
    ferry: Sidecar, run: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    assert ferry.call("rpc.discover") == DOCUMENT
    printed = run("schema")
    assert (printed.returncode, printed.stderr) == (0, "")
    assert json.loads(printed.stdout) == DOCUMENT


def test_every_method_of_the_schema_is_routed(ferry: Sidecar) -> None:
    unknown = []
    for method in sorted(contract().requests - {"initialize", "shutdown"}):
        reply = ferry.reply(ferry.start(method, noSuchParameter=1))
        if reply.get("error", {}).get("code") != -32602:
            unknown.append((method, reply))
    assert not unknown


def test_schemas_are_valid_and_references_lead_somewhere() -> None:
    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if "$ref" in value:
                assert contract().follow(value)
            for member in value.values():
                walk(member)
        elif isinstance(value, list):
            for element in value:
                walk(element)

    walk(DOCUMENT)
    for method in DOCUMENT["methods"]:
        jsonschema.Draft7Validator.check_schema(contract().params_schema(method["name"]))
    for name, params in contract().notifications.items():
        jsonschema.Draft7Validator.check_schema(params)
        assert "seq" in params["required"], name


def test_names_occur_once() -> None:
    for names in (
        [m["name"] for m in DOCUMENT["methods"]],
        [n["name"] for n in DOCUMENT["x-notifications"]],
        *([p["name"] for p in contract().params(m)] for m in contract().methods),
    ):
        assert len(names) == len(set(names)), names


def test_every_method_but_the_lifecycle_takes_a_remote() -> None:
    for name, method in contract().methods.items():
        takes = any(p["name"] == "remote" for p in contract().params(name))
        assert takes == (method["tags"] != [{"name": "lifecycle"}]), name


def test_errors_are_those_of_the_code() -> None:
    source = ERROR_CODES.read_text()
    cases = dict(re.findall(r'case (\w+) = "(ERR_\w+)"', source))
    numbers = dict(re.findall(r"case \.(\w+): (-?\d+)", source))
    retryable = set(re.findall(r"\.(\w+)", source.split("switch self {")[1].split("true")[0]))
    expected = {
        code: {"code": int(numbers[case]), "data": {"code": code, "retryable": case in retryable}}
        for case, code in cases.items()
    }
    listed = {
        code: {"code": error["code"], "data": error["data"]}
        for code, error in contract().errors.items()
        if code.startswith("ERR_")
    }
    assert listed == expected
    plain = [e["code"] for c, e in contract().errors.items() if not c.startswith("ERR_")]
    assert sorted(plain) == [-32700, -32603, -32601, -32600]
    # A line too long is an invalid request, and the only code that shares its number.
    shared = [e["code"] for e in contract().errors.values()]
    assert sorted(n for n in set(shared) if shared.count(n) > 1) == [-32600]


@pytest.mark.parametrize("method", sorted(contract().methods))
def test_every_method_has_an_example_that_fits(method: str) -> None:
    example = json.loads((EXAMPLES / f"{method.replace('/', '.')}.json").read_text())
    assert example["method"] == method
    contract().check_params(method, example["params"])
    if method in contract().requests:
        contract().check_result(method, example["result"])
    else:
        assert "result" not in example
    for notification in example.get("notifications", []):
        contract().check_notification(notification["method"], notification["params"])


def test_there_are_no_other_examples() -> None:
    names = {p.name for p in EXAMPLES.iterdir()}
    assert names == {f"{m.replace('/', '.')}.json" for m in contract().methods}


def test_the_protocol_page_names_everything() -> None:
    page = (ROOT / "docs" / "protocol.md").read_text()
    names = [*contract().methods, *contract().notifications, *contract().numbers]
    missing = [n for n in names if not re.search(rf"(?<![\w/]){re.escape(n)}(?![\w/])", page)]
    assert not missing


def test_the_python_client_calls_every_method() -> None:
    package = ROOT / "clients" / "python" / "ferry"
    source = "\n".join(p.read_text() for p in sorted(package.glob("*.py")))
    missing = [m for m in contract().methods if f'"{m}"' not in source and f"'{m}'" not in source]
    assert not missing


def test_the_node_client_calls_every_method() -> None:
    package = ROOT / "clients" / "node" / "lib"
    source = "\n".join(p.read_text() for p in sorted(package.glob("*.js")))
    assert not [m for m in contract().methods if f'"{m}"' not in source]


def test_the_declarations_of_the_node_client_name_everything() -> None:
    declared = (ROOT / "clients" / "node" / "types" / "protocol.d.ts").read_text()
    named = [*contract().requests, *contract().notifications, *contract().numbers]
    members = [p["name"] for m in contract().methods for p in contract().params(m)]
    assert not [n for n in [*named, *members] if not re.search(rf"\b{re.escape(n)}\b", declared)]


def fenced(path: Path, language: str) -> list[tuple[int, str]]:
    """The fenced blocks of a language, with the line each begins at."""
    text = path.read_text()
    blocks = re.finditer(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [(text.count("\n", 0, b.start()) + 1, b[1]) for b in blocks]


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.name))
def test_json_in_the_documentation_fits_the_schema(page: Path) -> None:
    for line, block in fenced(page, "json"):
        where = f"{page.name}:{line}"
        for text in [block] if is_json(block) else block.strip().splitlines():
            check_message(json.loads(text), where)


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def check_message(message: Any, where: str) -> None:
    """A request or notification by its method, an error by itself; others are only JSON."""
    if not isinstance(message, dict):
        return
    if "method" in message:
        name = message["method"]
        if name in contract().notifications:
            contract().check_notification(name, message["params"])
        else:
            assert name in contract().methods, f"{where}: {name} is no method"
            contract().check_params(name, message.get("params", {}))
    if "error" in message:
        contract().check_error(message["error"])
