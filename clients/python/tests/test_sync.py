"""The front without asyncio."""

from __future__ import annotations

import inspect
import os
import signal
import threading
import time

import pytest

import ferry


def test_the_main_job_without_asyncio(sidecar, tmp_path):
    content = os.urandom(1 << 20)
    (tmp_path / "a.bin").write_bytes(content)
    with ferry.SyncFerry(**sidecar()) as f:
        with f.subscribe("trip") as messages:
            handle = f.send("a.bin", channel="trip")
            kinds = [type(event) for event in handle]
            sent = handle.result()
            message = messages.next(timeout=10)
            with pytest.raises(ferry.RequestTimeout):
                messages.next(timeout=0.01)
        assert kinds[0] is ferry.Started
        assert kinds[-1] is ferry.Uploaded
        assert message.file.id == sent.id
        assert [file.id for file in f.files("trip")] == [sent.id]
        assert f.files("trip").page().count == 1
        assert f.download("trip", sent.id, sent.name, inline=True).result().data == content
        assert b"".join(f.download("trip", sent.id, sent.name, stream=True).chunks()) == content
        f.put(iter([content]), "a/b").result()
        assert f.metadata("a/b").size == len(content)
        assert [item.ref for item in f.list("a")] == ["a/b"]
        f.delete_file("trip", sent.id, sent.name)
        pid = f.pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    for closed in (f, ferry.SyncFerry()):
        with pytest.raises(ferry.ConnectionClosed):
            closed.ping()


def test_an_observer_added_late_hears_the_latest(fake):
    heard = threading.Event()
    with ferry.SyncFerry(**fake()) as f:
        handle = f.send(b"x", name="n", channel="c")
        handle.result()
        handle.on("uploaded", lambda event: heard.set())
        assert heard.wait(10)


def test_many_threads_share_one_client(sidecar):
    failures = []

    def work(f, number):
        try:
            for turn in range(5):
                content = f"{number}.{turn}".encode() * 100
                f.put(content, f"t/{number}/{turn}").result()
                assert f.get(f"t/{number}/{turn}", inline=True).result().data == content
        except BaseException as error:
            failures.append(error)

    with ferry.SyncFerry(**sidecar()) as f:
        threads = [threading.Thread(target=work, args=(f, number)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert len(list(f.list("t", recursive=True))) == 40


def test_observers_may_call_back_and_may_be_slow(fake):
    states = []
    started, slow = threading.Event(), threading.Event()
    with ferry.Ferry.sync(**fake()) as f:
        handle = f.send(b"0123456789", name="n", channel="hold")

        def pause(event):
            states.append(handle.pause())
            started.set()
            slow.wait(10)

        handle.on("progress", pause)
        assert started.wait(10)
        f.ping()  # the observer still sits on its thread, and replies come
        slow.set()
        assert handle.resume() == "running"
        assert handle.result(timeout=10).size == 10
    assert states == ["paused", "succeeded"]


def test_an_event_iterator_and_a_subscription_end_from_another_thread(fake):
    ended = threading.Event()
    with ferry.SyncFerry(**fake()) as f:
        subscription = f.subscribe("c")
        subscription.__enter__()

        def listen():
            assert list(subscription) == []
            ended.set()

        thread = threading.Thread(target=listen)
        thread.start()
        subscription.close()
        assert ended.wait(10)
        thread.join()


def test_failures_are_the_same_exceptions(fake):
    with ferry.SyncFerry(**fake()) as f:
        handle = f.send(b"x", name="n", channel="fail-once")
        with pytest.raises(ferry.TransferFailed):
            list(handle)
        assert handle.retry() == "queued"
        assert handle.result().name == "n"
        with pytest.raises(ferry.TransferRejected):
            f.send(b"x", name="n", channel="reject").result()
        with pytest.raises(ferry.RequestTimeout):
            f.send(b"x", name="n", channel="hold").result(timeout=0.01)
        with pytest.raises(ferry.ProcessDied):
            f.send(b"x", name="n", channel="die").result()


def test_an_interrupted_wait_cancels_the_transfer(fake, recorder):
    def interrupt(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with ferry.SyncFerry(**fake()) as f:
            handle = f.send(b"x", name="n", channel="hold")
            next(iter(handle))
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with pytest.raises(KeyboardInterrupt):
                handle.result()
            with pytest.raises(ferry.TransferCancelled):
                handle.result(timeout=10)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert len(recorder.sent("$/cancelRequest")) == 1


def test_a_failed_start_leaves_no_thread(fake):
    before = set(threading.enumerate())
    with pytest.raises(ferry.VersionMismatch):
        ferry.SyncFerry(**fake("version=2", checked=False)).start()
    deadline = time.monotonic() + 10
    for thread in set(threading.enumerate()) - before:
        thread.join(deadline - time.monotonic())
    assert set(threading.enumerate()) <= before


def test_every_method_is_there_under_the_same_name_and_with_the_same_parameters():
    def public(kind):
        return {name for name in dir(kind) if not name.startswith("_")} - {"sync"}

    assert public(ferry.Ferry) == public(ferry.SyncFerry)
    for name in public(ferry.Ferry) - {"pid", "info", "start", "close"}:
        mine, theirs = getattr(ferry.SyncFerry, name), getattr(ferry.Ferry, name)
        assert inspect.signature(mine) == inspect.signature(theirs), name
