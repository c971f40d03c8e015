/**
 * Tests of the configuration as a whole.
 *
 * Invariant: the names in `CONTRACT` never change meaning; people have them in
 * their files.
 *
 * @module
 */
import { assert, assertEquals, assertNotMatch } from "@std/assert";
import fc from "fast-check";
import { test } from "../../tests/leakproof.ts";
import type { HealthSettings } from "../core/endpoints/health_settings.ts";
import type { Config, ConfigNames } from "./config.ts";
import { complaintsText, type Override, parseConfig } from "./parse.ts";
import { FORWARDING_FIELDS } from "./forwarding.ts";
import { configRows } from "./reference.ts";

const NAMES: ConfigNames = {
  parseSource(text) {
    if (!/^(header|body):./.test(text)) throw new TypeError("Unknown kind");
  },
  defaultSources: ["header:x-session-id", "body:session_id"],
  policyNames: ["rendezvous", "power_of_two", "least_in_flight"],
  schedulingNames: ["critical_path", "fcfs", "las"],
};

const CONTRACT = {
  listen: "0.0.0.0:8080",
  workers: "auto",
  admin: { listen: "127.0.0.1:8081" },
  endpoints: [
    { url: "http://127.0.0.1:8000", id: "gpu0", weight: 1, max_in_flight: 64 },
  ],
  session: {
    keys: ["header:x-session-id", "body:session_id"],
    sniff_window: "1MiB",
    capacity: 262144,
    idle_ttl: "30m",
    fallback: "least_in_flight",
  },
  routing: {
    policy: "rendezvous",
    imbalance: 1.25,
    affinity_patience: "15s",
  },
  queue: { policy: "las", max: 1024, overdue: "45s" },
  limits: { body: "256MiB" },
  timeouts: { connect: "3s", first_byte: "none", idle: "5m" },
};

/** Health as it is by default. */
const HEALTH: HealthSettings = {
  path: "auto",
  intervalMs: 5_000,
  timeoutMs: 2_000,
  healthyThreshold: 1,
  unhealthyThreshold: 3,
  failures: 3,
  backoffMs: 1_000,
  backoffMaxMs: 60_000,
  headers: [],
};

function accepted(document: unknown, overrides: readonly Override[] = []) {
  const result = parseConfig(document, { names: NAMES, overrides });
  const text = result.kind === "refused"
    ? complaintsText(result.complaints)
    : "";
  assert(result.kind === "accepted", text);
  return result.config;
}

function refused(document: unknown, overrides: readonly Override[] = []) {
  const result = parseConfig(document, { names: NAMES, overrides });
  assert(result.kind === "refused", "Expected complaints");
  return complaintsText(result.complaints).split("\n");
}

test("parseConfig() complains with path, wish and value", () => {
  const table: [unknown, string][] = [
    [[], `"configuration" as it must be a mapping of keys`],
    ["x", `"configuration" as it must be a mapping of keys`],
    [{ admin: 1 }, `"admin" as it must be a mapping of keys`],
    [{ admin: { "token_file": "" } }, `must be the path of a file, or none`],
    [{ admin: { "metrics_open": "yes" } }, `must be true, false or auto`],
    [{ listen: 8080 }, `"listen" as it must be HOST:PORT`],
    [{ lisen: "h:1" }, `"lisen" as it is not a known key: did you mean "lis`],
    [{ zz: 1 }, `known key: known are listen, workers, tls, cors, forwarding`],
    [{ idle_ttl: "1s" }, `did you mean "session.idle_ttl"?`],
    [{ endpoint: ["http://a:1"] }, `did you mean "endpoints"?`],
    [{ session: { ttl: 1 } }, `"session.ttl" as it is not a known key: known`],
    [{ ["__proto__x"]: 1 }, `"__proto__x" as it is not a known key`],
    [{ workers: 0 }, `must be auto or a whole number from 1 to 64`],
    [{ workers: 65 }, `current value is 65`],
    [{ endpoints: "http://h" }, `must be a list of endpoints`],
    [{ endpoints: null }, `must be a list of endpoints: current value is null`],
    [{ endpoints: [1] }, `"endpoints[0]" as it must be a URL or a mapping`],
    [{ endpoints: [{}] }, `"endpoints[0]" as it must have a "url"`],
    [{ endpoints: ["http://"] }, `"endpoints[0]" as it must be http`],
    [{ endpoints: [{ url: "x" }] }, `"endpoints[0].url" as it must be http`],
    [{ endpoints: [{ url: "http://h", wieght: 1 }] }, `mean "weight"?`],
    [{ endpoints: [{ url: "http://h", weight: 0 }] }, `[0].weight"`],
    [{ endpoints: [{ url: "http://h", max_in_flight: 0 }] }, `from 1 to 1000`],
    [{ endpoints: [{ url: "http://h", max_in_flight: 1e9 }] }, `auto, none or`],
    [{ endpoints: [{ url: "http://h", max_in_flight: "Auto" }] }, `auto, none`],
    [{ endpoints: [{ url: "http://h", id: "a b" }] }, `visible ASCII`],
    [{ endpoints: [{ url: "http://h:1-2", id: "a" }] }, `name a range`],
    [{ endpoints: ["http://h", "http://h:80/"] }, `"endpoints[1]" as it must`],
    [{ endpoints: ["http://h:1-256", "http://h:257"] }, `at most 256 endp`],
    [{ session: { keys: "default" } }, `must be a list of session-key sources`],
    [{ session: { keys: ["cookie"] } }, `"session.keys[0]" as it must be a s`],
    [{ session: { keys: ["cookie:x"] } }, `(Unknown kind)`],
    [{ session: { keys: [7] } }, `current value is 7`],
    [{ session: { sniff_window: "1KB" } }, `must be a size such as 64KiB`],
    [{ session: { sniff_window: 1023 } }, `between 1KiB and 256MiB`],
    [{ session: { capacity: 0 } }, `from 1 to 16777216`],
    [{ session: { idle_ttl: 30 } }, `must be a duration`],
    [{ session: { idle_ttl: "none" } }, `must be a duration`],
    [{ session: { fallback: "conversation" } }, `not available in this versi`],
    [{ session: { fallback: "rendevous" } }, `did you mean "rendezvous"?`],
    [{ routing: { policy: 7 } }, `known are rendezvous, power_of_two`],
    [{ routing: { imbalance: 0.99 } }, `must be a number from 1 to 100`],
    [{ routing: { affinity_patience: "none" } }, `patience" as it must be a d`],
    [{ routing: { affinity_patience: "-1ms" } }, `must be a duration`],
    [{ limits: { body: 1 } }, `between 1KiB and 1024GiB`],
    [{ timeouts: { connect: "none" } }, `must be a duration`],
    [{ stop: { deadline: "0s" } }, `must be over 0 and below 25 days`],
    [{ stop: { ready_grace: "0" } }, `must be a duration`],
    [{ stop: { ready_grace: 0 } }, `must be a duration`],
    [{ admin: { listen: "127.0.0.1:8080" } }, `must not be the address`],
  ];
  for (const [document, piece] of table) {
    const lines = refused(document);
    assertEquals(lines.length, 1, lines.join("\n"));
    assert(lines[0]?.includes(piece), `${lines[0]} has no ${piece}`);
  }
});

test("parseConfig() tells everything that is wrong at once", () => {
  const lines = refused({
    listen: 1,
    wrkers: 2,
    endpoints: ["x", { url: "y", weight: -1 }],
    session: { keys: ["a", "b"], idle_ttl: 5 },
    timeouts: { idle: "x" },
  });
  assertEquals(lines.length, 9, lines.join("\n"));
});

test("parseConfig() never shows a credential (G12 Olla release notes)", () => {
  for (const url of ["http://u:secret@h", "http://u:se/secret@h:1-2"]) {
    const text = refused({ endpoints: [url, { url, id: url }] }).join("\n");
    assertNotMatch(text, /secret/);
    assert(text.includes("//***@h"), text);
  }
});

test("parseConfig() shows no query or fragment of what it refuses", () => {
  for (
    const url of ["http://h:1?key=s3cret", "h:1/v1?key=s3cret", "unix:a#s3cret"]
  ) {
    const text = refused({ endpoints: [url], listen: url }).join("\n");
    assertNotMatch(text, /s3cret/);
    assert(/[?#]\*\*\*/.test(text), text);
  }
});

test("parseConfig() refuses an endpoint that is called as none is", () => {
  const text = refused({ endpoints: [{ id: "none", url: "http://h:1" }] });
  assertEquals(text.length, 1);
  assert(text[0]?.includes("must not be none"), text[0]);
});

test("parseConfig() does not unfold aliases into its complaints", () => {
  let bomb: unknown = "x";
  for (let depth = 0; depth < 60; depth++) bomb = [bomb, bomb];
  assertEquals(
    refused({ listen: bomb, [`k${"k".repeat(9)}`]: bomb }).length,
    2,
  );
});

const BORDER: Pick<Config, "cors" | "forwarding" | "tls"> = {
  tls: { certFile: undefined, keyFile: undefined, redirectListen: undefined },
  cors: { origins: [], credentials: false },
  forwarding: {
    trustedProxies: [],
    proxyFields: "x-forwarded",
    allowHeaders: [],
    hideHeaders: FORWARDING_FIELDS.hideHeaders.initial as string[],
  },
};

const NO_USE = {
  rate: undefined,
  concurrent: undefined,
  queued: undefined,
  bodyBytes: undefined,
};

test("parseConfig() defaults what is not given", () => {
  const expected: Config = {
    listen: { hostname: "0.0.0.0", port: 8080 },
    workers: "auto",
    ...BORDER,
    admin: {
      listen: { hostname: "127.0.0.1", port: 8081 },
      tokenFile: undefined,
      metricsOpen: "auto",
    },
    auth: { keysFile: undefined },
    tenants: {
      others: {
        rate: undefined,
        concurrent: undefined,
        queued: undefined,
        bodyBytes: undefined,
        priorityMax: undefined,
        models: undefined,
        key: NO_USE,
      },
      listed: [],
    },
    endpoints: [],
    session: {
      keys: ["header:x-session-id", "body:session_id"],
      sniffWindowBytes: 1_048_576,
      capacity: 262_144,
      idleTtlMs: 1_800_000,
      fallback: "power_of_two",
    },
    routing: {
      policy: "rendezvous",
      imbalance: 1.25,
      affinityPatienceMs: 15_000,
    },
    queue: {
      policy: "critical_path",
      max: 1_024,
      sessionMax: 64,
      boostRatio: 2,
      overdueMs: 45_000,
      keepaliveMs: undefined,
      priorityMin: -29,
      priorityMax: 0,
    },
    limits: {
      bodyBytes: 268_435_456,
      requests: 32_768,
      sniffMemoryBytes: 268_435_456,
    },
    attempts: { max: 2, budget: 0.2 },
    stop: { readyGraceMs: 0, deadlineMs: 30_000 },
    health: HEALTH,
    state: { directory: undefined, intervalMs: 60_000 },
    timeouts: {
      connectMs: 3000,
      firstByteMs: undefined,
      idleMs: 300_000,
      bodyMs: 60_000,
      queueMs: 60_000,
    },
    engineMetrics: { path: "/metrics", intervalMs: 2_000 },
    log: { level: "info", format: "text", access: "all", sample: 1 },
    tracing: { endpoint: undefined, sample: 1 },
  };
  for (const document of [undefined, null, {}, { session: null }]) {
    assertEquals(accepted(document), expected);
  }
});

test("parseConfig() keeps the names of the contract", () => {
  const config = accepted(CONTRACT);
  assertEquals(config.session.fallback, "least_in_flight");
  assertEquals(config.endpoints, [{
    id: "gpu0",
    address: { kind: "tcp", hostname: "127.0.0.1", port: 8000, tls: false },
    basePath: "",
    host: "127.0.0.1:8000",
    weight: 1,
    maxInFlight: 64,
    onDisconnect: "abort",
    health: HEALTH,
  }]);
});

test("parseConfig() takes a learned, no and a fixed limit in flight", () => {
  const table: [given: unknown, expected: number | "auto" | undefined][] = [
    ["none", undefined],
    ["auto", "auto"],
    [1, 1],
    [1_000_000, 1_000_000],
  ];
  for (const [given, expected] of table) {
    const endpoints = [{ url: "http://h", max_in_flight: given }];
    const [spec] = accepted({ endpoints }).endpoints;
    assertEquals(spec?.maxInFlight, expected, `${given}`);
  }
});

test("parseConfig() rounds the capacity up to whole buckets", () => {
  for (
    const [given, records] of [[1, 8], [8, 8], [9, 16], [16777216, 16777216]]
  ) {
    const config = accepted({ session: { capacity: given } });
    assertEquals(config.session.capacity, records);
  }
});

test("parseConfig() extends the built-in sources and drops repeats", () => {
  const keys = ["header:x-mine", "default", "header:x-session-id"];
  assertEquals(accepted({ session: { keys } }).session.keys, [
    "header:x-mine",
    "header:x-session-id",
    "body:session_id",
  ]);
  assertEquals(accepted({ session: { keys: [] } }).session.keys, []);
});

test("parseConfig() lets overrides win, and complain by their own name", () => {
  const overrides = [
    { path: "endpoints", origin: "--endpoint", value: ["http://h:1-3"] },
    { path: "workers", origin: "TRYST_WORKERS", value: "2" },
    { path: "workers", origin: "--workers", value: "3" },
  ];
  const config = accepted({ workers: 4, endpoints: ["http://g"] }, overrides);
  assertEquals(config.workers, 3);
  assertEquals(config.endpoints.map((spec) => spec.id), [
    "http://h:1",
    "http://h:2",
    "http://h:3",
  ]);
  const bad = { path: "workers", origin: "--workers", value: "many" };
  assert(refused({}, [bad])[0]?.startsWith(`Cannot use "--workers" as it`));
});

test("parseConfig() returns plain frozen data that a message can carry", () => {
  const config = accepted(CONTRACT);
  assertEquals(structuredClone(config), config);
  assert(Object.isFrozen(config) && Object.isFrozen(config.endpoints[0]));
  assert(Object.isFrozen(config.session.keys));
});

test("parseConfig() answers anything, and every complaint has a path", () => {
  const values = fc.oneof(
    fc.constantFrom(...Object.values(CONTRACT)),
    fc.anything(),
  );
  const keys = fc.constantFrom(...Object.keys(CONTRACT), "x");
  const documents = fc.oneof(fc.anything(), fc.dictionary(keys, values));
  fc.assert(
    fc.property(documents, (document) => {
      const result = parseConfig(document, { names: NAMES });
      if (result.kind === "accepted") return;
      assert(result.complaints.every(({ origin }) => origin !== ""));
    }),
    { numRuns: 500 },
  );
});

test("configRows() lists every key once with a default and a text", () => {
  const rows = configRows();
  const keys = rows.map((row) => row.key);
  assertEquals(new Set(keys).size, keys.length);
  for (const key of ["listen", "endpoints[].url", "timeouts.first_byte"]) {
    assert(keys.includes(key), key);
  }
  assert(rows.every((row) => row.initial !== "" && !row.doc.endsWith(".")));
});
