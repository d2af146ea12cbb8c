/** Subscriptions, history and messages. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { FerryError } from "ferry-sidecar";
import { Recorder, SIDECARS, collect, fakeOptions, start } from "./support.js";

const send = (f, channel, message) =>
  f.send(Buffer.from("x"), { channel, name: "n.txt", message });

async function take(messages, count) {
  const taken = [];
  while (taken.length < count) taken.push((await messages.next()).value);
  return taken;
}

for (const [kind, options] of Object.entries(SIDECARS)) {
  test(`a file is announced, found, published again and deleted (${kind})`, async (t) => {
    const f = await start(t, options(t));
    const messages = await f.subscribe("trip");
    const sent = await send(f, "trip", { text: "a\u2028b" });
    const [message] = await take(messages, 1);
    assert.equal(message.file.id, sent.id);
    assert.deepEqual(message.message, { text: "a\u2028b" });
    assert.equal(message.timetoken, sent.timetoken);
    assert.equal(messages.timetoken, sent.timetoken);
    await messages.close();
    assert.deepEqual(await messages.next(), { done: true, value: undefined });

    const again = await f.publish(sent, { message: "again" });
    const history = await f.history("trip");
    assert.deepEqual(
      history.messages.map((each) => each.timetoken),
      [sent.timetoken, again.timetoken],
    );
    const { items } = await collect(f.history("trip", { limit: 1 }));
    assert.deepEqual(items.map((each) => each.timetoken), [again.timetoken, sent.timetoken]);
    const id = `trip:${again.timetoken}`;
    assert.equal((await f.message(id)).message, "again");
    await f.deleteMessage(id);
    await assert.rejects(f.message(id), { code: "ERR_NOT_FOUND" });
    assert.match(await f.fileUrl(sent), /^file:\/\/\//);
    const { items: files } = await collect(f.files("trip", { limit: 1 }));
    assert.deepEqual(files.map((file) => file.id), [sent.id]);
    const got = await f.download({ ...files[0], channel: "trip" }, { inline: true });
    assert.equal(got.data.toString(), "x");
    await f.deleteFile(sent);
    assert.equal((await f.files("trip")).count, 0);
  });

  test(`since brings what was missed, once and in order (${kind})`, async (t) => {
    const f = await start(t, options(t));
    const first = await send(f, "c", 0);
    await send(f, "c", 1);
    const all = await f.subscribe("c", { since: first.timetoken });
    assert.deepEqual((await take(all, 1)).map((m) => m.message), [1]);
    const live = await f.subscribe(["c", "d"]);
    const again = await f.subscribe("c", { since: first.timetoken });
    await send(f, "c", 2);
    assert.deepEqual((await take(again, 2)).map((m) => m.message), [1, 2]);
    assert.deepEqual((await take(all, 1)).map((m) => m.message), [2]);
    assert.deepEqual((await take(live, 1)).map((m) => m.message), [2]);
    // Another one still needs the channel, so closing one must not silence it.
    await again.close();
    await all.close();
    await send(f, "c", 3);
    assert.deepEqual((await take(live, 1)).map((m) => m.message), [3]);
  });
}

test("leaving the loop unsubscribes from what nobody else needs", async (t) => {
  const recorder = new Recorder();
  const f = await start(t, fakeOptions(t, "", recorder));
  const other = await f.subscribe("a");
  const statuses = [];
  const messages = await f.subscribe(["a", "b"], { onStatus: ({ state }) => statuses.push(state) });
  await send(f, "b", 1);
  for await (const message of messages) {
    assert.equal(message.message, 1);
    break;
  }
  await other.close();
  await other.close();
  assert.deepEqual(recorder.of("channel/unsubscribe"), [{ channels: ["b"] }, { channels: ["a"] }]);
  assert.deepEqual(statuses, []);
});

test("a consumer that falls behind is told so, after what it has", async (t) => {
  const f = await start(t, fakeOptions(t));
  const messages = await f.subscribe("c");
  const sent = await send(f, "c", 0);
  for (let n = 0; n < 10_000; n += 1000) {
    await Promise.all(Array.from({ length: 1000 }, () => f.publish(sent, { message: n })));
  }
  const { items, error } = await collect(messages);
  assert.equal(items.length, 10_000);
  assert.deepEqual([error.code, error.retryable], ["CLIENT_TOO_SLOW", true]);
});

for (const [words, ended] of [
  ["lose-at-subscribe", true],
  ["lose-before-subscribe", false],
  ["lose-subscriptions-at=ping", true],
]) {
  test(`a subscription the sidecar lost: ${words}`, async (t) => {
    const f = await start(t, fakeOptions(t, words));
    const statuses = [];
    const messages = await f.subscribe("c", { onStatus: ({ state }) => statuses.push(state) });
    await f.ping();
    if (!ended) {
      await send(f, "c", 1);
      assert.deepEqual((await take(messages, 1)).map((m) => m.message), [1]);
      return;
    }
    const { items, error } = await collect(messages);
    assert.deepEqual(items, []);
    assert.ok(error instanceof FerryError);
    assert.deepEqual([error.code, error.retryable], ["ERR_SERVER", true]);
    assert.equal(statuses.at(-1), "disconnected");
  });
}

test("a subscription that is refused is not left behind", async (t) => {
  const f = await start(t, fakeOptions(t));
  await assert.rejects(f.subscribe([]), FerryError);
  const messages = await f.subscribe("c");
  const waiting = messages.next();
  await messages.close();
  assert.deepEqual(await waiting, { done: true, value: undefined });
});
