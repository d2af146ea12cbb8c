"""What every client must do alike: clients/scenarios.json, step by step."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Callable

import pytest
from conftest import FAST, Recorder
from places import CHECKOUT, gone

import ferry

SCENARIOS = json.loads((CHECKOUT / "clients" / "scenarios.json").read_text())["scenarios"]
CASES = [(s, kind) for s in SCENARIOS for kind in s.get("sidecars", ["fake"])]
MEMBERS = {"exitCode": "returncode"}
"""Members of errors that this package calls otherwise."""


@pytest.mark.parametrize(
    ("scenario", "kind"), [pytest.param(s, k, id=f"{s['name']} ({k})") for s, k in CASES]
)
def test_scenario(scenario, kind, request, recorder):
    if "bin" in scenario:
        options = {"bin": scenario["bin"], "close_grace": FAST}
    elif kind == "fake":
        options = request.getfixturevalue("fake")(scenario.get("words", ""), checked=False)
    else:
        options = request.getfixturevalue("real")(close_grace=FAST)
    kept = Recorder() if scenario.get("unchecked") else recorder  # one that nothing checks
    options["trace"] = kept.tracer()
    if scenario.get("impatient"):
        options["close_grace"] = FAST._replace(drain=0.2, now=0.2)
    asyncio.run(Run(scenario, options, kept).play())


class Run:
    """One scenario under way; each verb of a step is a method."""

    def __init__(self, scenario: Any, options: Any, recorder: Recorder) -> None:
        self.scenario = scenario
        self.options = options
        self.recorder = recorder
        self.handles: dict[str, Any] = {}
        self.waiting: dict[str, Any] = {}
        self.streams: dict[str, Any] = {}

    async def play(self):
        self.f = ferry.Ferry(**self.options)
        if "fails" in self.scenario:
            await settles(self.f.start, self.scenario)
            return
        async with self.f:
            for step in self.scenario["steps"]:
                verb = next(iter(step))
                await getattr(self, f"do_{verb}")(step)

    async def do_ask(self, step):
        params = dict(step.get("params", {}))
        if "deep" in step:
            params["value"] = nested(step["deep"])
        if "long" in step:
            params["value"] = "x" * step["long"]
        await settles(lambda: self.f.request(step["ask"], params), step)

    async def do_send(self, step):
        self.keep(step, self.f.send(source(step["send"]), **snake(step["params"])))

    async def do_put(self, step):
        self.keep(step, self.f.put(source(step["put"]), **snake(step["params"])))

    async def do_get(self, step):
        if "chunks" not in step:
            self.keep(step, self.f.get(step["get"], inline=True))
            return
        handle = self.f.get(step["get"], stream=True)
        self.keep(step, handle)
        chunks = [chunk async for chunk in handle.chunks(step["chunks"])]
        assert all(len(chunk) <= step["chunks"] for chunk in chunks)
        assert b"".join(chunks).decode() == step["content"]

    async def do_attach(self, step):
        self.handles[step["as"]] = self.f.attach(step["attach"])

    async def do_batch(self, step):
        self.handles[step["as"]] = await self.f.batch(**snake(step["batch"])).start()

    async def do_add(self, step):
        added = step["add"]
        content = ferry.Text(added) if isinstance(added, str) else added["path"]
        self.handles[step["as"]] = self.handles[step["to"]].add(content, **snake(step["params"]))

    async def do_complete(self, step):
        await settles(self.handles[step["complete"]].complete, step)

    async def do_retryFailed(self, step):
        assert await self.handles[step["retryFailed"]].retry_failed() == step["gives"]

    async def do_announce(self, step):
        batch = self.handles[step["announce"]]
        wanted = {"fails": step["fails"]} if "fails" in step else {}
        sent = await settles(lambda: batch.send(**step.get("params", {})), wanted)
        assert not sent or [list(m.file_ids) for m in sent.messages] == step["gives"]

    async def do_entries(self, step):
        entries = [entry async for entry in self.handles[step["entries"]].entries()]
        assert [[e.file_id, e.state, e.sent] for e in entries] == step["gives"]

    async def do_leave(self, step):
        self.handles[step["leave"]].close()

    async def do_clear(self, step):
        await self.handles[step["clear"]].clear()

    def keep(self, step, handle):
        self.handles[step["as"]] = handle
        if step.get("abortable"):
            self.waiting[step["as"]] = asyncio.ensure_future(handle.result())

    async def do_await(self, step):
        result = await settles(lambda: waiting(self.handles[step["await"]]), step)
        if "content" in step:
            assert result.data.decode() == step["content"]

    async def do_watch(self, step):
        self.streams[step["as"]] = self.handles[step["watch"]].events()

    async def do_told(self, step):
        names = []

        async def iterate():
            async for event in self.streams[step["told"]]:
                names.append(type(event).__name__.lower())

        await settles(iterate, step)
        counted = [name for name in names if name != "progress" or name in step["names"]]
        assert counted == step["names"]

    async def do_until(self, step):
        if isinstance(self.handles[step["of"]], ferry.BatchFile):
            heard = asyncio.get_running_loop().create_future()
            self.handles[step["of"]].on(step["until"], heard.set_result)
            await heard
            return
        async for event in self.handles[step["of"]].events():
            if type(event).__name__.lower() == step["until"]:
                return
        raise AssertionError(f"ended without {step['until']}")

    async def do_do(self, step):
        assert await getattr(self.handles[step["to"]], step["do"])() == step["gives"]

    async def do_abort(self, step):
        task = self.waiting[step["abort"]]
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def do_state(self, step):
        assert self.handles[step["state"]].snapshot.state == step["is"]

    async def do_sent(self, step):
        assert len(self.recorder.sent(step["sent"])) == step["times"]

    async def do_close(self, step):
        process = self.f._process
        await self.f.close(step["close"])
        assert gone(process.pid) == step["gone"]
        assert self.f.pid is None
        died = ferry.ProcessDied(process.returncode, [])
        if "exitCode" in step:
            assert died.returncode == step["exitCode"]
        if "signal" in step:
            assert died.signal == step["signal"]


async def waiting(handle: Any) -> Any:
    return await handle


def source(content: Any) -> Any:
    if isinstance(content, str):
        return content.encode()
    if isinstance(content, list):
        return iter([piece.encode() for piece in content])
    return content["path"]


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


def name(member: str) -> str:
    """The package's name of a member: `transferId` is `transfer_id`."""
    text = "".join("_" + c.lower() if c.isupper() else c for c in member)
    return MEMBERS.get(member, text)


def snake(params: dict[str, Any]) -> dict[str, Any]:
    return {name(member): value for member, value in params.items()}


async def settles(act: Callable[[], Any], step: dict[str, Any]) -> Any:
    if "fails" in step:
        with pytest.raises(ferry.FerryError) as failed:
            await act()
        fits(failed.value, **step["fails"])
        return None
    result = await act()
    part(result, step.get("gives", {}))
    return result


def fits(error: Any, kind: str, says: str = "", lastWords: str = "", **members: Any) -> None:
    assert type(error).__name__ == kind
    assert says in str(error)
    if lastWords:
        assert error.stderr_tail[-1] == lastWords
    part(error, members)


def part(value: Any, wanted: dict[str, Any]) -> None:
    """Whether a result, wire or dataclass, has these members."""
    for member, expected in wanted.items():
        found = value[member] if isinstance(value, dict) else getattr(value, name(member))
        if isinstance(expected, dict):
            part(found, expected)
        else:
            assert found == expected, member
