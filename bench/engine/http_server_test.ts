/**
 * The engine's server on real sockets: framing, records and every fault.
 *
 * Invariant: the client here is bare sockets too, so that what is asserted is
 * what went over the wire.
 *
 * @module
 */
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { type Engine, type EngineOptions, startEngine } from "./engine.ts";
import type { FaultSwitches } from "./faults.ts";

const INSTANT: EngineOptions = { speed: Infinity };

/** What a client saw of an answer until the connection ended. */
interface Seen {
  readonly text: string;
  /** How the connection ended. */
  readonly end: "closed" | "reset";
}

/** A client that waits longer than this waits for ever. */
const WAIT_MS_MAX = 5000;

/** A connection to an engine. */
class Wire implements Disposable {
  readonly #conn: Deno.Conn;
  readonly #deadline: ReturnType<typeof setTimeout>;
  #isOpen = true;

  constructor(conn: Deno.Conn) {
    this.#conn = conn;
    this.#deadline = setTimeout(() => this.close(), WAIT_MS_MAX);
  }

  close(): void {
    clearTimeout(this.#deadline);
    if (this.#isOpen) this.#conn.close();
    this.#isOpen = false;
  }

  static async open(engine: Engine): Promise<Wire> {
    const { port } = engine;
    return new Wire(await Deno.connect({ hostname: "127.0.0.1", port }));
  }

  async send(text: string): Promise<void> {
    const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    for (let at = 0; at < bytes.length;) {
      at += await this.#conn.write(bytes.subarray(at));
    }
  }

  /** Reads until the text so far matches. */
  async readUntil(pattern: RegExp): Promise<string> {
    let text = "";
    while (!pattern.test(text)) {
      const piece = await this.#read();
      assert(piece !== undefined, `the end came before ${pattern}: ${text}`);
      text += piece;
    }
    return text;
  }

  async readToEnd(): Promise<Seen> {
    let text = "";
    try {
      for (;;) {
        const piece = await this.#read();
        if (piece === undefined) return { text, end: "closed" };
        text += piece;
      }
    } catch (error) {
      if (!(error instanceof Deno.errors.ConnectionReset)) throw error;
      return { text, end: "reset" };
    }
  }

  async #read(): Promise<string | undefined> {
    const buffer = new Uint8Array(65_536);
    const count = await this.#conn.read(buffer);
    return count === null
      ? undefined
      : String.fromCharCode(...buffer.subarray(0, count));
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

function post(target: string, body: string): string {
  return `POST ${target} HTTP/1.1\r\nHost: e\r\n` +
    `Content-Length: ${body.length}\r\n\r\n${body}`;
}

const STREAM = post(
  "/v1/chat/completions",
  JSON.stringify({
    stream: true,
    max_tokens: 4,
    messages: [{ role: "user", content: "Hello" }],
  }),
);

async function exchange(engine: Engine, request: string): Promise<Seen> {
  using wire = await Wire.open(engine);
  await wire.send(request);
  return await wire.readToEnd();
}

test("the server refuses what is no HTTP request", async (t) => {
  await using engine = await startEngine(INSTANT);
  const rows = [
    { name: "no request line", request: "hello\r\n\r\n" },
    { name: "no version", request: "GET /\r\n\r\n" },
    { name: "another protocol", request: "PRI * HTTP/2.0\r\n\r\n" },
  ];
  for (const row of rows) {
    await t.step(row.name, async () => {
      const { text } = await exchange(engine, row.request);
      assertStringIncludes(text, "HTTP/1.1 400 ");
    });
  }
  await t.step("broken bodies only close", async () => {
    const chunked = "POST /echo HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n";
    for (
      const request of [
        `${chunked}zz\r\n`,
        `${chunked}2\r\nabc\r\n0\r\n\r\n`,
        "POST /echo HTTP/1.1\r\ncontent-length: 1x\r\n\r\n",
        "POST /echo HTTP/1.1\r\ntransfer-encoding: gzip\r\n\r\n",
      ]
    ) {
      assertEquals((await exchange(engine, request)).text, "", request);
    }
  });
});

test("the record holds the request as it came, in any split", async (t) => {
  const request = "PUT /echo/../x?q=%2e|\u00e9 HTTP/1.1\r\nHost:e\r\n" +
    "X-Twice: 1\r\nx-twice:  2\t\r\nTransfer-Encoding: chunked\r\n" +
    "Connection: close\r\n\r\n" +
    "3;ext=1\r\na\u00ffb\r\nA\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\n";
  for (const piece of [1, 7, request.length]) {
    await t.step(`${piece} bytes at a time`, async () => {
      await using engine = await startEngine(INSTANT);
      using wire = await Wire.open(engine);
      for (let at = 0; at < request.length; at += piece) {
        await wire.send(request.slice(at, at + piece));
      }
      assertStringIncludes((await wire.readToEnd()).text, "HTTP/1.1 404 ");
      const record = engine.requests[0];
      assert(record !== undefined);
      assertEquals(record.method, "PUT");
      assertEquals(record.target, "/echo/../x?q=%2e|\u00e9");
      assertEquals(record.headerLines, [
        "Host:e",
        "X-Twice: 1",
        "x-twice:  2\t",
        "Transfer-Encoding: chunked",
        "Connection: close",
      ]);
      assertEquals(record.headers.get("x-twice"), "1");
      assertEquals(
        record.body,
        Uint8Array.from("a\u00ffb0123456789", (c) => c.charCodeAt(0)),
      );
      assertEquals([record.isComplete, record.clientClosedEarly], [
        true,
        false,
      ]);
    });
  }
});

test("a head is found wherever the network splits it", async () => {
  await using engine = await startEngine(INSTANT);
  const request = "GET /health HTTP/1.1\r\nA: b\r\n\r\n";
  for (let at = 1; at < request.length; at++) {
    using wire = await Wire.open(engine);
    await wire.send(request.slice(0, at));
    // Two turns of the event loop, so that the engine reads the first part.
    for (let turn = 0; turn < 2; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    await wire.send(request.slice(at));
    await wire.readUntil(/\r\n\r\n$/);
    assertEquals(engine.requests.at(-1)?.headerLines, ["A: b"]);
  }
});

test("pipelined requests are answered in order", async () => {
  await using engine = await startEngine(INSTANT);
  using wire = await Wire.open(engine);
  await wire.send(
    post("/echo?1", "a") + post("/v1/completions", "{}") + post("/echo?3", "c"),
  );
  const text = await wire.readUntil(/\?3.*"body":"c"\}$/);
  assertEquals(text.match(/HTTP\/1\.1 200/g)?.length, 3);
  assertEquals(engine.stats.connectionCount, 1);
});

test("a long body is kept as length and hash, and its first bytes are seen early", async () => {
  await using engine = await startEngine(INSTANT);
  using wire = await Wire.open(engine);
  const half = "x".repeat(100_000);
  await wire.send(
    `POST /sink HTTP/1.1\r\nContent-Length: 200000\r\n\r\n${half}`,
  );
  const early = await engine.until((record) => record.bodyByteCount > 0);
  assertEquals(early.isComplete, false);
  await wire.send(half);
  const text = await wire.readUntil(/"body_bytes":200000/);
  assertEquals(early.isComplete, true);
  assertEquals(early.body, undefined);
  const digest = await crypto.subtle.digest(
    "SHA-256",
    new TextEncoder().encode(half + half),
  );
  const hex = new Uint8Array(digest).toHex?.() ??
    [...new Uint8Array(digest)].map((b) => b.toString(16).padStart(2, "0"))
      .join("");
  assertEquals(early.bodySha256, hex);
  assertStringIncludes(text, hex);
});

test("the log keeps the last records only", async () => {
  await using engine = await startEngine({ ...INSTANT, recordsMax: 2 });
  using wire = await Wire.open(engine);
  for (const number of [1, 2, 3]) {
    await wire.send(post(`/echo?${number}`, ""));
    await wire.readUntil(/"body":""\}$/);
  }
  assertEquals(engine.requests.map((record) => record.target), [
    "/echo?2",
    "/echo?3",
  ]);
  await assertRejects(
    () => engine.until((record) => record.target === "/echo?1", 1),
    Error,
    "within 1 ms",
  );
});

test("Expect: 100-continue is answered before the body", async () => {
  await using engine = await startEngine(INSTANT);
  using wire = await Wire.open(engine);
  await wire.send(
    "POST /echo HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n",
  );
  assertEquals(
    await wire.readUntil(/\r\n\r\n$/),
    "HTTP/1.1 100 Continue\r\n\r\n",
  );
  await wire.send("ok");
  await wire.readUntil(/"body":"ok"\}$/);
});

test("a HEAD request gets a head only", async () => {
  await using engine = await startEngine(INSTANT);
  const { text } = await exchange(
    engine,
    "HEAD /v1/models HTTP/1.1\r\nConnection: close\r\n\r\n",
  );
  assert(/content-length: [1-9]\d+\r\n\r\n$/.test(text), text);
});

test("a client that goes frees its slot at once", async (t) => {
  const slow: EngineOptions = { prefillMsPerToken: 1e6, batchMax: 1 };
  const body = (stream: boolean) =>
    post("/v1/completions", JSON.stringify({ prompt: "Hello", stream }));
  for (const stream of [false, true]) {
    await t.step(stream ? "a stream" : "a whole answer", async () => {
      await using engine = await startEngine(slow);
      const wire = await Wire.open(engine);
      await wire.send(body(stream));
      await engine.until((record) => record.isComplete);
      assertEquals(engine.stats.runningCount, 1);
      wire.close();
      const gone = await engine.until((record) => record.clientClosedEarly);
      assertEquals(gone.answeredAtMs, undefined);
      assertEquals(engine.stats.runningCount, 0);
    });
  }
  await t.step("while it waits for the batch", async () => {
    await using engine = await startEngine(slow);
    using first = await Wire.open(engine);
    await first.send(body(false));
    await engine.until((record) => record.isComplete);
    const second = await Wire.open(engine);
    await second.send(body(false));
    await engine.until((record) =>
      record.connection === 1 && record.isComplete
    );
    assertEquals(engine.stats.waitingCount, 1);
    second.close();
    await engine.until((record) => record.clientClosedEarly);
    assertEquals([engine.stats.runningCount, engine.stats.waitingCount], [
      1,
      0,
    ]);
  });
});

const PLAIN = post("/echo", "abc");

/** Faults after which the connection cannot go on. */
const BROKEN_ANSWERS: readonly {
  readonly name: string;
  readonly faults: FaultSwitches;
  readonly request: string;
  readonly end: Seen["end"];
  readonly text: RegExp;
}[] = [
  {
    name: "reset before the head",
    faults: { resetBeforeHead: true },
    request: PLAIN,
    end: "reset",
    text: /^$/,
  },
  {
    name: "reset before the head of an answer to a GET",
    faults: { resetBeforeHead: true },
    request: "GET /health HTTP/1.1\r\n\r\n",
    end: "reset",
    text: /^$/,
  },
  {
    name: "reset inside a whole body",
    faults: { resetAfterBytes: 5 },
    request: PLAIN,
    end: "reset",
    text: /\r\n\r\n\{"met$/,
  },
  {
    name: "reset inside a stream",
    faults: { resetAfterBytes: 20 },
    request: STREAM,
    end: "reset",
    text: /chunked\r\n\r\n[0-9a-f]+\r\ndata: .{14}$/,
  },
  {
    name: "reset of a chunked request",
    faults: { resetAfterBytes: 0 },
    request: "POST /echo HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n" +
      "1\r\na\r\n0\r\n\r\n",
    end: "reset",
    text: /content-length: \d+\r\n\r\n$/,
  },
  {
    name: "truncated length",
    faults: { truncateAfterBytes: 7 },
    request: PLAIN,
    end: "closed",
    text: /content-length: \d\d\d\r\n\r\n.{7}$/,
  },
  {
    name: "truncated stream",
    faults: { truncateAfterBytes: 300 },
    request: STREAM,
    end: "closed",
    text: /^(?![^]*\r\n0\r\n\r\n)[^]*data: /,
  },
  {
    name: "garbage",
    faults: { garbage: true },
    request: PLAIN,
    end: "closed",
    text: /this is not HTTP\n\n\u00ff/,
  },
  {
    name: "an announced close",
    faults: { closeAfter: "announced" },
    request: PLAIN,
    end: "closed",
    text: /^HTTP\/1\.1 200 OK\r\n[^]*connection: close\r\n[^]*\}$/,
  },
  {
    name: "a silent close",
    faults: { closeAfter: "silent" },
    request: PLAIN,
    end: "closed",
    text: /^(?![^]*connection: close)HTTP\/1\.1 200 OK\r\n[^]*\}$/,
  },
];
test("faults of an answer show on the wire", async (t) => {
  for (const row of BROKEN_ANSWERS) {
    await t.step(row.name, async () => {
      await using engine = await startEngine(INSTANT);
      engine.faults.set(row.faults);
      const seen = await exchange(engine, row.request);
      assertEquals(seen.end, row.end);
      assert(row.text.test(seen.text), JSON.stringify(seen.text));
    });
  }
});

test("faults that leave the connection in order", async (t) => {
  const rows: readonly (readonly [FaultSwitches, RegExp])[] = [
    [
      { status: 503, retryAfter: "7" },
      /^HTTP\/1\.1 503 Service.*\r\n[^]*retry-after: 7\r\n[^]*"error"/,
    ],
    [{ status: 429 }, /^HTTP\/1\.1 429 [^]*"error"/],
    [
      { status: 500, errorText: "no healthy upstream" },
      /text\/plain[^]*no healthy upstream$/,
    ],
    [
      { informational: 103 },
      /^HTTP\/1\.1 103 Early Hints\r\nlink: .*\r\n\r\nHTTP\/1\.1 200 /,
    ],
    [{ gzip: true }, /content-encoding: gzip\r\n[^]*\r\n\r\n[^{]/],
    [{ binary: true }, /audio\/wav\r\n[^]*ABC[^]*\u00fe\u00ff$/],
    [{ firstByteDelayMs: 20 }, /^HTTP\/1\.1 200 [^]*\}$/],
  ];
  for (const [faults, pattern] of rows) {
    await t.step(Object.keys(faults).join(), async () => {
      await using engine = await startEngine(INSTANT);
      using wire = await Wire.open(engine);
      engine.faults.set(faults, { times: 1 });
      await wire.send(post("/echo", "abc"));
      await wire.readUntil(pattern);
      await wire.send(post("/echo", "again"));
      await wire.readUntil(/"body":"again"\}$/);
      assertEquals(engine.stats.connectionCount, 1);
    });
  }
});

test("a reset switched on reaches a kept connection, and off again", async () => {
  await using engine = await startEngine(INSTANT);
  using wire = await Wire.open(engine);
  await wire.send(post("/echo", "a"));
  await wire.readUntil(/"body":"a"\}$/);
  engine.faults.set({ resetAfterBytes: 3 }, { targetPrefix: "/other" });
  await wire.send(post("/echo", "b"));
  await wire.readUntil(/"body":"b"\}$/);
  engine.faults.set({ resetBeforeHead: true });
  await wire.send(post("/echo", "c"));
  assertEquals(await wire.readToEnd(), { text: "", end: "reset" });
  assertEquals(engine.requests.at(-1)?.clientClosedEarly, false);
});

test("hang reads the request and answers nothing until the client goes", async () => {
  await using engine = await startEngine(INSTANT);
  engine.faults.set({ hang: true });
  const wire = await Wire.open(engine);
  await wire.send(post("/echo", "abc"));
  const record = await engine.until(({ isComplete }) => isComplete);
  wire.close();
  await engine.until(({ clientClosedEarly }) => clientClosedEarly);
  assertEquals(record.answeredAtMs, undefined);
});

test("eventDelayMs and readPauseMs only delay", async () => {
  await using engine = await startEngine(INSTANT);
  engine.faults.set({ eventDelayMs: 2, readPauseMs: 2 });
  using wire = await Wire.open(engine);
  await wire.send(STREAM);
  const text = await wire.readUntil(/\r\n0\r\n\r\n$/);
  assertStringIncludes(text, "data: [DONE]\n\n");
});

test("refuse() and accept() keep the port and the open connections", async () => {
  await using engine = await startEngine(INSTANT);
  using kept = await Wire.open(engine);
  await kept.send(post("/echo", "a"));
  await kept.readUntil(/"body":"a"\}$/);
  await engine.refuse();
  await assertRejects(
    () => Wire.open(engine),
    Deno.errors.ConnectionRefused,
  );
  await kept.send(post("/echo", "b"));
  await kept.readUntil(/"body":"b"\}$/);
  engine.accept();
  using again = await Wire.open(engine);
  await again.send(post("/echo", "c"));
  await again.readUntil(/"body":"c"\}$/);
});

test("idle connections are closed when told so", async () => {
  await using engine = await startEngine(INSTANT);
  engine.faults.closeIdleAfterMs = 1;
  const { end } = await exchange(engine, "");
  assertEquals(end, "closed");
  // A request is no idleness, however long its answer takes.
  engine.faults.closeIdleAfterMs = 20;
  engine.faults.set({ firstByteDelayMs: 60 });
  const { text } = await exchange(engine, PLAIN);
  assertStringIncludes(text, '"body":"abc"');
});

test("stop() lets a running answer finish, kill() does not", async (t) => {
  await t.step("stop", async () => {
    const engine = await startEngine({ decodeMsPerToken: 2 });
    using wire = await Wire.open(engine);
    using idle = await Wire.open(engine);
    await wire.send(STREAM);
    await engine.until((record) => record.isComplete);
    const [seen, unused] = await Promise.all([
      wire.readToEnd(),
      idle.readToEnd(),
      engine.stop(),
    ]);
    assertStringIncludes(seen.text, "[DONE]");
    assertEquals(unused.text, "");
  });
  await t.step("kill", async () => {
    const engine = await startEngine({ decodeMsPerToken: 1e6 });
    using wire = await Wire.open(engine);
    await wire.send(STREAM);
    await wire.readUntil(/data: /);
    await engine.kill();
    assert(!(await wire.readToEnd()).text.includes("[DONE]"));
    await engine.kill();
    assertEquals(engine.requests[0]?.clientClosedEarly, false);
  });
});

test("an engine listens on a unix socket and removes it", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/engine.sock`;
  {
    await using engine = await startEngine({ ...INSTANT, path });
    assertEquals(engine.url, `unix:${path}`);
    using conn = await Deno.connect({ transport: "unix", path });
    await conn.write(
      new TextEncoder().encode(
        "GET /health HTTP/1.1\r\nconnection: close\r\n\r\n",
      ),
    );
    const buffer = new Uint8Array(100);
    const count = await conn.read(buffer) ?? 0;
    assertStringIncludes(
      new TextDecoder().decode(buffer.subarray(0, count)),
      "HTTP/1.1 200 OK",
    );
  }
  await Deno.remove(folder);
});
