/**
 * Tests of the summary of a configuration.
 *
 * Invariant: keys are compared with the field table, so that a new one cannot
 * be forgotten.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { parseConfig } from "../config/parse.ts";
import { parseDurationMs } from "../config/quantity.ts";
import { configRows } from "../config/reference.ts";
import { LOAD_NAMES } from "./load_names.ts";
import { summaryLines } from "./summary.ts";

/** The summary of a configuration, by key. */
function shown(document: unknown): ReadonlyMap<string, string> {
  const result = parseConfig(document, { names: LOAD_NAMES });
  assert(result.kind === "accepted");
  return new Map(
    summaryLines(result.config).map((line) => {
      const [key = "", value = ""] = line.trim().split(/ {2,}/);
      return [key, value];
    }),
  );
}

/** A value with a duration in milliseconds, as `60s` is shown as `1m`. */
function plain(value: string | undefined): string | number | undefined {
  return /^\d+(ms|s|m|h)$/.test(value ?? "") && value !== "0s"
    ? parseDurationMs(value)
    : value;
}

test("summaryLines() shows every key, with its default", () => {
  const values = shown(undefined);
  // A list is shown as its length, a mapping as what is in it.
  const lists = ["endpoints", "session.keys", "health.headers", "tenants"];
  for (const { key, initial } of configRows()) {
    if (/^(endpoints\[\]|tenants\.NAME)\./.test(key)) continue;
    if (lists.includes(key)) assert(values.has(key), key);
    else assertEquals(plain(values.get(key)), plain(initial), key);
  }
});

test("summaryLines() shows what tenants may", () => {
  const tenants = {
    red: { burst: 5, requests_per_second: 2, body: "1MiB", models: ["a", "b"] },
    default: { key_concurrent: 3 },
  };
  const values = shown({ tenants });
  assertEquals(values.get("tenants"), "1");
  const lines = [...values.keys()].filter((key) => /^(red|default) /.test(key));
  assertEquals(lines, [
    "default key_concurrent 3",
    "red requests_per_second 2, burst 5, body 1MiB, models [a, b]," +
    " key_concurrent 3",
  ]);
});

test("summaryLines() shows what was given", () => {
  const values = shown({
    routing: { affinity_patience: "0s" },
    queue: { policy: "las", max: 0, overdue: "none", keepalive: "15s" },
    timeouts: { queue: "90s" },
    engine_metrics: { path: "none" },
    endpoints: [
      { url: "http://h:1", max_in_flight: "auto" },
      { url: "http://h:2", max_in_flight: 7 },
    ],
  });
  const table: [key: string, value: string][] = [
    ["routing.affinity_patience", "0s"],
    ["queue.policy", "las"],
    ["queue.max", "0"],
    ["queue.overdue", "none"],
    ["queue.keepalive", "15s"],
    ["timeouts.queue", "90s"],
    ["engine_metrics.path", "none"],
  ];
  for (const [key, value] of table) assertEquals(values.get(key), value, key);
  const lines = [...values.keys()].filter((key) => key.startsWith("http:"));
  assertEquals(lines, [
    "http://h:1 weight 1, max_in_flight auto",
    "http://h:2 weight 1, max_in_flight 7",
  ]);
});
