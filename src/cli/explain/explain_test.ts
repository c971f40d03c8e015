/**
 * Tests of what `tryst check` says of a request and of a configuration.
 *
 * Invariant: what it says of key and endpoint is compared with what a real
 * gateway does, and nothing that it prints has a key in it.
 *
 * @module
 */
import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import fc from "fast-check";
import { configOf, withWorld } from "../../../tests/gateway/world.ts";
import { test } from "../../../tests/leakproof.ts";
import { rankByRendezvous } from "../../core/placement/rendezvous.ts";
import { checkCommand } from "../check.ts";
import { runCommandLine } from "../command_line.ts";
import { type Edge, processEdge } from "../edge.ts";
import { headerOf, parseRequest } from "./explain_parse.ts";
import { rendezvousScore } from "./explain_route.ts";
import { explainRequest } from "./explain.ts";

const ENCODER = new TextEncoder();
const SECRET = "secret-session-7f3a";

/** Endpoints, and sources of each kind. */
const FILE = `
endpoints:
  - { id: gpu-a, url: "http://127.0.0.1:9001", weight: 2 }
  - { id: gpu-b, url: "http://127.0.0.1:9002" }
session:
  sniff_window: 64KiB
  keys:
    - header:x-a
    - path:/v1/threads/{id}/*
    - body:a.b
    - body:u|claude_session
    - query:q
queue: { priority_min: -1, priority_max: 2 }
limits: { body: 1MiB }
`;

/** Runs `tryst check` over a configuration file. */
async function check(
  argv: readonly string[],
  { env = {}, file = FILE }: {
    readonly env?: Readonly<Record<string, string>>;
    readonly file?: string;
  } = {},
) {
  let [out, err] = ["", ""];
  const edge: Edge = {
    ...processEdge(),
    env: (name) => env[name],
    out: (text) => void (out += `${text}\n`),
    err: (text) => void (err += `${text}\n`),
  };
  const path = await Deno.makeTempFile({ suffix: ".yaml" });
  try {
    await Deno.writeTextFile(path, file);
    const code = await runCommandLine(
      ["check", "--config", path, ...argv],
      { edge, commands: [checkCommand] },
    );
    return { code, out, err };
  } finally {
    await Deno.remove(path);
  }
}

async function withFile<T>(
  bytes: Uint8Array,
  body: (path: string) => Promise<T>,
): Promise<T> {
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeFile(path, bytes);
    return await body(path);
  } finally {
    await Deno.remove(path);
  }
}

test("check refuses a request that it cannot read, and says why", async () => {
  const table: [string[], RegExp][] = [
    [
      ["--request", "/nowhere/r"],
      /^Cannot read request file "\/nowhere\/r": No such/,
    ],
    [
      ["--data", "@/nowhere/d"],
      /^Cannot read body file "\/nowhere\/d": No such/,
    ],
    [["--request", "/"], /^Cannot read request file "\/": Is a directory/],
    [
      ["--header", "no colon"],
      /"--header" as it must be NAME:VALUE: .*"no colon"/,
    ],
    [["--header", "a:b\nc:d"], /"--header"/],
    [["--request", "a", "--data", "b"], /"--request" and "--data" together/],
    [["--requst", "a"], /did you mean "--request"/],
  ];
  for (const [argv, pattern] of table) {
    const { code, err, out } = await check(argv);
    assertEquals([code, out], [2, ""], argv.join(" "));
    assertMatch(err, pattern);
  }
});

test("check says by which source a request is keyed, and why not by better ones", async () => {
  const long = "x".repeat(1_025);
  const table: [string[], string | undefined, RegExp][] = [
    [["--data", "{}"], undefined, /header:x-a +absent/],
    [["--header", "x-a:  ", "--data", "{}"], undefined, /header:x-a +blank/],
    [["--data", '{"a":{"b":null}}'], undefined, /body:a.b +null, which names/],
    [["--data", '{"a":{"b":[]}}'], undefined, /body:a.b +a list, which names/],
    [["--data", '{"a":{"b":{}}}'], undefined, /body:a.b +an object, which/],
    [["--data", '{"a":{"b":true}}'], undefined, /body:a.b +a boolean, which/],
    [["--data", '{"a":{"b":" "}}'], undefined, /body:a.b +blank/],
    [["--data", '{"a":1'], undefined, /body:a.b +absent, as far as/],
    [["--data", "text"], undefined, /Body: no JSON object/],
    [["--path", "/?q="], undefined, /body:a.b +no body\n[^]*query:q +absent/],
    [["--data", '{"u":"bob"}'], undefined, /claude_session +holds no session/],
    [
      ["--data", `{"u":"${"x".repeat(8_193)}"}`],
      undefined,
      /claude_session +too long for its filter: at most 8192/,
    ],
    [["--path", "/?q=1", "--data", '{"a":1}'], "query:q", /body:a.b +absent/],
    [["--data", '{"a":{"b":7}}'], "body:a.b", /Model: none found/],
    [["--data", `{"a":{"b":"${long}"}}`], "body:a.b", /hash [0-9a-f]{8}/],
    [
      ["--header", "X-A: 1", "--data", '{"model":"m"}'],
      "header:x-a",
      /Model: m/,
    ],
    [["--path", "/v1/threads/7/x"], "path:/v1/threads/{id}/*", /Body: none/],
  ];
  for (const [argv, source, pattern] of table) {
    const { code, err, out } = await check(argv);
    assertEquals([code, err], [0, ""], argv.join(" "));
    const [, name] = /Session key: from (\S+), hash/.exec(out) ?? [];
    assertEquals(name, source, out);
    assertMatch(out, pattern);
  }
});

test("check finds what the gateway would not look at", async () => {
  const late = `{"z":"${"x".repeat(70_000)}","a":{"b":"k"}}`;
  const window = await check(["--data", late]);
  assertMatch(window.out, /body:a.b +stands behind session.sniff_window/);
  assertMatch(window.out, /Body: key unknown after 65536 bytes/);
  const opaque = await check([
    ...["--header", "content-type: multipart/form-data"],
    ...["--data", '{"a":{"b":"k"}}'],
  ]);
  assertMatch(opaque.out, /body:a.b +stands where the gateway does not look/);
  const zipped = new Uint8Array(
    await new Response(
      new Blob(['{"a":{"b":"k"},"model":"m"}']).stream()
        .pipeThrough(new CompressionStream("gzip")),
    ).arrayBuffer(),
  );
  await withFile(zipped, async (path) => {
    const { out } = await check([
      ...["--header", "content-encoding: gzip", "--data", `@${path}`],
    ]);
    assertMatch(out, /Session key: from body:a.b,[^]*Model: m/);
  });
});

test("check reads hints and headers, and refuses as the gateway does", async () => {
  const { out } = await check([
    ...["--header", "x-tryst-priority: 3", "--header", "x-session-final: true"],
    ...["--header", "Connection: x-b", "--header", "x-b: 1"],
    ...["--header", "x-tryst-expected-ms: 50", "--data", "{}"],
  ]);
  assertMatch(out, /Hints: priority 2, asked for 3, expected 50ms, last of/);
  assertMatch(
    out,
    /dropped or framed anew: connection, content-length, x-b, x-tryst-expected-ms, x-tryst-priority\n/,
  );
  assertMatch(out, /added or replaced: host, x-forwarded-for, /);
  const table: [string[], RegExp][] = [
    [
      ["--path", "v1"],
      /Refused with 400 request_malformed: The request target/,
    ],
    [
      ["--header", "x-tryst-priority: high"],
      /Refused with 400 [^]*whole number/,
    ],
    [
      ["--header", "content-length: 1, 2"],
      /Refused with 400 [^]*Content-Length/,
    ],
    [["--data", "x".repeat(2 ** 20 + 1)], /Refused with 413 body_too_large/],
  ];
  for (const [argv, pattern] of table) {
    const refused = await check(argv);
    assertEquals(refused.code, 1, argv[0]);
    assertMatch(refused.out, pattern);
  }
  const none = await check(["--data", "{}"], { file: "endpoints: []" });
  assertEquals(none.code, 1);
  assertMatch(none.out, /Routed to: nowhere/);
});

test("check tells tenants apart, and what they may", async () => {
  const file = FILE + "auth: { keys_file: /nowhere }\n" +
    "tenants: { lab: { models: [m], priority_max: 1 } }\n";
  const argv = ["--header", `x-a: ${SECRET}`, "--data", '{"model":"m"}'];
  const unknown = await check(argv, { file });
  assertMatch(unknown.out, /Routed to: unknown without "--tenant"/);
  assert(!/hash [0-9a-f]{8}/.test(unknown.out));
  const hashOf = async (tenant: string) => {
    const { out } = await check([...argv, "--tenant", tenant], { file });
    return /hash ([0-9a-f]{8})/.exec(out)?.[1];
  };
  assert(await hashOf("lab") !== await hashOf("other"));
  const other = argv.map((word) => word.replace('"m"', '"n"'));
  const forbidden = await check([...other, "--tenant", "lab"], { file });
  assertEquals(forbidden.code, 1);
  assertMatch(forbidden.out, /Refused with 403 model_forbidden: tenant "lab"/);
});

test("check shows no key, wherever it comes from", async () => {
  const body = JSON.stringify({ a: { b: SECRET }, u: SECRET });
  for (
    const argv of [
      ["--header", `x-a: ${SECRET}`],
      ["--path", `/v1/threads/${SECRET}/runs?q=${SECRET}`],
      ["--path", `/?q=${SECRET}`],
      ["--data", body],
    ]
  ) {
    const { out } = await check(argv);
    assertMatch(out, /hash [0-9a-f]{8}/);
    assert(!out.includes(SECRET), out);
  }
});

test("check says where each value comes from that is no default", async () => {
  const { out } = await check(["--workers", "3"], {
    env: { TRYST_WORKERS: "2", TRYST_LISTEN: "127.0.0.1:7001" },
  });
  const set = out.slice(out.indexOf("Set in place of defaults:"));
  for (
    const pattern of [
      / workers +3 +from --workers, default auto\n/,
      / listen +127.0.0.1:7001 +from TRYST_LISTEN, default 0.0.0.0:8080\n/,
      / limits.body +1MiB +from the file, default 256MiB\n/,
      / endpoints\[gpu-b\] +http:\S+9002 +from the file, default absent/,
    ]
  ) assertMatch(set, pattern);
  assert(!/timeouts/.test(set), set);
  const bare = await check([], { file: "" });
  assert(!bare.out.includes("Set in place"), bare.out);
});

test("parseRequest() reads what was on the wire, and what was written by hand", () => {
  const table: [string, string | undefined, number][] = [
    ["POST / HTTP/1.1\r\nA: b\r\n\r\n{}", "{}", 0],
    ["POST / HTTP/1.1\nA: b\n\n{}\n", "{}", 0],
    ["POST / HTTP/1.1\nContent-Length: 2\n\n{}\n", "{}", 0],
    ["POST / HTTP/1.1\nContent-Length: 2\n\n{}{}", "{}", 1],
    ["POST / HTTP/1.1\nContent-Length: 9\n\n{}", "{}", 1],
    [
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" +
      "1\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
      "{}",
      0,
    ],
    ["GET / HTTP/1.1\r\n\r\n", undefined, 0],
    ["GET / HTTP/1.1", undefined, 0],
    ['{"a":1}', '{"a":1}', 0],
    ["\ufeff [1]", "[1]", 0],
  ];
  for (const [text, body, noteCount] of table) {
    const { body: bytes, notes = [] } = parseRequest(ENCODER.encode(text), "f");
    const read = bytes && new TextDecoder().decode(bytes).trim();
    assertEquals([read, notes.length], [body, noteCount], text);
  }
  const wrong: [string, RegExp][] = [
    ["", /file "f": it must begin with/],
    ["hello", /it must begin with/],
    ["GET /  HTTP/1.1\n\n", /it must begin with/],
    ["GET / HTTP/2\n\n", /it must begin with/],
    ["GET / HTTP/1.1\nA: b\n folded\n\n", /line 3 is no header/],
    ["GET / HTTP/1.1\nA : b\n\n", /line 2 is no header/],
    [
      "P / HTTP/1.1\nTransfer-Encoding: chunked\n\nzz",
      /Cannot read the chunks/,
    ],
    [
      "P / HTTP/1.1\nTransfer-Encoding: chunked\n\n1\r\n{",
      /last one is missing/,
    ],
  ];
  for (const [text, pattern] of wrong) {
    const { message } = assertThrows(
      () => parseRequest(ENCODER.encode(text), "f"),
      Error,
    );
    assertMatch(message, pattern, text);
  }
  assertEquals(headerOf("A:\u4e2d"), ["a", "\xe4\xb8\xad"]);
});

test("rendezvousScore() orders as the policy does", () => {
  const word = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
  const endpoint = fc.record({
    a: word,
    b: word,
    weight: fc.constantFrom(1, 1, 2, 0.5),
  });
  fc.assert(fc.property(
    fc.record({ a: word, b: word }),
    fc.array(endpoint, { minLength: 1, maxLength: 20 }),
    (key, endpoints) => {
      const candidates = {
        count: endpoints.length,
        hashes: Int32Array.from(endpoints.flatMap(({ a, b }) => [a, b])),
        weights: Float64Array.from(endpoints, ({ weight }) => weight),
        inFlight: () => 0,
      };
      const ranking = rankByRendezvous(key, candidates);
      let last = Infinity;
      for (let at = ranking.next(); at >= 0; at = ranking.next()) {
        const score = rendezvousScore(key, candidates, at);
        assert(score <= last);
        last = score;
      }
    },
  ));
});

test("explainRequest() says what a real gateway does", async () => {
  const options = { engines: [{}, {}, {}], endpoints: [{ weight: 3 }] };
  await withWorld(options, async ({ engines, url }) => {
    const config = configOf(options, engines);
    for (let turn = 0; turn < 40; turn++) {
      const headers: [string, string][] = [[
        "content-type",
        "application/json",
      ]];
      const document: Record<string, unknown> = {
        model: "sim",
        "max_tokens": 1,
      };
      if (turn % 3 === 0) headers.push(["x-session-id", `s-${turn}`]);
      if (turn % 4 === 0) document["conversation_id"] = `c-${turn}`;
      if (turn % 5 === 0) document["session_id"] = null;
      if (turn % 7 === 0) document["metadata"] = { session_id: turn };
      const text = JSON.stringify(document);
      const target = "/v1/chat/completions";
      const response = await fetch(url + target, {
        method: "POST",
        headers,
        body: text,
      });
      await response.body?.cancel();
      const { isRefused, lines } = await explainRequest({
        head: { method: "POST", target, headers },
        body: ENCODER.encode(text),
        isChunked: false,
        notes: [],
      }, { config, tenant: undefined, random: Math.random });
      assertEquals(isRefused, false);
      const out = lines.join("\n");
      const source = /Session key: from (\S+),/.exec(out)?.[1] ?? "none";
      assertEquals(response.headers.get("x-tryst-key-source"), source);
      if (source === "none") continue;
      const endpoint = /Routed to: (\S+),/.exec(out)?.[1];
      assertEquals(response.headers.get("x-tryst-endpoint"), endpoint, out);
    }
  });
});
