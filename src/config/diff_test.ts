/**
 * Differences between configurations: every key is told by its own path, and
 * no secret is told.
 *
 * @module
 */
import { assert, assertEquals, assertNotMatch } from "@std/assert";
import { accepted } from "../../tests/config_reading.ts";
import { test } from "../../tests/leakproof.ts";
import type { Config } from "./config.ts";
import { diffConfigs, keepFixed } from "./diff.ts";
import { configRows } from "./reference.ts";

function lines(from: unknown, to: unknown): string[] {
  return diffConfigs(accepted(from), accepted(to)).map((change) =>
    `${change.path}: ${change.from} -> ${change.to}` +
    (change.needsRestart ? " (restart)" : "")
  );
}

test("diffConfigs() tells values as one writes them", () => {
  const table: [from: unknown, to: unknown, wanted: string[]][] = [
    [{}, {}, []],
    [{}, { timeouts: { connect: "3000ms" } }, []],
    [{}, { listen: "127.0.0.1:1" }, [
      "listen: 0.0.0.0:8080 -> 127.0.0.1:1 (restart)",
    ]],
    [{}, { workers: 3 }, ["workers: auto -> 3 (restart)"]],
    [{}, { session: { capacity: 8 } }, [
      "session.capacity: 262144 -> 8 (restart)",
    ]],
    [{}, { state: { directory: "/a" } }, [
      "state.directory: none -> /a (restart)",
    ]],
    [{}, { admin: { listen: "[::1]:1" } }, [
      "admin.listen: 127.0.0.1:8081 -> ::1:1 (restart)",
    ]],
    [{}, { session: { sniff_window: "2MiB" } }, [
      "session.sniff_window: 1MiB -> 2MiB",
    ]],
    [{}, { timeouts: { first_byte: "90s", idle: "none" } }, [
      "timeouts.first_byte: none -> 90s",
      "timeouts.idle: 5m -> none",
    ]],
    [{}, { routing: { affinity_patience: "0s" } }, [
      "routing.affinity_patience: 15s -> 0s",
    ]],
    [{}, { session: { keys: ["default", "body:a"] } }, [
      "session.keys: [header:x-session-id] -> [header:x-session-id, body:a]",
    ]],
  ];
  for (const [from, to, wanted] of table) {
    assertEquals(lines(from, to), wanted);
  }
});

test("diffConfigs() tells of endpoints by their id, in any order", () => {
  const a = { id: "a", url: "http://h:1" };
  const b = { id: "b", url: "unix:/run/b" };
  assertEquals(lines({ endpoints: [a, b] }, { endpoints: [b, a] }), []);
  assertEquals(
    lines({ endpoints: [a] }, {
      endpoints: [b, { ...a, url: "https://h/v", weight: 2 }],
    }),
    [
      "endpoints[b]: absent -> unix:/run/b",
      "endpoints[a].url: http://h:1 -> https://h/v",
      "endpoints[a].weight: 1 -> 2",
    ],
  );
  assertEquals(lines({ endpoints: [a] }, {}), [
    "endpoints[a]: http://h:1 -> absent",
  ]);
  assertEquals(
    lines({ endpoints: [a] }, {
      endpoints: [{
        ...a,
        max_in_flight: 5,
        on_disconnect: "finish",
        health: { interval: "9s" },
      }],
      health: { timeout: "1s" },
    }),
    [
      "health.timeout: 2s -> 1s",
      "endpoints[a].max_in_flight: auto -> 5",
      "endpoints[a].on_disconnect: abort -> finish",
      "endpoints[a].health.interval: as health -> 9s",
    ],
  );
});

test("diffConfigs() shows no header's value (G12 Olla)", () => {
  const health = (token: string) => ({ headers: { authorization: token } });
  const document = (token: string) => ({
    health: health(token),
    endpoints: [{ url: "http://h:1", health: health(`own ${token}`) }],
  });
  const told = lines(document("s3cret"), document("s3cret2"));
  assertEquals(told.length, 2);
  assertNotMatch(told.join("\n"), /s3cret/);
  assert(told[0]?.includes("[authorization: ***]"), told[0]);
});

test("every key of the reference can be told, by that name", () => {
  const config = accepted({ endpoints: ["http://h:1"] });
  // Each value is replaced by one that no configuration has.
  const replaced = (value: unknown): unknown =>
    typeof value === "object" && value !== null && !Array.isArray(value) &&
      !("hostname" in value)
      ? Object.fromEntries(
        Object.entries(value).map(([name, inner]) => [name, replaced(inner)]),
      )
      : "another";
  const other = { ...replaced(config) as Config, endpoints: config.endpoints };
  const told = diffConfigs(config, other).map(({ path }) => path)
    .filter((path) => !path.startsWith("endpoints"));
  const known = configRows().map(({ key }) => key)
    .filter((key) => !/^(endpoints|tenants\.)/.test(key));
  assertEquals(told.sort(), known.sort());
});

test("keepFixed() takes all but what needs a restart", () => {
  const running = accepted({ endpoints: ["http://h:1"], workers: 2 });
  const wanted = accepted({
    listen: "127.0.0.1:1",
    workers: 3,
    admin: { listen: "127.0.0.1:2" },
    state: { directory: "/a", interval: "1s" },
    session: { capacity: 8, idle_ttl: "1s" },
    endpoints: ["http://h:2"],
  });
  const kept = keepFixed(wanted, running);
  assert(Object.isFrozen(kept.session));
  assertEquals(
    diffConfigs(kept, wanted).every(({ needsRestart }) => needsRestart),
    true,
  );
  assertEquals(
    diffConfigs(running, kept).map(({ path }) => path),
    diffConfigs(running, wanted).filter(({ needsRestart }) => !needsRestart)
      .map(({ path }) => path),
  );
  assertEquals([kept.workers, kept.session.idleTtlMs], [2, 1_000]);
  assertEquals(structuredClone(kept), kept);
});
