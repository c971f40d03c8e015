/**
 * Request bodies over the whole path: whatever a client sends reaches the
 * engine byte for byte, whether the gateway can read it or not.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { createHash } from "node:crypto";
import type { RequestRecord } from "../../bench/engine/request_log.ts";
import { test } from "../leakproof.ts";
import { call, RawClient } from "./raw_client.ts";
import { bare, chunkedPost, post } from "./requests.ts";
import { assertNoSession, placed } from "./session_probe.ts";
import { withWorld } from "./world.ts";

const TWO = { engines: [{}, {}] };
const encoder = new TextEncoder();

function sha256(body: string | Uint8Array): string {
  return createHash("sha256").update(body).digest("hex");
}

/** Unusable bodies, each with a reference. */
const MALFORMED: readonly (readonly [name: string, body: Uint8Array])[] = [
  ["array (C9 dario #1231)", encoder.encode("[]")],
  ["string (C9 CONTINUUM #505)", encoder.encode('"hi"')],
  ["open brace (C9 aimee #2071)", encoder.encode("{")],
  ["no value (C9)", encoder.encode('{"session_id":')],
  ["not JSON", encoder.encode("session_id=x&model=y")],
  ["byte 0xFF (PS #1017)", Uint8Array.of(0xff)],
  [
    "invalid UTF-8 (C8 llama.cpp #9195)",
    Uint8Array.from([...encoder.encode('{"a":"'), 0xff, 0x22, 0x7d]),
  ],
  ["2,000 arrays (PS #1017)", encoder.encode("[".repeat(2_000))],
  ["100,000 arrays (C10)", encoder.encode("[".repeat(100_000))],
  ["100,000 objects (C10)", encoder.encode('{"a":'.repeat(100_000))],
  ["NUL bytes", new Uint8Array(1_000)],
];

test("unusable bodies are the engine's to judge, never a 5xx (C8, C9, C10, PS #1017)", async () => {
  await withWorld(TWO, async ({ port, engines, seen }) => {
    for (const [index, [name, body]] of MALFORMED.entries()) {
      for (const framed of ["length", "chunked"]) {
        const target = `/echo?${index}-${framed}`;
        const request = framed === "length"
          ? post(target, body)
          : chunkedPost(target, [body.subarray(0, 3), body.subarray(3)]);
        await assertNoSession(port, request);
        assertEquals(seen(target).bodySha256, sha256(body), name);
      }
      const request = post("/v1/responses", body);
      const judged = await call(port, request);
      const direct = await call(engines[0]?.port ?? 0, request);
      assertEquals(judged.status, direct.status, name);
      assertEquals(judged.headers.get("x-tryst-error"), undefined);
      assert(!judged.body.includes("\xff"), name);
    }
  });
});

test("an unusable body still goes where its header says (C9)", async () => {
  await withWorld(TWO, async ({ port }) => {
    const session = ["x-session-id: s"];
    const first = placed(await call(port, post("/echo", "{}", session)));
    for (const [, body] of MALFORMED) {
      const reply = placed(await call(port, post("/echo", body, session)));
      assertEquals(reply, { ...first, affinity: "hit" });
    }
  });
});

test("an empty body is forwarded as one (PS #741)", async () => {
  await withWorld(TWO, async ({ port, seen }) => {
    await assertNoSession(port, post("/echo?length", ""));
    await assertNoSession(port, chunkedPost("/echo?chunked", []));
    await assertNoSession(port, bare("POST", "/echo?none"));
    for (const target of ["/echo?length", "/echo?chunked", "/echo?none"]) {
      const { headers, bodyByteCount } = seen(target);
      assertEquals(bodyByteCount, 0);
      assertEquals(headers.get("content-length"), "0", target);
      assertEquals(headers.get("transfer-encoding"), undefined);
    }
  });
});

test("the engine gets a length or chunks, never both or neither (vellum-assistant #7053, D2 Floway #96, PS alias path)", async () => {
  await withWorld(TWO, async ({ port, seen }) => {
    const small = '{"prompt":"\u{E9}\u{1F600}"}';
    const large = `{"prompt":"${"\u{E9}".repeat(1_000_000)}"}`;
    const middle = `{"prompt":"${"\u{E9}".repeat(100_000)}"}`;
    const bodies = { small, middle, large };
    for (const [name, body] of Object.entries(bodies)) {
      const byLength = `/sink?${name}`;
      assertEquals((await call(port, post(byLength, body))).status, 200);
      const { headers, bodySha256 } = seen(byLength);
      const bytes = encoder.encode(body).length;
      assertEquals(bodySha256, sha256(body), name);
      assertEquals(headers.get("content-length"), String(bytes), name);
      assertEquals(headers.get("transfer-encoding"), undefined, name);
      const byChunks = `/sink?${name}-chunked`;
      const reply = await call(port, chunkedPost(byChunks, [body]));
      assertEquals(reply.status, 200, name);
      const chunked = seen(byChunks);
      assertEquals(chunked.bodySha256, sha256(body), name);
      const framing = chunked.headers.get("transfer-encoding") ??
        chunked.headers.get("content-length");
      assert(framing === "chunked" || framing === String(bytes), framing);
      assertEquals(chunked.headerLines.filter(isFraming).length, 1, name);
    }
  });
});

function isFraming(line: string): boolean {
  return /^(content-length|transfer-encoding):/i.test(line);
}

test("no schema is checked and nothing is rewritten (vllm-project/router #275, AB #2443, #1160, #1145, #601)", async () => {
  await withWorld(TWO, async ({ port, seen }) => {
    const bodies = [
      '{"tools":[{"type":"function","function":{"name":"f"}}]}',
      '{ "stop" : ["a","b"], "unknown":{"x":[1e400,-0]} }',
      '{"prompt":[{"type":"text","text":"a"}],"model":"\u{E9}"}',
      '{"input":[[1,2],[3]],"input":[{"image":"\\u0000"}]}\r\n',
    ];
    for (const [index, body] of bodies.entries()) {
      const target = `/v1/embeddings?${index}`;
      assertEquals((await call(port, post(target, body))).status, 200);
      assertEquals(new TextDecoder().decode(seen(target).body), body);
    }
  });
});

test("any bytes in any chunks reach the engine as they are", async () => {
  await withWorld(TWO, async ({ port, seen }) => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ maxLength: 40_000 }), { maxLength: 4 }),
        async (chunks) => {
          const target = `/sink?${run++}`;
          const reply = await call(port, chunkedPost(target, chunks));
          assertEquals(reply.status, 200);
          const all = chunks.flatMap((chunk) => [...chunk]);
          assertEquals(seen(target).bodySha256, sha256(Uint8Array.from(all)));
        },
      ),
      { numRuns: 20 },
    );
  });
});

test("12 MB pass, with a length and in chunks (C13 cc-router #41, suna #6490, OmniRoute #5652; C14 llm-gateway #2290)", async () => {
  await withWorld(TWO, async ({ port, seen }) => {
    const image = "iVBORw0KGgo".repeat(1_100_000);
    const body = `{"messages":[{"image":"${image}"}]}`;
    assert(body.length > 12_000_000);
    assertEquals((await call(port, post("/sink?a", body))).status, 200);
    assertEquals(seen("/sink?a").bodySha256, sha256(body));
    const half = body.length / 2;
    const chunks = [body.slice(0, half), body.slice(half)];
    assertEquals(
      (await call(port, chunkedPost("/sink?b", chunks))).status,
      200,
    );
    assertEquals(seen("/sink?b").bodySha256, sha256(body));
  });
});

test("a body over the limit is refused, logged and counted (C13 cc-router #41)", async () => {
  const config = { limits: { body: "2KiB" } };
  await withWorld({ ...TWO, config }, async (world) => {
    const { port, events, metric, engines } = world;
    const over = "x".repeat(2_049);
    const at = "x".repeat(2_048);
    for (const request of [post("/sink", over), chunkedPost("/sink", [over])]) {
      const reply = await call(port, request);
      assertEquals(reply.status, 413);
      assertEquals(reply.headers.get("x-tryst-error"), "body_too_large");
      assertEquals(JSON.parse(reply.body).error.code, "body_too_large");
    }
    const codes = events
      .filter(({ event }) => event === "request.failed")
      .map(({ fields }) => fields["code"]);
    assertEquals(codes, ["body_too_large", "body_too_large"]);
    const refused = 'tryst_requests_total{outcome="body_too_large"}';
    assertEquals(await metric(refused), 2);
    assert(engines.every(({ requests }) => !requests.some(isWholeSink)));
    assertEquals((await call(port, post("/sink?a", at))).status, 200);
    assertEquals((await call(port, chunkedPost("/sink?b", [at]))).status, 200);
  });
});

function isWholeSink({ target, isComplete }: RequestRecord): boolean {
  return target === "/sink" && isComplete;
}

test("a body that passes the limit on its way is broken off, never completed (C14 llm-gateway #2290)", async () => {
  const config = {
    limits: { body: "256KiB" },
    session: { sniff_window: "1KiB" },
  };
  await withWorld({ ...TWO, config }, async ({ port, engines, idle }) => {
    const part = "x".repeat(65_536);
    using client = await RawClient.connect(port);
    await client.send(chunkedPost("/sink", [part, part, part, part, part]));
    const reply = await client.reply();
    assertEquals(reply.status, 413);
    await idle();
    assert(engines.every(({ requests }) => !requests.some(isWholeSink)));
  });
});

test("a body whose key is early flows before its end has come (hebo-platform #333)", async () => {
  await withWorld({ engines: [{}] }, async ({ port, engines }) => {
    const start = `{"session_id":"early","p":"${"a".repeat(150_000)}`;
    const end = `${"b".repeat(150_000)}"}`;
    for (const framing of ["length", "chunked"]) {
      const target = `/sink?${framing}`;
      const request = framing === "length"
        ? post(target, start + end)
        : chunkedPost(target, [start, end]);
      const middle = request.indexOf("b".repeat(1_000));
      using client = await RawClient.connect(port);
      await client.send(request.slice(0, middle));
      // The rest is sent only once an engine has the first bytes.
      const record = await engines[0]?.until((it) =>
        it.target === target && it.bodyByteCount > 0
      );
      assertEquals(record?.isComplete, false);
      await client.send(request.slice(middle));
      assertEquals((await client.reply()).status, 200);
      assertEquals(record?.bodySha256, sha256(start + end));
    }
  });
});

test("a body that breaks its framing is never completed upstream (C9, D3 h2o #3342)", async () => {
  const config = { session: { sniff_window: "1KiB" } };
  await withWorld({ ...TWO, config }, async ({ port, engines, idle }) => {
    const good = "x".repeat(3_000);
    const head = chunkedPost("/sink", [good]).slice(0, -5);
    const broken = [
      `${head}zz\r\n`,
      `${head}-1\r\n`,
      `${head}5\r\nabcdefgh\r\n0\r\n\r\n`,
      `${head}ffffffffffffffffff\r\n`,
    ];
    for (const request of broken) {
      using client = await RawClient.connect(port);
      await client.send(request);
      const text = await client.toEnd();
      assert(text === "" || text.startsWith("HTTP/1.1 400 "), text);
    }
    await idle();
    assert(engines.every(({ requests }) => !requests.some(isWholeSink)));
  });
});
