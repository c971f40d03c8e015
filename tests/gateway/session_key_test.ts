/**
 * Session keys over the whole path: what is one, where it is found, and that
 * neither the client's chunks nor its spelling matter.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../leakproof.ts";
import { call, RawClient } from "./raw_client.ts";
import { bare, type Body, chunkedPost, post } from "./requests.ts";
import { assertNoSession, assertSession, placed } from "./session_probe.ts";
import { withWorld, type World } from "./world.ts";

const FOUR = { engines: [{}, {}, {}, {}] };
const encoder = new TextEncoder();

/** The next of ever new keys, so that cases do not meet. */
function newKey(): string {
  return `key-${keyCount++}`;
}
let keyCount = 0;

test("an empty header is no key: the body decides (PS empty header)", async () => {
  await withWorld(FOUR, async ({ port }) => {
    for (const value of ["", "   ", "\t"]) {
      const key = newKey();
      await assertSession(
        port,
        { key, source: "body:session_id" },
        post("/echo", `{"session_id":"${key}"}`, [`X-Session-Id:${value}`]),
      );
      await assertNoSession(
        port,
        post("/echo", "{}", [`x-session-id:${value}`]),
      );
    }
  });
});

test("values that are no string or number are no key (PS id value types)", async () => {
  await withWorld(FOUR, async ({ port }) => {
    const values = [
      ...["true", "false", "null", "{}", "[]", '{"a":1}', '["x"]'],
      ...['""', '" "', '"\\t\\n"'],
    ];
    for (const value of values) {
      await assertNoSession(port, post("/echo", `{"session_id":${value}}`));
      const key = newKey();
      await assertSession(
        port,
        { key, source: "body:conversation_id" },
        post("/echo", `{"session_id":${value},"conversation_id":"${key}"}`),
      );
    }
  });
});

test("a number is the same key as its text (PS id value types)", async () => {
  await withWorld(FOUR, async ({ port }) => {
    for (const token of ["42", "-0.5e10", "12345678901234567890", "0"]) {
      for (const value of [token, `"${token}"`]) {
        await assertSession(
          port,
          { key: token, source: "body:session_id" },
          post("/echo", `{"session_id":${value}}`),
        );
      }
    }
  });
});

test("only members at the configured path count (PS any depth, C3 vllm-router, C18 worldmonitor #7302)", async () => {
  await withWorld(FOUR, async ({ port }) => {
    const none = [
      '"session_id"',
      '"{\\"session_id\\":\\"x\\"}"',
      '[{"session_id":"x"}]',
      '{"a":{"session_id":"x"}}',
      '{"messages":[{"session_id":"x"}]}',
      '{"messages":[{"content":"\\"session_id\\":\\"x\\""}]}',
      '{"prompt":"say \\"session_id\\": \\"x\\", }"}',
      '{"metadata":{"conversation_id":"x"}}',
      '{"session_id ":"x"}',
      '{"SESSION_ID":"x"}',
    ];
    for (const body of none) await assertNoSession(port, post("/echo", body));
    const text = '{"messages":[{"content":"\\"session_id\\":\\"evil\\""}]';
    await assertSession(
      port,
      { key: "good", source: "body:session_id" },
      post("/echo", `${text},"session_id":"good"}`),
    );
    await assertSession(
      port,
      { key: "deep", source: "body:metadata.session_id" },
      post("/echo", '{"metadata":{"session_id":"deep"}}'),
    );
  });
});

test("a session id in the body is enough, and none is needed (AB #1633)", async () => {
  await withWorld(FOUR, async ({ port }) => {
    await assertSession(
      port,
      { key: "s1", source: "body:session_id" },
      post("/v1/chat/completions", '{"session_id":"s1","model":"sim"}'),
    );
    await assertNoSession(
      port,
      post("/v1/chat/completions", '{"model":"sim"}'),
    );
  });
});

test("the first of duplicate keys places, and both go upstream (C1 GoModel #870)", async () => {
  await withWorld(FOUR, async ({ port, seen }) => {
    const body = '{"session_id":"a","session_id":"b"}';
    await assertSession(
      port,
      { key: "a", source: "body:session_id" },
      post("/echo?dup", body),
    );
    assertEquals(new TextDecoder().decode(seen("/echo?dup").body), body);
  });
});

test("names and values are compared decoded (C2 GoModel #870)", async () => {
  await withWorld(FOUR, async ({ port }) => {
    const spellings = [
      '{"\\u0073ession_id":"abc"}',
      '{"session\\u005fid":"a\\u0062c"}',
      '{ "session_id" :\r\n\t"\\u0061bc" }',
    ];
    for (const body of spellings) {
      await assertSession(
        port,
        { key: "abc", source: "body:session_id" },
        post("/echo", body),
      );
    }
    await assertSession(
      port,
      { key: "a/b", source: "body:session_id" },
      post("/echo", '{"session_id":"a\\/b"}'),
    );
  });
});

test("a byte order mark before the body is skipped (C11 iisexpress-proxy #8)", async () => {
  await withWorld(FOUR, async ({ port }) => {
    await assertSession(
      port,
      { key: "x", source: "body:session_id" },
      post("/echo", '\uFEFF{"session_id":"x"}'),
    );
  });
});

test("lone surrogates pass and hide no key (C7 rllm #879, headroom #3134)", async () => {
  await withWorld(FOUR, async ({ port, seen }) => {
    const body = '{"messages":[{"content":"\\ud83d"}],"session_id":"x"}';
    await assertSession(
      port,
      { key: "x", source: "body:session_id" },
      post("/echo?lone", body),
    );
    assertEquals(new TextDecoder().decode(seen("/echo?lone").body), body);
  });
});

test("over-long ids are used whole, never truncated (C20 Bifrost)", async () => {
  await withWorld(FOUR, async ({ port }) => {
    for (const length of [1023, 1024, 1025, 10_240]) {
      const key = "k".repeat(length);
      const body = `{"session_id":"${key}"}`;
      await assertSession(
        port,
        { key, source: "body:session_id" },
        post("/echo", body),
      );
      const other = await call(
        port,
        post("/echo", `{"session_id":"${key.slice(1)}!"}`),
      );
      assertEquals(placed(other).affinity, "new", `of ${length} bytes`);
    }
  });
});

test("a key in one-byte chunks is the same key (class escapes / split chunks)", async () => {
  await withWorld(FOUR, async ({ port }) => {
    const body =
      '{"a":"\u{1F600}\\ud83d\\ude00","session\\u005fid":"a\\u0062c"}';
    const bytes = encoder.encode(body);
    const chunks = Array.from(bytes, (byte) => Uint8Array.of(byte));
    await assertSession(
      port,
      { key: "abc", source: "body:session_id" },
      chunkedPost("/echo", chunks),
    );
    // The same bytes one write each, with a length.
    using client = await RawClient.connect(port);
    for (const char of post("/echo", body)) await client.send(char);
    assertEquals(placed(await client.reply()).affinity, "hit");
  });
});

test("no split of a small body changes its key (class escapes / split chunks)", async () => {
  await withWorld(FOUR, async ({ port }) => {
    const body =
      '{"a":"\u{1F600}\\ud83d","s\\u0065ssion_id":"\u{E9}\u{1F600}\\u0062"}';
    const bytes = encoder.encode(body);
    const whole = placed(await call(port, post("/echo", body)));
    assertEquals(whole.affinity, "new");
    using client = await RawClient.connect(port);
    for (let at = 1; at < bytes.length; at++) {
      const chunks = [bytes.subarray(0, at), bytes.subarray(at)];
      await client.send(chunkedPost("/echo", chunks));
      assertEquals(
        placed(await client.reply()),
        { ...whole, affinity: "hit" },
        `split at ${at}`,
      );
    }
  });
});

test("a body of several reads gives the key of one (C16 envoy #27133)", async () => {
  await withWorld(FOUR, async ({ port }) => {
    const text = "\u{E9}\\n\\ud83d\\ude00".repeat(5_000);
    const body = `{"messages":[{"content":"${text}"}],"session_id":"late"}`;
    const bytes = encoder.encode(body);
    assert(bytes.length > 65_536, `${bytes.length}`);
    const bound = await call(port, post("/echo", body));
    assertEquals(placed(bound).affinity, "new");
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(bytes.length), { minLength: 1, maxLength: 6 }),
        async (cuts) => {
          const chunks = split(bytes, cuts);
          const reply = await call(port, chunkedPost("/echo", chunks));
          assertEquals(placed(reply).affinity, "hit");
        },
      ),
      { numRuns: 25 },
    );
  });
});

/** `bytes` in pieces, cut at the given offsets. */
function split(bytes: Uint8Array, cuts: readonly number[]): Body[] {
  const sorted = [0, ...cuts].sort((a, b) => a - b);
  return sorted.map((from, i) => bytes.subarray(from, sorted[i + 1]));
}

test("a key is found anywhere within the window (C17 haproxy bufsize)", async () => {
  await withWorld(FOUR, async ({ port }) => {
    for (const before of [20_000, 300_000, 1_000_000]) {
      const key = newKey();
      await assertSession(
        port,
        { key, source: "body:session_id" },
        post("/echo", `{"p":"${"x".repeat(before)}","session_id":"${key}"}`),
      );
    }
  });
});

test("a key after 5 MiB is beyond the window: forwarded without (class key comes last, C15 envoy #37626)", async () => {
  await withWorld(FOUR, async ({ port, metric }) => {
    const body = lateKey("late");
    await assertNoSession(port, post("/sink", body));
    await assertNoSession(port, chunkedPost("/sink", slices(body)));
    assertEquals(await metric("tryst_sniff_window_full_total"), 2);
  });
});

test("a key after 5 MiB is found in a wider window (class key comes last)", async () => {
  const config = { session: { sniff_window: "8MiB" } };
  await withWorld({ ...FOUR, config }, async ({ port, metric }) => {
    for (const framed of [post, chunkedInSlices]) {
      const key = newKey();
      await assertSession(
        port,
        { key, source: "body:session_id" },
        framed("/sink", lateKey(key)),
      );
    }
    assertEquals(await metric("tryst_sniff_window_full_total"), 0);
  });
});

function lateKey(key: string): string {
  const messages = `{"content":"${"y".repeat(1_020)}"}`;
  const many = Array.from({ length: 5 * 1024 }, () => messages).join();
  return `{"messages":[${many}],"session_id":"${key}"}`;
}

function slices(body: string): string[] {
  const bytesEach = 65_521;
  const count = Math.ceil(body.length / bytesEach);
  return Array.from(
    { length: count },
    (_, i) => body.slice(i * bytesEach, (i + 1) * bytesEach),
  );
}

function chunkedInSlices(target: string, body: string): string {
  return chunkedPost(target, slices(body));
}

test("multipart is placed by its header, as JSON is (PS #1019, #1021, #950; D7 PS #733)", async () => {
  await withWorld(FOUR, async ({ port, seen }) => {
    const body = multipart();
    const type = "Content-Type: multipart/form-data; boundary=xyz";
    const session = ["x-session-id: voice", "Authorization: Bearer k"];
    const json = placed(
      await call(port, post("/v1/chat/completions", "{}", session)),
    );
    const form = placed(
      await call(
        port,
        post("/v1/audio/transcriptions", body, [type, ...session]),
      ),
    );
    assertEquals(form.endpoint, json.endpoint);
    assertEquals(form.affinity, "hit");
    const { body: bytes, headers } = seen("/v1/audio/transcriptions");
    assertEquals(bytes, body);
    assertEquals(headers.get("authorization"), "Bearer k");
    assertEquals(headers.get("content-length"), String(body.length));
    // Text within it is not looked at.
    await assertNoSession(port, post("/echo", body, [type]));
  });
});

function multipart(): Uint8Array {
  const head = '--xyz\r\nContent-Disposition: form-data; name="session_id"' +
    '\r\n\r\n{"session_id":"x"}\r\n--xyz\r\n' +
    'Content-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n';
  const sound = Uint8Array.from({ length: 40_000 }, (_, at) => at);
  return Uint8Array.from([
    ...encoder.encode(head),
    ...sound,
    ...encoder.encode("\r\n--xyz--\r\n"),
  ]);
}

test("request ids are never keys: turns with fresh ones stay (A6 prime-rl #2822, higress #3840, CLIProxyAPI #3089)", async () => {
  await withWorld(FOUR, async ({ port }) => {
    const session = await turns(port, (turn) => [
      "x-session-id: agent",
      `x-request-id: r-${turn}`,
      `x-client-request-id: c-${turn}`,
      `traceparent: 00-${hex(turn, 32)}-${hex(turn, 16)}-01`,
    ]);
    assertEquals(session.map(({ affinity }) => affinity), [
      "new",
      ...new Array(7).fill("hit"),
    ]);
    assertEquals(new Set(session.map(({ endpoint }) => endpoint)).size, 1);
    const without = await turns(port, () => [
      "x-request-id: same",
      "x-client-request-id: same",
      "x-correlation-id: same",
    ]);
    assertEquals(new Set(without.map(({ affinity }) => affinity)).size, 1);
    assertEquals(without[0]?.affinity, "none");
  });
});

async function turns(port: number, headers: (turn: number) => string[]) {
  const replies = [];
  for (let turn = 1; turn <= 8; turn++) {
    replies.push(placed(await call(port, post("/echo", "{}", headers(turn)))));
  }
  return replies;
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, "0");
}

test("one id on every route is one engine (A5 vllm-project/router #82)", async () => {
  await withWorld(FOUR, async ({ port }) => {
    const paths = [
      "/v1/chat/completions",
      "/v1/completions",
      "/v1/embeddings",
      "/v1/messages",
      "/v1/responses",
      "/pooling",
      "/v2/unknown?a=b",
    ];
    const endpoints = new Set<string | undefined>();
    for (const path of paths) {
      for (const method of ["GET", "POST", "PUT", "DELETE"]) {
        const request = method === "POST"
          ? post(path, "{}", ["x-session-id: everywhere"])
          : bare(method, path, ["x-session-id: everywhere"]);
        endpoints.add(placed(await call(port, request)).endpoint);
      }
    }
    assertEquals(endpoints.size, 1);
  });
});

test("a header reaches the choice on every one of 20 requests, and is counted (AB #2122)", async () => {
  await withWorld(FOUR, async ({ port, metric }) => {
    const endpoints = new Set<string | undefined>();
    for (let i = 0; i < 20; i++) {
      const request = post("/echo", "{}", ["x-session-id: s"]);
      endpoints.add(placed(await call(port, request)).endpoint);
    }
    assertEquals(endpoints.size, 1);
    const family = "tryst_session_key_source_total";
    assertEquals(await metric(`${family}{source="header:x-session-id"}`), 20);
    assertEquals(await metric(`${family}{source="none"}`), 0);
    await call(port, post("/echo", "{}"));
    // A client that identifies nothing shows (G15 llm-d, prime-rl #2822).
    assertEquals(await metric(`${family}{source="none"}`), 1);
  });
});

test("the first ten calls of an id, all at once, go to one engine (AB #2484, #2485)", async () => {
  await withWorld(FOUR, async ({ port }) => {
    const request = post("/v1/chat/completions", "{}", [
      "x-session-id: agent-42",
    ]);
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => call(port, request)),
    );
    const endpoints = replies.map((reply) => placed(reply).endpoint);
    assertEquals(new Set(endpoints).size, 1);
  });
});

test("nothing has to be sent back: a cookie or the caller's id is enough (AB #1728, llm-d-router #28, A4 llm-d-router #1656)", async () => {
  const config = {
    session: { keys: ["cookie:sid", "header:x-session-id", "query:sid"] },
  };
  await withWorld({ ...FOUR, config }, async ({ port }) => {
    await assertSession(
      port,
      { key: "c-1", source: "cookie:sid" },
      post("/echo", "{}", ["Cookie: a=b; sid=c-1; z=1"]),
    );
    await assertSession(
      port,
      { key: "c-2", source: "query:sid" },
      post("/echo?x=1&sid=c%2D2", "{}"),
    );
    const reply = await call(port, post("/echo", "{}", ["x-session-id: c-1"]));
    assertEquals(reply.headers.get("set-cookie"), undefined);
    assert(!reply.headerLines.some((line) => line.includes("c-1")));
  });
});

test("whatever a body holds, it is served, and twice by the same engine", async () => {
  await withWorld(FOUR, async (world: World) => {
    await fc.assert(
      fc.asyncProperty(fc.json(), fc.string(), async (json, key) => {
        const body = `{"x":${json},"session_id":${JSON.stringify(key)}}`;
        const first = placed(await call(world.port, post("/echo", body)));
        const second = placed(await call(world.port, post("/echo", body)));
        assertEquals(first.status, 200);
        if (first.affinity === "none") return;
        assertEquals(second, { ...first, affinity: "hit" });
      }),
      { numRuns: 50 },
    );
  });
});
