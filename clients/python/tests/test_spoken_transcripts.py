"""The transcripts, spoken through the client: the same answers and events come of them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
import transcripts
from places import CHECKOUT

import ferry

UNSPOKEN = json.loads((CHECKOUT / "clients" / "scenarios.json").read_text())["unspokenTranscripts"]
SPOKEN = [p for p in sorted(transcripts.FOLDER.glob("*.txt")) if p.name not in UNSPOKEN]


@pytest.mark.parametrize("path", SPOKEN, ids=lambda p: p.name)
def test_transcript(path, real, tmp_path):
    asyncio.run(Spoken(transcripts.parse(path)).run(real(), str(tmp_path)))


class Spoken:
    """A client asks what the host of a transcript asks; ids and the greeting are its own.

    Left out: a line that no JSON writer writes, with its answer; cancelling what is not open; and
    what follows the end of stdin, since a client ends by `shutdown`.
    """

    def __init__(self, steps: list[transcripts.Step]) -> None:
        self.steps = steps
        self.asked: dict[Any, Any] = {}
        self.left_out: set[Any] = set()
        self.variables: dict[str, Any] = {}
        self.events: asyncio.Queue[Any] = asyncio.Queue()

    async def run(self, options: dict[str, Any], folder: str) -> None:
        self.variables["DIR"] = folder
        greeting = json.loads(self.steps[0].text)
        if greeting["method"] == "initialize":
            options["client_info"] = greeting["params"]["clientInfo"]

        def listen(direction: str, line: bytes) -> None:
            message = json.loads(line)
            if direction == "in" and "method" in message and message["method"] != "progress":
                self.events.put_nowait(message)

        async with ferry.Ferry(**{**options, "trace": listen}) as f:
            group: list[Any] = []
            for step in self.steps:
                if step.kind == "any":
                    group.append(json.loads(step.text))
                    continue
                await self.expect(group)
                group = []
                if step.kind in ("eof", "exit"):
                    await f.close("now")
                    return
                if step.kind == "send":
                    await self.say(f, transcripts.Replay.fill(self, step.text))
                else:
                    await self.expect([json.loads(step.text)])
            await self.expect(group)

    async def say(self, f: ferry.Ferry, text: str) -> None:
        message = json.loads(text)
        method, id = message["method"], message.get("id")
        if method == "$/cancelRequest":
            task = self.asked.get(message.get("params", {}).get("id"))
            if task is not None and not task.done():
                task.cancel()
        elif method == "initialize":
            self.asked[id] = asyncio.ensure_future(asyncio.sleep(0, {}))
        elif json.dumps(message, separators=(",", ":"), ensure_ascii=False) != text:
            self.left_out.add(id)
        elif id is not None:
            task = asyncio.ensure_future(f.request(method, message.get("params")))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
            self.asked[id] = task
            await asyncio.sleep(0)  # until it is written

    async def expect(self, wanted: list[Any]) -> None:
        events = [w for w in wanted if "method" in w]
        for answer in (w for w in wanted if "method" not in w and w["id"] not in self.left_out):
            heard = await self.answer(answer["id"])
            if heard is not None:
                assert transcripts.matches(answer, heard, self.variables), (answer, heard)
        while events:
            heard = await asyncio.wait_for(self.events.get(), 30)
            fitting = [w for w in events if transcripts.matches(w, heard, self.variables)]
            assert fitting, (events, heard)
            events.remove(fitting[0])

    async def answer(self, id: Any) -> Any:
        """The reply to a request as the client gives it; None where the host gave it up."""
        shape = {"jsonrpc": "2.0", "id": id}
        try:
            return {**shape, "result": await self.asked[id]}
        except asyncio.CancelledError:
            return None
        except ferry.FerryError as error:
            data = {"data": error.data} if error.data else {}
            return {**shape, "error": {"code": error.number, "message": error.message, **data}}
