"""The package and schema/openrpc.json say the same."""

from __future__ import annotations

import dataclasses
import inspect
import json

import pytest
from contract import contract
from places import CHECKOUT

import ferry
from ferry import results
from ferry.events import EVENTS
from ferry.wire import decode, wire_name

DOCUMENT = json.loads((CHECKOUT / "schema" / "openrpc.json").read_text())
EXAMPLES = CHECKOUT / "schema" / "examples"

CALLS = {
    "file/send": (ferry.Ferry.send, results.SentFile),
    "file/publish": (ferry.Ferry.publish, results.Published),
    "file/list": (ferry.Ferry.files, results.FilePage),
    "file/url": (ferry.Ferry.file_url, results.ObjectURL),
    "file/download": (ferry.Ferry.download, results.Download),
    "file/delete": (ferry.Ferry.delete_file, None),
    "object/put": (ferry.Ferry.put, results.StoredObject),
    "object/get": (ferry.Ferry.get, results.Download),
    "object/metadata": (ferry.Ferry.metadata, None),
    "object/update": (ferry.Ferry.update, None),
    "object/url": (ferry.Ferry.url, results.ObjectURL),
    "object/list": (ferry.Ferry.list, results.ObjectPage),
    "object/delete": (ferry.Ferry.delete, None),
    "object/resolve": (ferry.Ferry.resolve, results.Reference),
    "transfer/get": (ferry.Ferry.transfer_get, results.Snapshot),
    "transfer/list": (ferry.Ferry.transfers, results.TransferPage),
    "transfer/cancel": (ferry.Ferry.transfer_cancel, None),
    "transfer/forget": (ferry.Ferry.transfer_forget, None),
    "transfer/pause": (ferry.Ferry.transfer_pause, None),
    "transfer/resume": (ferry.Ferry.transfer_resume, None),
    "transfer/retry": (ferry.Ferry.transfer_retry, None),
    "batch/create": (ferry.Ferry.batch, None),
    "batch/configure": (ferry.Batch.configure, None),
    "batch/remove": (ferry.Batch.remove, None),
    "batch/retry": (ferry.Batch.retry, None),
    "batch/clear": (ferry.Batch.clear, None),
    "batch/get": (ferry.Batch.get, ferry.BatchPage),
    "batch/attachments": (ferry.Batch.attachments, ferry.AttachmentPage),
    "batch/send": (ferry.Batch.send, ferry.SentBatch),
    "channel/subscribe": (ferry.Ferry.subscribe, None),
    "channel/history": (ferry.Ferry.history, results.HistoryPage),
    "message/get": (ferry.Ferry.message, results.Message),
    "message/delete": (ferry.Ferry.delete_message, None),
    "limits/get": (ferry.Ferry.limits, results.Limits),
    "limits/set": (ferry.Ferry.set_limits, results.Limits),
    "remote/credentials": (ferry.Ferry.set_credentials, None),
    "shutdown": (ferry.Ferry.shutdown, results.ShutdownSummary),
    "ping": (ferry.Ferry.ping, None),
    "rpc.discover": (ferry.Ferry.discover, None),
    "server/stats": (ferry.Ferry.stats, None),
}

OF_THE_CLIENT = {
    # The connection and the handles send these.
    "initialize", "exit", "$/cancelRequest", "stream/write", "stream/read", "stream/close",
    "channel/unsubscribe",
    # Batch.add, file by file.
    "batch/upload",
}  # fmt: skip

RENAMED = {
    # Sources and targets are values here, `remote` of a transfer follows from its id, and
    # `channels` are positional.
    "path": "source", "data": "source", "text": "source", "stream": "source", "target": "to",
}  # fmt: skip


def test_every_method_has_its_call():
    assert CALLS.keys() | OF_THE_CLIENT == {method["name"] for method in DOCUMENT["methods"]}


@pytest.mark.parametrize("method", sorted(CALLS))
def test_every_parameter_can_be_given(method):
    call = CALLS[method][0]
    given = set(inspect.signature(call).parameters)
    for descriptor in contract().params(method):
        name = descriptor["name"]
        if name == "remote" and method.startswith("transfer/") and method != "transfer/list":
            continue
        if (
            name in ("remote", "batchId")
            and method.startswith("batch/")
            and method != "batch/create"
        ):
            continue
        own = RENAMED.get(name, name) if call is not ferry.Ferry.subscribe else name
        snake = "".join("_" + c.lower() if c.isupper() else c for c in own)
        assert snake in given, f"{call.__name__} has no {snake}"


def fields(kind):
    return {wire_name(field) for field in dataclasses.fields(kind)}


def resolved(schema):
    while "$ref" in schema:
        schema = contract().follow(schema)
    return schema


@pytest.mark.parametrize("method", sorted(m for m in CALLS if CALLS[m][1] is not None))
def test_every_member_of_a_result_is_kept(method):
    schema = resolved(contract().methods[method]["result"]["schema"])
    schema = resolved(schema["anyOf"][0]) if "anyOf" in schema else schema
    assert schema["properties"].keys() <= fields(CALLS[method][1])


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Metadata", results.Metadata),
        ("SentFile", results.SentFile),
        ("ListedFile", results.ListedFile),
        ("Message", results.Message),
        ("Snapshot", results.Snapshot),
        ("BatchFile", ferry.BatchEntry),
        ("Attachment", ferry.Attachment),
        ("BatchMessage", ferry.BatchMessage),
    ],
)
def test_every_member_of_a_shape_is_kept(name, kind):
    assert DOCUMENT["components"]["schemas"][name]["properties"].keys() <= fields(kind)


@pytest.mark.parametrize("notification", DOCUMENT["x-notifications"], ids=lambda n: n["name"])
def test_every_member_of_a_notification_is_kept(notification):
    kinds = {
        **EVENTS,
        "message": results.Message,
        "status": results.Status,
        "complete": ferry.Complete,
    }
    kind = kinds[notification["name"]]
    assert notification["params"]["properties"].keys() - {"seq"} <= fields(kind)


@pytest.mark.parametrize("path", sorted(EXAMPLES.iterdir()), ids=lambda p: p.stem)
def test_every_example_can_be_read(path):
    example = json.loads(path.read_text())
    kind = CALLS.get(example["method"], (None, None))[1]
    if kind is not None:
        decode(kind, example["result"])
    for notification in example.get("notifications", []):
        name, params = notification["method"], notification["params"]
        if name in EVENTS:
            event = decode(EVENTS[name], params)
            assert (event.transfer_id, event.seq) == (params["transferId"], params["seq"])
