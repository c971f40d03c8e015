/**
 * What is refused of the log and of tracing, and what is taken.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { LOAD_NAMES } from "../cli/load_names.ts";
import { parseConfig } from "./parse.ts";

function parse(document: unknown) {
  return parseConfig(document, { names: LOAD_NAMES });
}

test("parseConfig() refuses what is no setting of the log", () => {
  const table: [document: unknown, wanted: string][] = [
    [
      { log: { level: "warning" } },
      "must be a level: known are debug, info, warn",
    ],
    [{ log: { level: 3 } }, "must be a level: known are debug, info, warn"],
    [{ log: { format: "JSON" } }, 'must be a format: did you mean "json"?'],
    [{ log: { access: "errors" } }, "must be a choice: known are all, fail"],
    [{ log: { access: false } }, "must be a choice: known are all, failures"],
    [{ log: { sample: -0.1 } }, "must be a number from 0 to 1"],
    [{ log: { sample: 1.1 } }, "must be a number from 0 to 1"],
    [{ log: { file: "/x" } }, "is not a known key: known are level, format"],
    [{ tracing: { endpoint: "x" } }, "must be http://HOST:PORT, https://"],
    [
      { tracing: { endpoint: "http://a:b@h" } },
      "must not carry credentials",
    ],
    [{ tracing: { endpoint: "http://h:1-2" } }, "must be one URL, or none"],
    [{ tracing: { sample: 2 } }, "must be a number from 0 to 1"],
  ];
  for (const [document, wanted] of table) {
    const result = parse(document);
    const text = result.kind === "refused" ? result.complaints[0]?.wanted : "";
    assertEquals(text?.slice(0, wanted.length), wanted);
  }
});

test("parseConfig() takes the settings of the log and of tracing", () => {
  const result = parse({
    log: { level: "debug", format: "json", access: "failures", sample: 0 },
    tracing: { endpoint: "https://h:4318/base/", sample: 0.5 },
  });
  const config = result.kind === "accepted" ? result.config : undefined;
  assertEquals(config?.log, {
    level: "debug",
    format: "json",
    access: "failures",
    sample: 0,
  });
  assertEquals(config?.tracing, {
    endpoint: "https://h:4318/base",
    sample: 0.5,
  });
});
