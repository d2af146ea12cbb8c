"""Names and ids are bytes: two spellings of one letter are two names."""

from __future__ import annotations

from typing import Callable

from batch_support import entries, make, upload
from pubnub_support import Chat
from sidecar import Sidecar

COMPOSED, APART = "\u00e9", "e\u0301"
BOTH = (COMPOSED, APART)

Spawn = Callable[..., Sidecar]


def test_transfers(spawn: Spawn) -> None:
    ferry = spawn()
    for id in BOTH:
        ferry.call("object/put", ref=f"by/{len(id)}", text=id, transferId=id)
    listed = [each["transferId"] for each in ferry.call("transfer/list")["transfers"]]
    assert listed == [*BOTH]
    ferry.call("transfer/forget", transferId=COMPOSED)
    assert ferry.call("transfer/get", transferId=APART)["transferId"] == APART
    assert ferry.error("transfer/get", transferId=COMPOSED).code == "ERR_UNKNOWN_ID"


def test_batches_and_their_files(spawn: Spawn) -> None:
    ferry = spawn()
    for batch in BOTH:
        make(ferry, batch, channel=f"of {batch}")
        items = ({"fileId": id, "text": id, "name": id} for id in BOTH)
        upload(ferry, *items, batch=batch)
        assert ferry.event("complete", batchId=batch)["counts"]["successful"] == 2
    assert ferry.error("batch/create", batchId=APART, channel=f"of {COMPOSED}").code == (
        "ERR_DUPLICATE_BATCH"
    )
    chosen = ferry.call("batch/attachments", batchId=APART, fileId=APART)["attachments"]
    assert [entry["fileId"] for entry in chosen] == [APART]
    sent = ferry.call("batch/send", batchId=APART, fileIds=[COMPOSED])["messages"]
    assert [message["fileIds"] for message in sent] == [[COMPOSED]]
    assert len(ferry.call("transfer/list", batchId=APART)["transfers"]) == 2
    ferry.call("batch/remove", batchId=APART, fileId=APART)
    ferry.call("batch/clear", batchId=COMPOSED)
    ferry.finish()
    second = spawn()
    assert [entry["fileId"] for entry in entries(second, APART)] == [COMPOSED]
    assert second.error("batch/get", batchId=COMPOSED).code == "ERR_UNKNOWN_ID"


def test_objects_and_their_metadata(spawn: Spawn) -> None:
    ferry = spawn()
    for name in BOTH:
        ferry.call("object/put", ref=f"{name}/{name}", text=name)
    assert ferry.call("object/list")["prefixes"] == [APART, COMPOSED]
    custom = {name: str(len(name)) for name in BOTH}
    put = ferry.call("object/put", ref="a", text="", metadata={"custom": custom})
    assert put["metadata"]["custom"] == custom
    ferry.call("object/update", ref="a", metadata={"custom": {APART: None}})
    kept = ferry.call("object/metadata", ref="a")["metadata"]["custom"]
    assert kept == {COMPOSED: "1"}


def heard(ferry: Sidecar, remote: str) -> None:
    """Of two channels that are listened to, one is heard after the other was left."""
    ferry.call("channel/subscribe", channels=[*BOTH], remote=remote)
    for channel in BOTH:
        ferry.call("file/send", channel=channel, name=channel, text="x", remote=remote)
        assert ferry.event("message")["channel"] == channel
    ferry.call("channel/unsubscribe", channels=[COMPOSED], remote=remote)
    for channel in BOTH:
        ferry.call("file/send", channel=channel, name=channel, text="x", remote=remote)
    assert ferry.event("message")["channel"] == APART


def test_channels(spawn: Spawn) -> None:
    heard(spawn(), "local")


def test_channels_of_pubnub(chat: Chat) -> None:
    heard(chat(), "chat")
