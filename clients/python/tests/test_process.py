"""The process below: how it is found, what it may write, how it dies, and how it is ended."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest
from places import gone

import ferry
from ferry.framing import LineSplitter, encode


def test_a_missing_program_lists_every_place(monkeypatch, tmp_path):
    monkeypatch.delenv("FERRY_BIN", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    package = tmp_path / "checkout" / "clients" / "python" / "ferry" / "binary.py"
    (tmp_path / "checkout").mkdir()
    (tmp_path / "checkout" / "Package.swift").touch()
    monkeypatch.setattr("ferry.binary.__file__", str(package))
    with pytest.raises(ferry.BinaryNotFound) as missing:
        asyncio.run(ferry.Ferry().start())
    places = "\n".join(missing.value.looked_in)
    for place in ("bin=", "$FERRY_BIN", "ferry/bin/ferry", "checkout/.build/release/ferry", "PATH"):
        assert place in places
        assert place in str(missing.value)


@pytest.mark.parametrize("given", ["bin", "FERRY_BIN", "beside", "checkout", "PATH"])
def test_the_program_is_found_in_each_place(fake, fake_program, monkeypatch, tmp_path, given):
    monkeypatch.delenv("FERRY_BIN", raising=False)
    package = tmp_path / "checkout" / "clients" / "python" / "ferry"
    monkeypatch.setattr("ferry.binary.__file__", str(package / "binary.py"))
    options = fake()
    del options["bin"]
    places = {
        "beside": package / "bin" / "ferry",
        "checkout": tmp_path / "checkout" / ".build" / "release" / "ferry",
        "PATH": tmp_path / "somewhere" / "ferry",
    }
    if given == "bin":
        options["bin"] = str(fake_program)
    elif given == "FERRY_BIN":
        options["env"]["FERRY_BIN"] = str(fake_program)
    else:
        places[given].parent.mkdir(parents=True)
        places[given].symlink_to(fake_program)
        (tmp_path / "checkout").mkdir(exist_ok=True)
        (tmp_path / "checkout" / "Package.swift").touch()
    options["env"]["PATH"] = f"{tmp_path / 'somewhere'}:{os.environ['PATH']}"

    async def run():
        async with ferry.Ferry(**options) as f:
            await f.ping()

    asyncio.run(run())


@pytest.mark.parametrize("words", ["version=2", "answer-version=2"])
def test_another_version_says_which_fit(fake, words):
    with pytest.raises(ferry.VersionMismatch, match="protocol 2, and this package speaks 1") as no:
        asyncio.run(ferry.Ferry(**fake(words, checked=False)).start())
    assert (no.value.offered, no.value.supported) == ([1], [2])


@pytest.mark.parametrize("program", ["/bin/cat", "/bin/echo", "/bin/true", "/etc/passwd"])
def test_a_program_that_is_not_ferry_is_a_clear_error(program):
    with pytest.raises(ferry.FerryError) as wrong:
        asyncio.run(ferry.Ferry(bin=program).start())
    kinds = (ferry.ProtocolError, ferry.ProcessDied, ferry.BinaryNotFound)
    assert isinstance(wrong.value, kinds)


@pytest.mark.parametrize(
    ("words", "code", "killed_by"),
    [("die-at=file/list", 7, None), ("kill-at=file/list", -11, "SIGSEGV")],
)
def test_a_death_fails_everything_that_waits_and_says_how_and_why(fake, words, code, killed_by):
    async def run():
        async with ferry.Ferry(**fake(words)) as f:
            handle = f.send(b"x", name="n", channel="hold")
            iterating = asyncio.ensure_future(collect(handle.events()))
            async with f.subscribe("c") as messages:
                listening = asyncio.ensure_future(collect(messages))
                asked = asyncio.ensure_future(f.files("c").page())
                for waiting in (asked, handle, iterating, listening):
                    with pytest.raises(ferry.ProcessDied) as died:
                        await waiting
                    assert (died.value.returncode, died.value.signal) == (code, killed_by)
            with pytest.raises(ferry.ProcessDied):
                await f.ping()
            with pytest.raises(ferry.ProcessDied):
                f.send(b"x", name="n", channel="c")
            if code == 7:
                assert died.value.stderr_tail[-1] == "the disk is on fire"
                assert len(died.value.stderr_tail) == 20
                assert "the disk is on fire" in str(died.value)
            assert f.pid is None

    asyncio.run(run())


async def collect(iterator):
    return [item async for item in iterator]


def test_death_in_the_middle_of_a_transfer_is_told_to_its_handle(fake):
    async def run():
        async with ferry.Ferry(**fake()) as f:
            handle = f.send(b"x", name="n", channel="die")
            with pytest.raises(ferry.ProcessDied, match="the disk is on fire"):
                await handle

    asyncio.run(run())


def test_the_sidecar_is_out_of_reach_of_the_terminals_signals(fake):
    async def run():
        async with ferry.Ferry(**fake()) as f:
            assert os.getpgid(f.pid) == os.getsid(f.pid) == f.pid

    asyncio.run(run())


def test_stderr_is_handed_on_line_by_line(fake):
    lines = []

    async def run():
        async with ferry.Ferry(**fake(), on_stderr=lines.append) as f:
            await f.ping()

    asyncio.run(run())
    assert lines == ["fake: hello"]


def test_a_line_of_a_mebibyte_is_one_reply(fake):
    async def run():
        async with ferry.Ferry(**fake("line-at=ping bytes=1000000", checked=False)) as f:
            reply = await f.request("ping")
            assert reply == {"text": "x\u2028y" * 125_000}

    asyncio.run(run())


@pytest.mark.parametrize(
    ("words", "reason"),
    [("line-at=ping bytes=24000000", "more than 16777216 bytes"), ("garbage-at=ping", "not JSON")],
)
def test_a_broken_stream_ends_the_process_with_the_reason(fake, words, reason):
    async def run():
        async with ferry.Ferry(**fake(words, checked=False)) as f:
            pid = f.pid
            with pytest.raises(ferry.ProtocolError, match=reason):
                await f.ping()
            with pytest.raises(ferry.ProtocolError, match=reason):
                await f.ping()
        assert gone(pid)

    asyncio.run(run())


DEEP = [[]]
for _ in range(200):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("x" * (16 << 20), "ERR_LINE_TOO_LONG"),
        (float("nan"), "ERR_INVALID_ARGUMENT"),
        ("\udce4", "ERR_INVALID_ARGUMENT"),
        (DEEP, "ERR_INVALID_ARGUMENT"),
        (object(), "ERR_INVALID_ARGUMENT"),
    ],
    ids=["17 MiB", "NaN", "a lone surrogate", "too deep", "not JSON"],
)
def test_what_the_sidecar_could_not_answer_is_refused_before_it_is_sent(fake, message, code):
    async def run():
        async with ferry.Ferry(**fake()) as f:
            with pytest.raises(ferry.FerryError) as refused:
                f.send(b"x", name="n", channel="c", message=message)
            assert refused.value.code == code
            assert (await f.send(b"x", name="n", channel="c", message="\u2028 ok")).size == 1
            assert f._router._active == {}

    asyncio.run(run())


@pytest.mark.parametrize("cut", [1, 2, 3, 7, 1000])
def test_bytes_are_split_on_lf_only_however_they_arrive(cut):
    lines = [
        encode({"t": "a\u2028b\u2029c\u0085d\x0be"}),
        b'{"x":1}\r\n',
        b"\n",
        b" \n",
        b'{"y":"\xf0',
    ]
    data = b"".join(lines)
    splitter = LineSplitter()
    got = [
        line
        for start in range(0, len(data), cut)
        for line in splitter.feed(data[start : start + cut])
    ]
    assert got == [lines[0][:-1], b'{"x":1}']
    assert splitter.rest() == lines[-1]


def test_a_request_that_is_not_answered_in_time_is_cancelled(fake, recorder):
    async def run():
        async with ferry.Ferry(**fake("mute-at=server/stats")) as f:
            with pytest.raises(ferry.RequestTimeout, match="server/stats"):
                await f.request("server/stats", timeout=0.05)
            await f.ping()
            assert f._calls == {}

    asyncio.run(run())
    assert len(recorder.sent("$/cancelRequest")) == 1


def test_two_loops_have_a_sidecar_each_and_do_not_mix(fake):
    results = []

    async def use(barrier):
        async with ferry.Ferry(**fake()) as f:
            barrier.wait(10)
            results.append((await f.send(b"x" * 1000, name="n", channel="c")).size)
            return f

    def work(barrier):
        results.append(asyncio.run(use(barrier)))

    barrier = threading.Barrier(2)
    threads = [threading.Thread(target=work, args=(barrier,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results.count(1000) == 2

    async def elsewhere():
        f = await ferry.Ferry(**fake()).start()
        other = asyncio.new_event_loop()
        failed = await asyncio.get_running_loop().run_in_executor(
            None, lambda: catch(other, f.ping())
        )
        other.close()
        await f.close()
        return failed

    assert "another event loop" in str(asyncio.run(elsewhere()))


def catch(loop, work):
    try:
        loop.run_until_complete(work)
    except RuntimeError as error:
        return error
    return None
