"""schema/openrpc.json as something to check messages against."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import jsonschema

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "schema" / "openrpc.json"

# Failures of the envelope carry no data: there is no transfer or parameter to speak of.
BARE_CODES = {-32700, -32600, -32601, -32603}


class Contract:
    """Methods, notifications and errors by name, each with a validator."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.methods = {m["name"]: m for m in document["methods"]}
        self.requests = {n for n, m in self.methods.items() if "result" in m}
        self.notifications = {n["name"]: n["params"] for n in document["x-notifications"]}
        tests = document["x-test-methods"]
        self.test_methods = {m["name"]: m for m in tests}
        self.test_notifications = {
            n["name"]: n["params"] for m in tests for n in m.get("x-notifications", [])
        }
        self.errors: dict[str, dict[str, Any]] = document["components"]["errors"]
        self.numbers = {k: e["code"] for k, e in self.errors.items() if k.startswith("ERR_")}
        self._validators: dict[str, jsonschema.Draft7Validator] = {}
        self._passed: set[tuple[str, str]] = set()  # thousands of equal replies are checked once

    def params(self, method: str) -> list[dict[str, Any]]:
        """The method's content descriptors, references followed."""
        return [self.follow(p) for p in self.methods[method]["params"]]

    def follow(self, value: dict[str, Any]) -> dict[str, Any]:
        if "$ref" not in value:
            return value
        node: Any = self.document
        for key in value["$ref"].removeprefix("#/").split("/"):
            node = node[key]
        return dict(node)

    def params_schema(self, method: str) -> dict[str, Any]:
        descriptors = self.params(method)
        return {
            "type": "object",
            "properties": {p["name"]: p["schema"] for p in descriptors},
            "required": [p["name"] for p in descriptors if p.get("required")],
            "additionalProperties": False,
        }

    def check_params(self, method: str, params: Any) -> None:
        self._check(f"params {method}", self.params_schema(method), params)

    def check_result(self, method: str, result: Any) -> None:
        described = self.methods.get(method) or self.test_methods[method]
        self._check(f"result {method}", described["result"]["schema"], result)

    def check_notification(self, name: str, params: Any) -> None:
        schema = self.notifications.get(name) or self.test_notifications.get(name)
        assert schema, f"{name} is not in x-notifications"
        self._check(f"notification {name}", schema, params)

    def check_error(self, error: Any) -> None:
        schema = self.document["components"]["schemas"]["Error"]
        self._check("error", schema, error)
        data = error.get("data")
        if data is None:
            assert error["code"] in BARE_CODES, f"this error needs data: {error}"
        else:
            number = self.numbers.get(data["code"])
            assert error["code"] == number, f"data.code belongs to {number}: {error}"
        assert error["message"].strip(), f"an error without a message: {error}"

    def _check(self, name: str, schema: dict[str, Any], value: Any) -> None:
        text = json.dumps(value)
        if (name, text) in self._passed:
            return
        validator = self._validators.get(name)
        if validator is None:
            whole = {**schema, "components": self.document["components"]}
            validator = self._validators[name] = jsonschema.Draft7Validator(whole)
        problems = [f"at {e.json_path}: {e.message}" for e in validator.iter_errors(value)]
        assert not problems, f"{name} does not fit the schema: {problems[:3]}\n{text[:2000]}"
        self._passed.add((name, text))


@functools.lru_cache(maxsize=1)
def contract() -> Contract:
    return Contract(json.loads(SCHEMA.read_text()))
