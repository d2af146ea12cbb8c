/** Bytes and lines. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { LineSplitter, encode } from "../lib/lines.js";

for (const cut of [1, 2, 3, 7, 1000]) {
  test(`bytes that come ${cut} at a time are split on LF only`, () => {
    const lines = [
      encode({ t: "a\u2028b\u2029c\u0085d\u000be", u: "ä€😀" }),
      '{"x":1}\r\n',
      "\n",
      " \n",
      '{"y":"',
    ];
    const bytes = Buffer.from(lines.join(""));
    const splitter = new LineSplitter();
    const got = [];
    for (let start = 0; start < bytes.length; start += cut) {
      got.push(...splitter.feed(bytes.subarray(start, start + cut)));
    }
    assert.deepEqual(got.map(String), [lines[0].slice(0, -1), '{"x":1}']);
    assert.equal(String(splitter.rest()), lines[4]);
    assert.equal(splitter.rest().length, 0);
  });
}

test("a line may be as long as the limit and no longer, in one piece or many", () => {
  const splitter = new LineSplitter(10);
  assert.equal(splitter.feed(Buffer.from("0123456789\nx"))[0].length, 10);
  assert.throws(() => splitter.feed(Buffer.from("0123456789")), /more than 10 bytes/);
  assert.throws(() => splitter.feed(Buffer.from("0123456789x\n")), /more than 10 bytes/);
  assert.deepEqual(splitter.feed(Buffer.from("ok\n")).map(String), ["ok"]);
});

for (const [what, value] of Object.entries({
  NaN,
  Infinity,
  "half a surrogate pair": "\udce4",
  "half a pair in a name": { "\ud800": 1 },
  "a function": () => {},
  "a symbol": Symbol("x"),
  "a bigint": 10n,
})) {
  test(`${what} is refused rather than changed`, () => {
    assert.throws(() => encode({ a: [value] }), { code: "ERR_INVALID_ARGUMENT" });
  });
}

test("what has toJSON is written as that", () => {
  assert.equal(encode({ at: new Date(0), none: undefined }), '{"at":"1970-01-01T00:00:00.000Z"}\n');
});
