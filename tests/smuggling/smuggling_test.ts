/**
 * No attempt to smuggle a request reaches an engine ambiguously.
 *
 * Each attempt is sent over a socket of its own to a real gateway in front of
 * an engine that records every byte. A strict reader judges what the engine
 * got: of each attempt nothing, or exactly the requests that it is by every
 * reading. A clean request behind each attempt shows that the connection was
 * closed or is in step.
 *
 * Invariant: every attempt names its source. Where versions of Deno differ, an
 * attempt may be refused or forwarded (`safe`); what the older listener cannot
 * do stands in `old_listener.ts`, and even then nothing ambiguous gets through.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { lacks } from "../gateway/old_listener.ts";
import { RawClient } from "../gateway/raw_client.ts";
import { withGateway } from "../gateway/world.ts";
import { test } from "../leakproof.ts";
import { type Attempt, HIDDEN_TARGET, TARGET } from "./case.ts";
import { CHUNK_ATTEMPTS } from "./chunk_attempts.ts";
import { ODD_FRAMINGS, REFUSED_FRAMINGS } from "./framing_attempts.ts";
import { HEAD_ATTEMPTS } from "./head_attempts.ts";
import { numbered } from "./raw_text.ts";
import { RecordingEngine } from "./recording_engine.ts";
import { readStrictly, type StrictRequest } from "./strict_requests.ts";

const ATTEMPTS: readonly Attempt[] = [
  ...REFUSED_FRAMINGS,
  ...ODD_FRAMINGS,
  ...CHUNK_ATTEMPTS,
  ...HEAD_ATTEMPTS,
];

/** Attempts at once: enough that the waits of open ones do not add up. */
const WIDTH = 16;

/** An answer or an end comes within milliseconds; `open` ones never get any. */
const WAIT_MS = 1_500;

/** What the client saw of one attempt. */
interface Seen {
  readonly text: string;
  readonly isClosed: boolean;
}

test("the corpus names its sources, and is large enough", () => {
  assert(ATTEMPTS.length >= 60, `${ATTEMPTS.length}`);
  for (const { name, source } of ATTEMPTS) {
    assert(/RFC \d+, \d|CVE-\d+-\d+|20\d\d/.test(source), name);
  }
  const names = new Set(ATTEMPTS.map(({ name }) => name));
  assertEquals(names.size, ATTEMPTS.length, "two attempts share a name");
});

test("no attempt reaches an engine ambiguously", async (t) => {
  await using engine = new RecordingEngine();
  const seen: Seen[] = [];
  await withGateway([engine], {}, async ({ port }) => {
    for (let from = 0; from < ATTEMPTS.length; from += WIDTH) {
      const batch = ATTEMPTS.slice(from, from + WIDTH);
      seen.push(
        ...await Promise.all(
          batch.map((attempt, at) => play(attempt, from + at, port)),
        ),
      );
    }
  });
  const reached = engine.texts.flatMap((text) => strictly(text));
  for (const [index, attempt] of ATTEMPTS.entries()) {
    const { name, needs, source } = attempt;
    await t.step({
      name: `${name} (${source})`,
      ignore: needs !== undefined && lacks(needs) !== undefined,
      fn() {
        const body = numbered(attempt.body ?? "", index);
        judge({ ...attempt, body }, seen[index], requestsOf(index, reached));
      },
    });
  }
  // Nothing that is not somebody's reached the engine.
  const known =
    /^\/(?:case|hidden|probe)-\d+\b|^\/(?:health|v1\/models|metrics)/;
  const strange = reached.filter(({ target }) => !known.test(target));
  assertEquals(strange, []);
});

/** Sends an attempt, and a clean request behind it. */
async function play(
  attempt: Attempt,
  index: number,
  port: number,
): Promise<Seen> {
  using client = await RawClient.connect(port);
  try {
    await client.send(numbered(attempt.raw, index));
    await client.send(
      `GET /probe-${index} HTTP/1.1\r\nHost: gateway\r\n` +
        "Connection: close\r\n\r\n",
    );
  } catch {
    // Refused before all of it was sent.
  }
  try {
    return { text: await client.toEnd(WAIT_MS), isClosed: true };
  } catch {
    // Still open: a body is waited for.
    return { text: "", isClosed: false };
  }
}

function requestsOf(
  index: number,
  requests: readonly StrictRequest[],
): readonly StrictRequest[] {
  const own = [TARGET, HIDDEN_TARGET].map((target) => numbered(target, index));
  return requests.filter(({ target }) =>
    own.some((start) => target.startsWith(start))
  );
}

/** All requests of a connection, none of which may be ambiguous. */
function strictly(text: string): readonly StrictRequest[] {
  const { requests, problem } = readStrictly(text);
  assertEquals(problem, undefined, text);
  return requests;
}

function judge(
  attempt: Attempt,
  seen: Seen | undefined,
  reached: readonly StrictRequest[],
): void {
  const { wanted, body = "" } = attempt;
  const bodies = reached.map((request) => request.body);
  const shown = JSON.stringify({ seen, reached });
  if (wanted === "open") {
    assertEquals(reached, [], shown);
  } else if (wanted === "pipelined") {
    assertEquals(bodies, ["", ""], shown);
  } else if (wanted === "forwarded" || bodies.length > 0) {
    assert(wanted !== "refused", shown);
    assertEquals(bodies, [body], shown);
  } else {
    assertEquals(reached, [], shown);
    assert(seen?.isClosed, shown);
    const statuses = seen.text.match(/HTTP\/1\.1 \d{3}/g) ?? [];
    const final = statuses.filter((status) => !status.endsWith("100"));
    assert(final.length <= 1, shown);
    assert(final.every((status) => status.endsWith("400")), shown);
  }
}
