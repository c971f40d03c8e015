/**
 * Fuzzes a real gateway with whole requests over sockets.
 *
 * A request is one of the smuggling corpus or a POST with a random body, then
 * damaged and cut into random writes. Whatever comes of it, the engine must get
 * requests of exactly one reading, or none; the gateway must go on serving; and
 * in the end nothing may be in flight.
 *
 * Invariant: a failure names the seed; requests of one stretch share a gateway,
 * so it is repeated by the seed of its stretch.
 *
 * @module
 */
import { gzipSync } from "node:zlib";
import { latin1Text, RawClient } from "../gateway/raw_client.ts";
import { withGateway } from "../gateway/world.ts";
import type { Attempt } from "../smuggling/case.ts";
import { CHUNK_ATTEMPTS } from "../smuggling/chunk_attempts.ts";
import {
  ODD_FRAMINGS,
  REFUSED_FRAMINGS,
} from "../smuggling/framing_attempts.ts";
import { HEAD_ATTEMPTS } from "../smuggling/head_attempts.ts";
import { numbered, postHead } from "../smuggling/raw_text.ts";
import { RecordingEngine } from "../smuggling/recording_engine.ts";
import { readStrictly } from "../smuggling/strict_requests.ts";
import type { FuzzOptions } from "./fuzz_options.ts";
import { DocumentMaker } from "./json_documents.ts";
import { SeededRandom } from "./random.ts";

const ATTEMPTS: readonly Attempt[] = [
  ...REFUSED_FRAMINGS,
  ...ODD_FRAMINGS,
  ...CHUNK_ATTEMPTS,
  ...HEAD_ATTEMPTS,
];

/** Requests at once; some wait until their time is over. */
const WIDTH = 32;
/** An answer comes within milliseconds, or something is waited for. */
const WAIT_MS = 400;
const CUT_COUNT_MAX = 4;
/** Requests are told apart by four digits. */
const NUMBERS = 10_000;
/** Most strings are short: the sniff window has tests of its own. */
const LONG_PERIOD = 50;
const DAMAGE = [
  ..."\r\n \t:;,0aA\x00\x0b\x7f\xff\x85",
  "\r\n",
  "\r\n\r\n",
  "\r\nTransfer-Encoding: chunked",
  "\r\nContent-Length: 3",
  " HTTP/1.1",
];

const encoder = new TextEncoder();

/** @throws {Error} when something ambiguous has reached the engine. */
export async function fuzzGateway(
  { seed, cases }: FuzzOptions,
): Promise<void> {
  await using engine = new RecordingEngine();
  await withGateway([engine], {}, async ({ port, idle }) => {
    for (let from = 0; from < cases; from += WIDTH) {
      const count = Math.min(WIDTH, cases - from);
      await Promise.all(
        Array.from({ length: count }, (_, at) => {
          const random = new SeededRandom(seed + from + at);
          return send(port, requestOf(random, from + at), random);
        }),
      );
    }
    using client = await RawClient.connect(port);
    await client.send("GET /after HTTP/1.1\r\nHost: gateway\r\n\r\n");
    const { status } = await client.reply();
    if (status !== 200) throw new Error(`Cannot go on: status ${status}`);
    await idle();
  });
  for (const text of engine.texts) {
    const { end, problem } = readStrictly(text);
    if (problem === undefined) continue;
    throw new Error(
      `Cannot pass gateway fuzzing with --seed ${seed} --cases ${cases}: the ` +
        `engine got ${problem} at ${end} of ${JSON.stringify(text)}`,
    );
  }
}

function requestOf(random: SeededRandom, number: number): string {
  let text = random.oneIn(3) ? postOf(random) : random.pick(ATTEMPTS).raw;
  for (let i = random.below(4); i > 0; i--) {
    const at = random.below(text.length + 1);
    text = text.slice(0, at) + random.pick(DAMAGE) +
      text.slice(at + random.below(3));
  }
  return numbered(text, number % NUMBERS);
}

/** A POST with a JSON body, plain or compressed, or what claims to be so. */
function postOf(random: SeededRandom): string {
  const plain = encoder.encode(
    new DocumentMaker(random, LONG_PERIOD).document(),
  );
  const isZipped = random.oneIn(3);
  const bytes = isZipped ? new Uint8Array(gzipSync(plain)) : plain;
  const coding = random.oneIn(8)
    ? random.pick(["br", "zstd", "deflate", "gzip, gzip", "identity"])
    : isZipped
    ? "gzip"
    : "identity";
  const body = latin1Text(bytes);
  const type = "Content-Type: application/json";
  const fields = [type, `Content-Encoding: ${coding}`];
  return random.oneIn(2)
    ? postHead(...fields, `Content-Length: ${body.length}`) + body
    : postHead(...fields, "Transfer-Encoding: chunked") +
      `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
}

/** Sends `text` in pieces, and a request behind it that ends the connection. */
async function send(
  port: number,
  text: string,
  random: SeededRandom,
): Promise<void> {
  using client = await RawClient.connect(port);
  const cuts = Array.from(
    { length: random.below(CUT_COUNT_MAX) },
    () => random.below(text.length + 1),
  ).sort((one, other) => one - other);
  let from = 0;
  try {
    for (const to of [...cuts, text.length]) {
      await client.send(text.slice(from, to));
      from = to;
    }
    await client.send(
      "GET /probe HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n",
    );
    await client.toEnd(WAIT_MS);
  } catch {
    // Refused before all of it was sent, or waited for more: both are fine.
  }
}
