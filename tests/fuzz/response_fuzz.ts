/**
 * Fuzzes the reading of responses against a second, simple reader.
 *
 * Each response goes through a real client over a socket in memory, whole and
 * cut into random reads, ended by the end of the stream. Status, headers, body
 * and whether the connection was kept must be what the reference says, or the
 * failure must be of the same kind.
 *
 * Invariant: a failure names the seed, the case and the response.
 *
 * @module
 */
import {
  UpstreamClient,
  UpstreamError,
  type UpstreamResponse,
} from "../../src/upstream/client.ts";
import { MemoryNetwork, VirtualClock } from "../memory_sockets.ts";
import type { FuzzOptions } from "./fuzz_options.ts";
import { SeededRandom } from "./random.ts";
import { type Outcome, referenceOutcome } from "./response_reference.ts";
import { ResponseMaker } from "./response_texts.ts";

/** Responses up to this many bytes are also cut into single bytes. */
const SINGLE_BYTES_MAX = 400;
/** Random ways to cut each response. */
const RANDOM_SPLIT_COUNT = 3;
const CUT_COUNT_MAX = 8;

/** @throws {Error} at the first response on which the two disagree. */
export async function fuzzResponse(
  { seed, cases }: FuzzOptions,
): Promise<void> {
  for (let index = 0; index < cases; index++) {
    const random = new SeededRandom(seed + index);
    const text = new ResponseMaker(random).response();
    const method = random.pick(["GET", "POST", "HEAD"]);
    const wanted = JSON.stringify(referenceOutcome(text, method));
    for (const cuts of splits(text, random)) {
      const got = JSON.stringify(await clientOutcome(text, method, cuts));
      if (got === wanted) continue;
      throw new Error(
        `Cannot agree on a response (seed ${seed}, case ${index}): method ` +
          `${method}, cuts ${cuts}, response ${brief(JSON.stringify(text))}: ` +
          `client ${brief(got)}, reference ${brief(wanted)}`,
      );
    }
  }
}

/** Where to cut: nowhere, at random, and everywhere when that is cheap. */
function splits(text: string, random: SeededRandom): number[][] {
  const ways: number[][] = [[]];
  for (let i = 0; i < RANDOM_SPLIT_COUNT; i++) {
    const count = random.below(CUT_COUNT_MAX);
    const cuts = Array.from(
      { length: count },
      () => random.below(text.length + 1),
    );
    ways.push(cuts.sort((a, b) => a - b));
  }
  if (text.length <= SINGLE_BYTES_MAX) ways.push(Array.from(text, (_, i) => i));
  return ways;
}

async function clientOutcome(
  text: string,
  method: string,
  cuts: readonly number[],
): Promise<Outcome> {
  const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
  const ends = [...cuts, bytes.length];
  const script = ends.map((end, i) => bytes.slice(ends[i - 1] ?? 0, end))
    .filter(({ length }) => length > 0);
  const clock = new VirtualClock();
  const network = new MemoryNetwork([script]);
  const client = new UpstreamClient({ clock, dial: network.dial });
  const exchange = client.start({
    address: { kind: "tcp", hostname: "engine", port: 1, tls: false },
    method,
    target: "/",
    headers: [],
    body: undefined,
  });
  const reading = readAll(exchange.response).catch((error: unknown) => {
    if (error instanceof UpstreamError) return { kind: error.kind };
    throw error;
  });
  const isEarly = await Promise.race([
    reading.then(() => true),
    clock.advance(0).then(() => settleAll(script.length)).then(() => false),
  ]);
  if (!isEarly) network.sockets[0]?.push(null);
  const read = await reading;
  await settleAll(script.length);
  const isKept = isEarly && client.idleCount === 1;
  client.close();
  if (read.kind === "malformed" || read.kind === "reset") {
    return { kind: read.kind };
  }
  if (!("response" in read)) {
    throw new Error(`Cannot explain a failure of the kind "${read.kind}"`);
  }
  const { status, reason, headers } = read.response;
  return { kind: "response", status, reason, headers, body: read.body, isKept };
}

async function readAll(
  response: Promise<UpstreamResponse>,
): Promise<
  { kind: "response"; response: UpstreamResponse; body: string | undefined }
> {
  const resolved = await response;
  const { body } = resolved;
  if (body === undefined || body instanceof Uint8Array) {
    const text = body === undefined ? undefined : latin1(body);
    return { kind: "response", response: resolved, body: text };
  }
  let text = "";
  for (;;) {
    const chunk = await body.read();
    if (chunk === undefined) break;
    text += latin1(chunk);
  }
  return { kind: "response", response: resolved, body: text };
}

function latin1(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

/** Enough turns for every read of a script to be taken. */
async function settleAll(reads: number): Promise<void> {
  for (let i = 0; i < 20 + reads * 12; i++) await Promise.resolve();
}

/** A report is read by a person. */
function brief(text: string): string {
  return text.length <= 1500 ? text : `${text.slice(0, 1500)}...`;
}
