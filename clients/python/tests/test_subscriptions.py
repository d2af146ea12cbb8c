"""Subscriptions of one client beside each other, and over restarts of the consumer."""

from __future__ import annotations

import asyncio

import pytest

import ferry
from ferry import subscription


async def take(messages, count):
    return [(await messages.next(timeout=10)).message for _ in range(count)]


@pytest.fixture
def shared(sidecar):
    """A client with one file on each of two channels, so that there is something to announce."""

    class Shared:
        def __init__(self):
            self.client = ferry.Ferry(**sidecar())

        async def __aenter__(self):
            await self.client.start()
            self.files = {
                channel: await self.client.send(b"x", name="n", channel=channel, store=False)
                for channel in ("a", "b")
            }
            return self

        async def __aexit__(self, *exit):
            await self.client.close()

        async def say(self, channel, *texts):
            file = self.files[channel]
            for text in texts:
                await self.client.publish(channel, file.id, file.name, message=text)

    return Shared


def test_two_subscriptions_get_their_channels_each_message_once(shared):
    async def run():
        async with shared() as s, s.client.subscribe("a") as one:
            await s.say("a", 1)
            assert await take(one, 1) == [1]
            async with s.client.subscribe("a", "b") as two:
                await s.say("b", 2)
                await s.say("a", 3)
                assert await take(two, 2) == [2, 3]
                assert await take(one, 1) == [3]
            # The channel that the first still needs was not given up with the second.
            await s.say("a", 4)
            assert await take(one, 1) == [4]

    asyncio.run(run())


def test_since_brings_what_was_missed_to_the_one_that_asked_and_nothing_twice(shared):
    async def run():
        async with shared() as s:
            async with s.client.subscribe("a") as first:
                await s.say("a", 1, 2)
                assert await take(first, 1) == [1]
                mark = first.timetoken
            await s.say("a", 3)
            async with s.client.subscribe("a") as live:
                async with s.client.subscribe("a", since=mark) as again:
                    assert await take(again, 2) == [2, 3]
                    await s.say("a", 4)
                    assert await take(again, 1) == [4]
                assert await take(live, 1) == [4]

    asyncio.run(run())


def test_a_consumer_too_far_behind_is_told_where_to_go_on(shared, monkeypatch):
    monkeypatch.setattr(subscription, "BACKLOG", 3)

    async def run():
        async with shared() as s:
            async with s.client.subscribe("a") as messages:
                await s.say("a", 1, 2, 3, 4)
                while not messages._ended:  # announced is not yet delivered
                    messages._wake = asyncio.get_running_loop().create_future()
                    await messages._wake
                assert await take(messages, 3) == [1, 2, 3]
                with pytest.raises(ferry.FerryError) as slow:
                    await messages.next()
                assert slow.value.code == "CLIENT_TOO_SLOW"
            async with s.client.subscribe("a", since=messages.timetoken) as messages:
                assert await take(messages, 1) == [4]

    asyncio.run(run())


def test_a_cancelled_consumer_loses_no_message(shared):
    async def run():
        async with shared() as s, s.client.subscribe("a") as messages:
            waiting = asyncio.ensure_future(messages.next())
            await s.client.ping()
            waiting.cancel()
            await asyncio.wait([waiting])
            await s.say("a", 1)
            assert await take(messages, 1) == [1]

    asyncio.run(run())


def test_a_channel_without_a_name_is_refused_and_nothing_is_left(sidecar):
    async def run():
        async with ferry.Ferry(**{**sidecar(), "trace": None}) as f:
            with pytest.raises(ferry.FerryError) as refused:
                async with f.subscribe():
                    pass
            assert refused.value.code == "ERR_INVALID_ARGUMENT"
            assert f._router.subscriptions == []

    asyncio.run(run())


@pytest.mark.parametrize("closed", ["the named one", "the default one"])
def test_the_default_remote_by_its_name_is_the_same_remote(shared, closed):
    async def run():
        async with shared() as s:
            default, named = s.client.subscribe("a"), s.client.subscribe("a", remote="local")
            await default.start()
            await named.start()
            first, other = (named, default) if closed == "the named one" else (default, named)
            await first.close()
            await s.say("a", 1)
            assert await take(other, 1) == [1]

    asyncio.run(run())


def test_messages_of_other_remotes_are_not_those_of_the_default(real, tmp_path):
    options = real()
    remotes = {
        name: {"kind": "local", "root": str(tmp_path / name)} for name in ("local", "elsewhere")
    }
    options["config"] = {**options["config"], "default": "local", "remotes": remotes}

    async def run():
        async with ferry.Ferry(**options) as f, f.subscribe("a") as own:
            async with f.subscribe("a", remote="elsewhere") as theirs:
                await f.send(b"x", name="n", channel="a", message=1, remote="elsewhere")
                assert await take(theirs, 1) == [1]
            await f.send(b"x", name="n", channel="a", message=2)
            assert await take(own, 1) == [2]

    asyncio.run(run())


def test_a_subscription_the_sidecar_ended_fails_with_its_reason(fake, recorder):
    async def run():
        async with ferry.Ferry(**fake("lose-subscriptions-at=ping")) as f:
            heard = []
            messages = f.subscribe("a", on_status=heard.append)
            await messages.start()
            await f.send(b"x", name="n", channel="a", message=1)
            await f.ping()
            assert await take(messages, 1) == [1]
            for _ in range(2):
                with pytest.raises(ferry.FerryError) as lost:
                    await messages.next(timeout=10)
                assert (lost.value.code, lost.value.retryable) == ("ERR_SERVER", True)
            assert [status.state for status in heard] == ["connected", "disconnected"]
            await messages.close()
            async with f.subscribe("a", since=messages.timetoken) as again:
                await f.send(b"x", name="n", channel="a", message=2)
                assert await take(again, 1) == [2]

    asyncio.run(run())
    # What the sidecar ended needs no unsubscribing.
    assert len(recorder.sent("channel/unsubscribe")) == 1


def test_a_loss_that_comes_before_the_reply_counts(fake):
    async def run():
        async with ferry.Ferry(**fake("lose-at-subscribe")) as f, f.subscribe("a") as messages:
            with pytest.raises(ferry.FerryError) as lost:
                await messages.next(timeout=10)
            assert lost.value.code == "ERR_SERVER"

    asyncio.run(run())


def test_a_loss_before_the_remote_was_connected_is_one_of_earlier_subscriptions(fake):
    async def run():
        async with ferry.Ferry(**fake("lose-before-subscribe")) as f, f.subscribe("a") as messages:
            await f.send(b"x", name="n", channel="a", message=1)
            assert await take(messages, 1) == [1]

    asyncio.run(run())


def test_a_process_that_dies_while_it_is_asked_to_subscribe_is_what_the_host_hears(fake):
    async def run():
        async with ferry.Ferry(**fake("die-at=channel/subscribe")) as f:
            with pytest.raises(ferry.ProcessDied):
                await f.subscribe("a").start()

    asyncio.run(run())
