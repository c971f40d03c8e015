/**
 * Tests of the keys under `health`.
 *
 * Invariant: whatever is wrong, no complaint shows the value of a header.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import fc from "fast-check";
import { accepted, NAMES, refused } from "../../tests/config_reading.ts";
import { test } from "../../tests/leakproof.ts";
import { parseConfig } from "./parse.ts";
import { configRows } from "./reference.ts";

const URL = "http://h:1";

test("parseConfig() refuses health settings that mean nothing", () => {
  const table: [health: unknown, piece: string][] = [
    [1, `"health" as it must be a mapping of keys`],
    [{ pth: "/a" }, `"health.pth" as it is not a known key: did you mean "pa`],
    [{ path: "health" }, `"health.path" as it must be auto or a path`],
    [{ path: "/a b" }, `must be auto or a path`],
    [{ path: "/a#b" }, `must be auto or a path`],
    [{ path: "/a\r\nb: c" }, `must be auto or a path`],
    [{ path: 7 }, `must be auto or a path`],
    [{ interval: 5 }, `"health.interval" as it must be a duration`],
    [{ interval: "none" }, `must be a duration`],
    [{ timeout: "0s" }, `must be over 0`],
    [{ healthy_threshold: 0 }, `from 1 to 1000: current value is 0`],
    [{ unhealthy_threshold: 1001 }, `from 1 to 1000: current value is 1001`],
    [{ failures: 0 }, `"health.failures" as it must be a whole number from 1`],
    [{ backoff: "1m", backoff_max: "1s" }, `"health.backoff_max" as it must n`],
    [{ headers: "x" }, `"health.headers" as it must be a mapping of name`],
    [{ headers: ["x"] }, `must be a mapping of name`],
    [{ headers: { "a b": "x" } }, `must have a header name`],
    [{ headers: { host: "x" } }, `"health.headers.host" as it is written by`],
    [{ headers: { "Content-Length": "1" } }, `is written by the probe`],
    [{ headers: { a: 1 } }, `"health.headers.a" as it must be a text`],
    [{ headers: { a: "" } }, `must be a text of visible ASCII`],
    [{ headers: { a: " x" } }, `must be a text of visible ASCII`],
    [{ headers: { a: "x\r\nb: y" } }, `must be a text of visible ASCII`],
    [
      { headers: Object.fromEntries(Array.from("abcdefghijklmnopq", pairOf)) },
      `"health.headers" as it must name at most 16`,
    ],
  ];
  for (const [health, piece] of table) {
    const lines = refused({ health });
    assertEquals(lines.length, 1, lines.join("\n"));
    assert(lines[0]?.includes(piece), `${lines[0]} has no ${piece}`);
  }
});

function pairOf(name: string): [string, string] {
  return [name, "x"];
}

test("parseConfig() refuses an endpoint's back-off over its maximum, inherited or not", () => {
  const endpoint = (health: unknown) => ({
    endpoints: [{ id: "a", url: URL, health }, { id: "b", url: "http://h:2" }],
  });
  const table: [document: unknown, lines: RegExp[]][] = [
    [endpoint({ backoff_max: "500ms" }), [
      /^Cannot use "endpoints\[a\]\.health\.backoff_max" as .*which is 1s/,
    ]],
    [endpoint({ backoff: "2m" }), [/"endpoints\[a\].*which is 2m/]],
    [
      { ...endpoint({ interval: "1s" }), health: { backoff: "2m" } },
      [/"health.backoff_max".*which is 2m/],
    ],
  ];
  for (const [document, patterns] of table) {
    const lines = refused(document);
    assertEquals(lines.length, patterns.length, lines.join("\n"));
    patterns.forEach((pattern, at) => assertMatch(lines[at] ?? "", pattern));
  }
  accepted(endpoint({ backoff: "2m", backoff_max: "2m" }));
});

test("parseConfig() names the place of an endpoint's health", () => {
  const table: [health: unknown, piece: string][] = [
    [null, `"endpoints[1].health" as it must be a mapping of keys as in`],
    [[], `"endpoints[1].health" as it must be a mapping`],
    [{ intervall: "1s" }, `"endpoints[1].health.intervall" as it is not a kn`],
    [{ interval: 1 }, `"endpoints[1].health.interval" as it must be a durat`],
    [{ headers: { a: 1 } }, `"endpoints[1].health.headers.a" as it must be`],
  ];
  for (const [health, piece] of table) {
    const lines = refused({
      endpoints: [URL, { url: "http://h:2-4", health }],
    });
    assertEquals(lines.length, 1, lines.join("\n"));
    assert(lines[0]?.includes(piece), `${lines[0]} has no ${piece}`);
  }
});

test("an endpoint's health overrides single keys", () => {
  const { endpoints, health } = accepted({
    health: { interval: "1s", failures: 9, headers: { "X-A": "all" } },
    endpoints: [
      URL,
      { url: "http://h:2", health: { failures: 1, path: "/live?x=1" } },
      { url: "http://h:3", health: { headers: {} } },
      { url: "http://h:4", health: { headers: { Authorization: "Bearer x" } } },
    ],
  });
  assertEquals(health.headers, [["x-a", "all"]]);
  const [one, two, three, four] = endpoints.map(({ health }) => health);
  assertEquals(one, health);
  assertEquals(two, { ...health, failures: 1, path: "/live?x=1" });
  assertEquals(three, { ...health, headers: [] });
  assertEquals(four?.headers, [["authorization", "Bearer x"]]);
});

test("no complaint shows the value of a header (G12 Olla)", () => {
  const secret = "Bearer 7b1e-secret";
  const wrong: unknown[] = [
    { headers: secret },
    { headers: [secret] },
    { headers: { host: secret } },
    { headers: { a: `${secret}\n` } },
    { headers: { [`a b`]: secret } },
    { headers: { a: { b: secret } } },
  ];
  for (const health of [...wrong, { header: secret }]) {
    assertNotMatch(
      refused({ endpoints: [{ url: URL, health }] }).join(),
      /secret/,
    );
  }
  for (const health of wrong) {
    assertNotMatch(refused({ health }).join(), /secret/);
  }
});

test("whatever is given is accepted whole or told with its place", () => {
  fc.assert(
    fc.property(
      fc.dictionary(
        fc.constantFrom("path", "interval", "failures", "headers", "x"),
        fc.jsonValue({ maxDepth: 2 }),
      ),
      (health) => {
        const result = parseConfig(
          { endpoints: [{ url: URL, health }] },
          { names: NAMES },
        );
        if (result.kind === "accepted") return;
        for (const { origin } of result.complaints) {
          assert(origin.startsWith("endpoints[0].health"), origin);
        }
      },
    ),
  );
});

test("configRows() shows every key of health once, and that endpoints have them", () => {
  const keys = configRows().map(({ key }) => key);
  const health = keys.filter((key) => key.startsWith("health."));
  assertEquals(health.length, 9);
  assertEquals(new Set(keys).size, keys.length);
  assert(keys.includes("endpoints[].health"));
  const headers = configRows().find(({ key }) => key === "health.headers");
  assertEquals(headers?.initial, "{}");
});
