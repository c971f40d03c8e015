/**
 * What the admin listener says of a gateway, and what it does not let pass.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { call } from "../../tests/gateway/raw_client.ts";
import type { Reply } from "../../tests/gateway/reply.ts";
import { AdminListener, type AdminParts } from "./admin_listener.ts";
import type { EndpointReport } from "./endpoint_api.ts";
import type { ReloadOutcome } from "./reload_outcome.ts";

/** A listener and what was asked of it. */
interface Served {
  readonly port: number;
  readonly changes: string[];
  readonly events: string[];
  eligible: number;
  isBroken: boolean;
}

async function withAdmin(
  body: (served: Served) => Promise<void>,
  more: Partial<AdminParts> = {},
) {
  const changes: string[] = [];
  const events: string[] = [];
  const report = (id: string): EndpointReport => ({
    id,
    state: "draining",
    weight: 1,
    inFlight: 0,
    limit: 1,
    sessions: 0,
    consecutiveFailures: 0,
    lastAnswerAgeMs: 0,
    models: 1,
  });
  const served = { port: 0, changes, events, eligible: 0, isBroken: false };
  const admin = new AdminListener({
    hostname: "127.0.0.1",
    port: 0,
    log: (_level, event) => events.push(event),
    readiness: () => ({
      isStopping: false,
      eligible: served.eligible,
      total: 2,
      serving: 2,
      workers: 2,
    }),
    metrics: () =>
      served.isBroken
        ? Promise.reject(new Error("planted"))
        : Promise.resolve("tryst_up 1\n"),
    endpoints: {
      list: () => [report("a/b")],
      drain: (id) => changes.push(`drain ${id}`) > 0 && id === "a/b",
      restore: (id) => changes.push(`restore ${id}`) > 0 && id === "a/b",
      setWeight: (id, weight) => changes.push(`weight ${id} ${weight}`) > 0,
      setLimit: (id, limit) =>
        changes.push(`limit ${id} ${limit && limit.maxInFlight}`) > 0,
    },
    ...more,
  });
  served.port = admin.port;
  try {
    await body(served);
  } finally {
    await admin.stop();
  }
}

/** Sends a request as written; `host` and length are filled in. */
function ask(
  port: number,
  line: string,
  options: { readonly headers?: string; readonly body?: string } = {},
): Promise<Reply> {
  const { headers = "", body = "" } = options;
  const host = /^host:/mi.test(headers) ? "" : "host: localhost\r\n";
  const length = /^(content-length|transfer-encoding):/mi.test(headers)
    ? ""
    : `content-length: ${body.length}\r\n`;
  return call(
    port,
    `${line} HTTP/1.1\r\n${host}${length}${headers}\r\n${body}`,
  );
}

const JSON_TYPE = "content-type: application/json\r\n";

test("AdminListener answers its paths", async () => {
  await withAdmin(async (served) => {
    const { port } = served;
    assertEquals((await ask(port, "GET /healthz")).status, 200);
    const readiness = await ask(port, "GET /readyz");
    assertEquals(readiness.status, 503);
    assertEquals(JSON.parse(readiness.body), {
      status: "not ready",
      reason: "0 of 2 endpoints are eligible",
      eligible: 0,
      total: 2,
      workers: { serving: 2, wanted: 2 },
    });
    served.eligible = 1;
    assertEquals((await ask(port, "GET /readyz?x")).status, 200);
    assertEquals((await ask(port, "GET /metrics")).body, "tryst_up 1\n");
    const endpoints = JSON.parse((await ask(port, "GET /endpoints")).body);
    assertEquals(endpoints.endpoints[0].id, "a/b");
    assertEquals((await ask(port, "HEAD /endpoints")).body, "");
  });
});

test("AdminListener answers what is wrong with problem details (RFC 9457)", async () => {
  const rows: readonly {
    readonly line: string;
    readonly headers?: string;
    readonly body?: string;
    readonly status: number;
    readonly allow?: string;
  }[] = [
    { line: "GET /secrets", status: 404 },
    { line: "GET /endpoints/drain/", status: 404 },
    { line: "POST /metrics", status: 405, allow: "GET, HEAD" },
    { line: "DELETE /endpoints", status: 405, allow: "GET, HEAD" },
    { line: "GET /endpoints/drain", status: 405, allow: "POST" },
    { line: "OPTIONS /endpoints/drain", status: 405, allow: "POST" },
    { line: "HEAD /endpoints/restore", status: 405, allow: "POST" },
    { line: "POST /endpoints/drain", status: 415 },
    {
      line: "POST /endpoints/drain",
      headers: "content-type: text/plain\r\n",
      body: '{"id":"a/b"}',
      status: 415,
    },
    {
      line: "POST /endpoints/drain",
      headers: "content-type: application/jsonp\r\n",
      body: '{"id":"a/b"}',
      status: 415,
    },
    { line: "POST /endpoints/drain", headers: JSON_TYPE, status: 400 },
    {
      line: "POST /endpoints/drain",
      headers: JSON_TYPE,
      body: '{"id":',
      status: 400,
    },
    {
      line: "POST /endpoints/restore",
      headers: JSON_TYPE,
      body: '{"id":"b"}',
      status: 404,
    },
    {
      line: "POST /endpoints/drain",
      headers: `${JSON_TYPE}host: evil.example\r\n`,
      body: '{"id":"a/b"}',
      status: 421,
    },
  ];
  await withAdmin(async ({ port, changes }) => {
    for (const { line, status, allow, ...request } of rows) {
      const isHead = line.startsWith("HEAD");
      const reply = await ask(port, line, request);
      assertEquals(reply.status, status, line);
      assertEquals(reply.headers.get("allow"), allow, line);
      assertEquals(
        reply.headers.get("content-type"),
        "application/problem+json",
        line,
      );
      if (isHead) continue;
      const problem = JSON.parse(reply.body);
      assertEquals(problem.status, status);
      assert(problem.detail.length > 0 && problem.title.length > 0);
    }
    assertEquals(changes, ["restore b"]);
  });
});

test("AdminListener takes no change from a page of another origin", async () => {
  const fields = ["origin: http://evil.example", "sec-fetch-site: cross-site"];
  await withAdmin(async ({ port, changes }) => {
    for (const field of fields) {
      const headers = `${JSON_TYPE}${field}\r\n`;
      const reply = await ask(port, "POST /endpoints/drain", {
        headers,
        body: '{"id":"a/b"}',
      });
      assertEquals(reply.status, 403, field);
      assertEquals(JSON.parse(reply.body).status, 403);
      assertEquals((await ask(port, "GET /readyz", { headers })).status, 503);
    }
    assertEquals(changes, []);
  });
});

test("AdminListener takes changes, and bodies up to 64 KiB", async () => {
  await withAdmin(async ({ port, changes }) => {
    const headers = "content-type: application/JSON; charset=utf-8\r\n";
    const drained = await ask(port, "POST /endpoints/drain", {
      headers,
      body: '{"id":"a/b"}',
    });
    assertEquals(drained.status, 200);
    assertEquals(JSON.parse(drained.body).state, "draining");
    const padded = (bytes: number) => '{"id":"a/b"}'.padEnd(bytes, " ");
    const statuses: number[] = [];
    for (const bytes of [65_535, 65_536, 65_537, 1_000_000]) {
      const body = padded(bytes);
      statuses.push(
        (await ask(port, "POST /endpoints/restore", { headers, body })).status,
      );
    }
    assertEquals(statuses, [200, 200, 413, 413]);
    assertEquals(changes, ["drain a/b", "restore a/b", "restore a/b"]);
  });
});

test("AdminListener answers and logs its own failures", async () => {
  await withAdmin(async (served) => {
    served.isBroken = true;
    const reply = await ask(served.port, "GET /metrics");
    assertEquals(reply.status, 500);
    assertEquals(JSON.parse(reply.body).title, "Internal Server Error");
    assertEquals(served.events, ["admin.failed"]);
  });
});

test("AdminListener takes settings of endpoints, and says what is wrong with them", async () => {
  const rows: readonly [path: string, body: string, detail: string][] = [
    ["weight", '{"id":"a/b"}', 'Cannot use "weight" as it must be there'],
    ["weight", '{"id":"a/b","weight":0}', '"weight" as it must be'],
    ["weight", '{"id":"a/b","weight":"1"}', '"weight" as it must be'],
    ["weight", '{"id":"a/b","weight":1001}', '"weight" as it must be'],
    ["limit", '{"id":"a/b","limit":0}', '"limit" as it must be'],
    ["limit", '{"id":"a/b","limit":1.5}', '"limit" as it must be'],
    ["limit", '{"id":"a/b","limit":"64"}', '"limit" as it must be'],
    ["limit", '{"id":"a/b","limit":1,"x":1}', '"x" as it is not known'],
    ["limit", '{"id":"","limit":1}', '"id" as it must be'],
    ["limit", "[1]", "the body as it must be an object"],
  ];
  const good: readonly [path: string, body: string][] = [
    ["weight", '{"id":"a/b","weight":0.001}'],
    ["weight", '{"id":"a/b","weight":null}'],
    ["limit", '{"id":"a/b","limit":1000000}'],
    ["limit", '{"id":"a/b","limit":"auto"}'],
    ["limit", '{"id":"a/b","limit":"none"}'],
    ["limit", '{"id":"a/b","limit":null}'],
  ];
  await withAdmin(async ({ port, changes }) => {
    for (const [path, body, detail] of rows) {
      const line = `POST /endpoints/${path}`;
      const reply = await ask(port, line, { headers: JSON_TYPE, body });
      assertEquals(reply.status, 400, body);
      assert(JSON.parse(reply.body).detail.includes(detail), reply.body);
    }
    assertEquals(changes, []);
    for (const [path, body] of good) {
      const line = `POST /endpoints/${path}`;
      const reply = await ask(port, line, { headers: JSON_TYPE, body });
      assertEquals(reply.status, 200, reply.body);
    }
    assertEquals(changes, [
      "weight a/b 0.001",
      "weight a/b undefined",
      "limit a/b 1000000",
      "limit a/b auto",
      "limit a/b undefined",
      "limit a/b undefined",
    ]);
  });
});

test("AdminListener asks for its token, but not for life and readiness", async () => {
  const token = "0123456789abcdef";
  const rows: readonly [line: string, credentials: string, status: number][] = [
    ["GET /endpoints", "", 401],
    ["GET /openapi.json", "", 401],
    ["GET /events", "", 401],
    ["POST /endpoints/drain", "", 401],
    ["GET /endpoints", "Bearer 0123456789abcdeg", 401],
    ["GET /endpoints", "Bearer 0123456789abcde", 401],
    ["GET /endpoints", "Bearer ", 401],
    ["GET /endpoints", `Basic ${token}`, 401],
    ["GET /endpoints", token, 401],
    ["GET /healthz", "", 200],
    ["GET /readyz", "", 503],
    ["GET /metrics", "", 200],
    ["GET /", "", 200],
    ["GET /assets/page.css", "", 200],
    ["GET /endpoints", `Bearer ${token}`, 200],
    ["GET /endpoints", `bearer  ${token}`, 200],
    ["GET /secrets", "", 404],
  ];
  const status = () => Promise.reject(new Error("Cannot be asked here"));
  await withAdmin(async ({ port, changes }) => {
    for (const [line, credentials, status] of rows) {
      const headers = credentials === ""
        ? ""
        : `authorization: ${credentials}\r\n`;
      const reply = await ask(port, line, { headers });
      assertEquals(reply.status, status, `${line} ${credentials}`);
      assertEquals(
        reply.headers.has("www-authenticate"),
        status === 401,
        line,
      );
    }
    assertEquals(changes, []);
  }, { token, status });
});

test("AdminListener says what a gateway lacks", async () => {
  const lines = ["GET /status", "GET /sessions", "POST /reload"];
  await withAdmin(async ({ port }) => {
    for (const line of [...lines, "POST /snapshot"]) {
      const headers = line.startsWith("GET") ? "" : JSON_TYPE;
      const body = line.startsWith("GET") ? "" : "{}";
      const reply = await ask(port, line, { headers, body });
      assertEquals(reply.status, 501, line);
      assertMatch(JSON.parse(reply.body).detail, /^Cannot do that: this gate/);
    }
  });
});

test("AdminListener reloads, and tells why it did not", async () => {
  const base = { changes: [], needsRestart: [], complaints: [] };
  let outcome: ReloadOutcome = { ...base, kind: "unchanged" };
  const more = { reload: () => Promise.resolve(outcome) };
  await withAdmin(async ({ port }) => {
    const reload = () =>
      ask(port, "POST /reload", { headers: JSON_TYPE, body: "{}" });
    assertEquals(JSON.parse((await reload()).body).outcome, "unchanged");
    outcome = { ...base, kind: "refused", complaints: ["Cannot use it"] };
    const refused = await reload();
    assertEquals(refused.status, 422);
    assertEquals(JSON.parse(refused.body).detail, "Cannot use it");
  }, more);
});
