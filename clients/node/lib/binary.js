/** Finds the ferry program. */

import { accessSync, constants, existsSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { BinaryNotFound } from "./errors.js";
import { toPath } from "./sources.js";

const PACKAGE = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * The program's path: the option, $FERRY_BIN, beside the package, the checkout, $PATH.
 *
 * The first two are decisions: where one is given, nothing else is tried. Throws BinaryNotFound
 * with every place that was looked at.
 */
export function find(explicit, env, folder = PACKAGE) {
  if (explicit !== undefined) return mustRun(toPath(explicit), "bin: ");
  if (env.FERRY_BIN) return mustRun(env.FERRY_BIN, "$FERRY_BIN ");
  const candidates = [join(folder, "bin", "ferry")];
  for (let at = dirname(folder); ; at = dirname(at)) {
    if (existsSync(join(at, "Package.swift"))) candidates.push(join(at, ".build/release/ferry"));
    if (at === dirname(at)) break;
  }
  const path = env.PATH ?? "/usr/local/bin:/usr/bin:/bin";
  const onPath = path.split(delimiter).map((place) => join(place || ".", "ferry"));
  const found = [...candidates, ...onPath].find(runs);
  if (found !== undefined) return resolve(found);
  throw new BinaryNotFound([
    "bin (not given)",
    "$FERRY_BIN (not set)",
    ...candidates,
    `PATH (${path})`,
  ]);
}

function runs(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function mustRun(path, source) {
  const expanded = resolve(path.replace(/^~(?=\/)/, homedir()));
  if (runs(expanded)) return expanded;
  const why = existsSync(expanded) ? "not executable" : "no such file";
  throw new BinaryNotFound([`${source}${expanded} (${why})`]);
}
