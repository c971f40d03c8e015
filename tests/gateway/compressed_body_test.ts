/**
 * Compressed request bodies: a copy is looked into, within bounds, and the
 * client's own bytes go upstream.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { createHash } from "node:crypto";
import {
  brotliCompressSync,
  constants,
  createGzip,
  createZstdCompress,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib";
import { test } from "../leakproof.ts";
import { call } from "./raw_client.ts";
import { chunkedPost, post } from "./requests.ts";
import { assertNoSession, assertSession, placed } from "./session_probe.ts";
import { withWorld } from "./world.ts";

const TWO = { engines: [{}, {}] };
const encoder = new TextEncoder();

/** Large enough for several reads, small against the window. */
const LARGE_BYTES = 1_000_000;

/** What a bomb decodes to: 200 MB. */
const BOMB_PIECES = 200;
const BOMB_PIECE = new Uint8Array(1_000_000).fill(0x61);

const CODINGS: Readonly<Record<string, (text: string) => Uint8Array>> = {
  gzip: (text) => gzipSync(text),
  "x-gzip": (text) => gzipSync(text),
  deflate: (text) => deflateSync(text),
  br: (text) =>
    brotliCompressSync(text, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 1 },
    }),
  zstd: (text) => zstdCompressSync(text),
};

/** Text that does not compress to nothing. */
function filler(byteCount: number): string {
  const words: string[] = [];
  let state = 1;
  for (let length = 0; length < byteCount;) {
    state = Math.imul(state, 1_103_515_245) + 12_345 | 0;
    const word = (state >>> 0).toString(36);
    words.push(word);
    length += word.length;
  }
  return words.join("");
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

test("a key is found in a compressed body, whose bytes stay (C4 agentgateway #2402, #2621; loreai #1711)", async () => {
  await withWorld(TWO, async ({ port, seen }) => {
    const large = filler(LARGE_BYTES);
    for (const [coding, compress] of Object.entries(CODINGS)) {
      for (const text of ["", large]) {
        const key = `${coding}-${text.length}`;
        const bytes = compress(`{"p":"${text}","session_id":"${key}"}`);
        const half = bytes.subarray(0, bytes.length >> 1);
        const rest = bytes.subarray(bytes.length >> 1);
        const header = [`Content-Encoding: ${coding}`];
        const requests = {
          length: post(`/sink?${key}-length`, bytes, header),
          chunked: chunkedPost(`/sink?${key}-chunked`, [half, rest], header),
        };
        for (const [framing, request] of Object.entries(requests)) {
          const source = "body:session_id";
          await assertSession(port, { key, source }, request);
          const { headers, bodySha256 } = seen(`/sink?${key}-${framing}`);
          assertEquals(headers.get("content-encoding"), coding);
          assertEquals(bodySha256, sha256(bytes), `${key} ${framing}`);
        }
      }
    }
  });
});

test("a coding in any case, or none, is understood (C4 agentgateway #2402)", async () => {
  await withWorld(TWO, async ({ port }) => {
    const body = '{"session_id":"x"}';
    const cases: readonly (readonly [string, Uint8Array])[] = [
      ["GZIP", gzipSync(body)],
      ["identity", encoder.encode(body)],
      ["", encoder.encode(body)],
    ];
    for (const [coding, bytes] of cases) {
      await assertSession(
        port,
        { key: "x", source: "body:session_id" },
        post("/echo", bytes, [`Content-Encoding: ${coding}`]),
      );
    }
  });
});

test("a body that is not what its Content-Encoding says is forwarded (C4 agentgateway #2402, loreai #1711)", async () => {
  await withWorld(TWO, async ({ port, seen }) => {
    const plain = encoder.encode('{"session_id":"x"}');
    const gzip = gzipSync(plain);
    const cases: readonly (readonly [string, Uint8Array])[] = [
      ...Object.keys(CODINGS).map((coding) => [coding, plain] as const),
      ["br", gzip],
      ["zstd", gzip],
      ["gzip", gzip.subarray(0, 12)],
      ["gzip", Uint8Array.from([...gzip.subarray(0, 12), 1, 2, 3, 4])],
      ["gzip, br", gzip],
      ["compress", gzip],
      ["no-such-coding", plain],
    ];
    for (const [index, [coding, bytes]] of cases.entries()) {
      const target = `/sink?${index}`;
      const header = [`Content-Encoding: ${coding}`];
      await assertNoSession(port, post(target, bytes, header));
      assertEquals(seen(target).bodySha256, sha256(bytes), coding);
      const session = [...header, "x-session-id: by-header"];
      const reply = placed(await call(port, post("/sink", bytes, session)));
      assertEquals(reply.affinity, index === 0 ? "new" : "hit");
    }
  });
});

test("a decompression bomb is decoded to a bound and forwarded (C6 mlflow #24784)", async () => {
  await withWorld(TWO, async ({ port, seen }) => {
    const bombs = { gzip: await bomb(createGzip), zstd: await zstdBomb() };
    for (const [coding, bytes] of Object.entries(bombs)) {
      assert(bytes.length < 1_000_000, `${coding}: ${bytes.length}`);
      const request = post(`/sink?${coding}`, bytes, [
        `Content-Encoding: ${coding}`,
      ]);
      // Whoever decoded all of it would find the key at its end.
      await assertNoSession(port, request);
      assertEquals(seen(`/sink?${coding}`).bodySha256, sha256(bytes));
    }
  });
});

/** A stream that compresses. */
interface Compressor {
  on(event: "data", listener: (piece: Uint8Array) => void): unknown;
  write(bytes: Uint8Array, done: () => void): unknown;
  end(done: () => void): unknown;
}

function zstdBomb(): Promise<Uint8Array> {
  return bomb(createZstdCompress);
}

/** `{"p":"aaaa...` of 200 MB, compressed; its key would stand at the end. */
async function bomb(create: () => Compressor): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  const stream = create();
  stream.on("data", (piece) => pieces.push(piece));
  const write = (bytes: Uint8Array) =>
    new Promise<void>((resolve) => stream.write(bytes, resolve));
  await write(encoder.encode('{"p":"'));
  for (let i = 0; i < BOMB_PIECES; i++) await write(BOMB_PIECE);
  await write(encoder.encode('","session_id":"x"}'));
  await new Promise<void>((resolve) => stream.end(resolve));
  return new Uint8Array(await new Blob(pieces as BlobPart[]).arrayBuffer());
}
