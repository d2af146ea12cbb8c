/** The package and schema/openrpc.json say the same. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import * as ferry from "ferry-sidecar";
import { TRANSFER_EVENTS } from "../lib/events.js";
import { Observed } from "../lib/observed.js";
import { readJson } from "./support.js";

const PACKAGE = new URL("..", import.meta.url);
const document = readJson("schema/openrpc.json");
const read = (name) => readFileSync(new URL(name, PACKAGE), "utf8");

test("the declarations are those of the schema", () => {
  const script = fileURLToPath(new URL("scripts/generate-types.mjs", PACKAGE));
  execFileSync(process.execPath, [script, "--check"], { stdio: "pipe" });
});

test("every method of the schema is called", () => {
  const source = readdirSync(new URL("lib", PACKAGE)).map((name) => read(`lib/${name}`)).join("\n");
  const missing = document.methods.filter(({ name }) => !source.includes(`"${name}"`));
  assert.deepEqual(missing.map(({ name }) => name), []);
});

test("every event of a transfer has its name", () => {
  const told = document["x-notifications"].filter(({ params }) => params.properties.transferId);
  const names = told.map(({ name }) => (name === "error" ? "rejected" : name));
  assert.deepEqual([...names].sort(), [...TRANSFER_EVENTS].sort());
});

test("what is declared is exported, and the other way round", () => {
  const declared = [...read("types/index.d.ts").matchAll(/^export (?:class|const) (\w+)/gm)];
  assert.deepEqual(declared.map(([, name]) => name).sort(), Object.keys(ferry).sort());
  const classes = { Observed, ...ferry };
  for (const name of [
    "Observed", "Ferry", "TransferHandle", "DownloadHandle", "Batch", "BatchFile", "Subscription",
    "Pages",
  ]) {
    const members = Object.getOwnPropertyNames(classes[name].prototype).filter((member) => {
      return !["constructor", "then", "catch", "finally"].includes(member);
    });
    const declared = new RegExp(`^(?:export|declare) class ${name}\\b[^]*?^}`, "m");
    const [text] = declared.exec(read("types/index.d.ts"));
    const declaration = (member) => new RegExp(`^  (?:get |static )?${member}[<(?:]`, "m");
    const internal = {
      Observed: ["observe", "succeed", "lose", "again", "ending", "obey"],
      TransferHandle: ["begin", "feed", "drain", "cancelSoon", "take", "look", "fail"],
      Batch: ["start", "take", "end", "flush", "manage"],
      BatchFile: ["take", "again", "heed", "drop"],
      DownloadHandle: ["pour"],
      Subscription: ["start", "take", "end"],
    }[name] ?? [];
    const missing = members.filter((member) => !declaration(member).test(text));
    assert.deepEqual(missing.sort(), internal.sort(), name);
  }
});

test("the package is what its files say", () => {
  const manifest = JSON.parse(read("package.json"));
  assert.equal(manifest.version, ferry.version);
  assert.equal(manifest.dependencies, undefined);
  for (const path of [manifest.types, manifest.exports["."].default, "LICENSE", "README.md"]) {
    assert.ok(read(path).length > 0);
  }
  assert.match(read("../python/pyproject.toml"), new RegExp(`^version = "${ferry.version}"`, "m"));
});
