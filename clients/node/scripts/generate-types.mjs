#!/usr/bin/env node
/**
 * Writes types/protocol.d.ts from schema/openrpc.json: parameters and result of every method, every
 * notification, every shape they share, and the error codes.
 *
 *   scripts/generate-types.mjs          writes it
 *   scripts/generate-types.mjs --check  says whether it is current
 */

import { readFileSync, writeFileSync } from "node:fs";

const HERE = new URL("..", import.meta.url);
const TARGET = new URL("types/protocol.d.ts", HERE);
const document = JSON.parse(readFileSync(new URL("../../schema/openrpc.json", HERE), "utf8"));
const { schemas, contentDescriptors, errors } = document.components;

/** A TypeScript type for a JSON Schema. */
function type(schema, indent = "") {
  if (schema.$ref) return pointerName(schema.$ref);
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives) return alternatives.map((each) => type(each, indent)).join(" | ");
  if (schema.allOf) {
    const [first, ...others] = schema.allOf.map((part) =>
      part.type || part.$ref ? type(part, indent) : part,
    );
    // A part of `required` alone makes members of the first certain.
    const more = others.map((part) => {
      if (typeof part === "string") return part;
      const names = part.required.map((name) => JSON.stringify(name)).join(" | ");
      return `Required<Pick<${first}, ${names}>>`;
    });
    return [first, ...more].join(" & ");
  }
  if (Array.isArray(schema.type)) {
    return schema.type.map((each) => type({ ...schema, type: each }, indent)).join(" | ");
  }
  switch (schema.type) {
    case "integer":
    case "number":
      return "number";
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "array": {
      const items = type(schema.items ?? {}, indent);
      return items.includes("|") ? `Array<${items}>` : `${items}[]`;
    }
    case "object":
      return object(schema, indent);
    default:
      return "unknown";
  }
}

function object({ properties = {}, required = [], additionalProperties: more }, indent) {
  const names = Object.keys(properties);
  if (names.length === 0) {
    if (more === false) return "Record<string, never>";
    return `Record<string, ${typeof more === "object" ? type(more, indent) : "unknown"}>`;
  }
  return members(
    names.map((name) => ({
      name,
      required: required.includes(name),
      description: properties[name].description,
      schema: properties[name],
    })),
    indent,
  );
}

function members(list, indent = "") {
  const deeper = `${indent}  `;
  const lines = list.map(({ name, required, description, schema }) => {
    const key = /^\w+$/.test(name) ? name : JSON.stringify(name);
    const question = required ? "" : "?";
    return `${comment(description, deeper)}${deeper}${key}${question}: ${type(schema, deeper)};\n`;
  });
  return `{\n${lines.join("")}${indent}}`;
}

function comment(text, indent = "") {
  if (!text) return "";
  const room = 97 - indent.length;
  const lines = [""];
  for (const word of text.replaceAll("*/", "* /").split(" ")) {
    if (lines.at(-1) !== "" && lines.at(-1).length + word.length > room) lines.push("");
    lines[lines.length - 1] += (lines.at(-1) === "" ? "" : " ") + word;
  }
  if (lines.length === 1 && lines[0].length < room - 6) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join("")}${indent} */\n`;
}

function pointerName(pointer) {
  return pointer.slice(pointer.lastIndexOf("/") + 1);
}

/** `file/send` is `FileSend`, `$/cancelRequest` is `CancelRequest`. */
function camel(name) {
  return name.replace(/(?:^|[^A-Za-z]+)([a-z])/g, (_, letter) => letter.toUpperCase());
}

function alias(name, description, definition) {
  const gap = definition.startsWith("\n") ? "" : " ";
  return `${comment(description)}export type ${name} =${gap}${definition};\n`;
}

function contract(name, description, list) {
  return `${comment(description)}export interface ${name} ${members(list)}\n`;
}

function resolved(param) {
  return param.$ref ? contentDescriptors[pointerName(param.$ref)] : param;
}

/** The file's text. */
function generate() {
  const head = "// Written by scripts/generate-types.mjs from schema/openrpc.json. Do not edit.\n";
  const parts = [head];
  for (const [name, schema] of Object.entries(schemas)) {
    parts.push(alias(name, schema.description, type(schema)));
  }
  const methods = [];
  for (const { name, summary, params, result } of document.methods) {
    const base = camel(name);
    const list = params.map(resolved);
    const shape = list.length > 0 ? members(list) : "Record<string, never>";
    parts.push(alias(`${base}Params`, `Of \`${name}\`. ${summary ?? ""}`.trim(), shape));
    if (!result) continue;
    parts.push(alias(`${base}Result`, result.description, type(result.schema)));
    methods.push({ name, base, summary, required: list.some((param) => param.required) });
  }
  const table = methods.map(({ name, base, summary }) => ({
    name,
    required: true,
    description: summary,
    schema: { $ref: `/{ params: ${base}Params; result: ${base}Result }` },
  }));
  parts.push(contract("Methods", "Every method that is answered.", table));
  const told = document["x-notifications"].map(({ name, description, params }) => {
    const base = `${camel(name)}Notification`;
    parts.push(alias(base, description, type(params)));
    return { name, required: true, description, schema: { $ref: `/${base}` } };
  });
  parts.push(contract("Notifications", "Every notification.", told));
  const codes = Object.keys(errors).filter((name) => name.startsWith("ERR_"));
  const union = codes.map((code) => `\n  | "${code}"`).join("");
  parts.push(alias("ErrorCode", "Every `code` of an error.", union));
  return parts.join("\n");
}

const text = generate();
if (!process.argv.includes("--check")) {
  writeFileSync(TARGET, text);
} else if (readFileSync(TARGET, "utf8") !== text) {
  console.error("types/protocol.d.ts is not what the schema says: run scripts/generate-types.mjs");
  process.exitCode = 1;
}
