/**
 * What a simulated engine is going to answer, drawn before it does.
 *
 * Invariant: the payload of an answer names its engine and its request in
 * every piece, so that no mixture of two answers is a prefix of either.
 *
 * @module
 */
import type { Chance } from "./chance.ts";
import type { FaultName } from "./faults.ts";

/** How an answer's end is told from its middle. */
export type AnswerFraming = "length" | "chunked" | "events" | "close";

/** What engines mostly use, streams of events above all. */
export const FRAMINGS: readonly AnswerFraming[] = [
  "length",
  "chunked",
  "events",
  "events",
  "close",
];

/** Where an answer goes wrong, if it does. */
export type AnswerBreak =
  | "reset_before_head"
  | "silent_head"
  | "not_http"
  | "reset"
  | "truncate"
  | "stall";

/** An answer to be. */
export interface PlannedAnswer {
  readonly status: number;
  readonly framing: AnswerFraming;
  readonly retryAfterS: number | undefined;
  readonly firstByteMs: number;
  readonly pieceGapMs: number;
  readonly pieces: readonly string[];
  /** Pieces sent before the break; meaningless without one. */
  readonly breakAfter: number;
  readonly breaks: AnswerBreak | undefined;
  /** Whether to answer before the body of the request has been read. */
  readonly isEarly: boolean;
  readonly hasInterim: boolean;
  /** Milliseconds after which the idle connection is closed. */
  readonly keepAliveMs: number;
}

/** uvicorn closes an idle connection after 5 s. */
const KEEP_ALIVE_MS = 5_000;

/** Faults of an answer in the order in which they are asked for. */
const BREAKS: readonly (readonly [FaultName, AnswerBreak])[] = [
  ["resetBeforeHead", "reset_before_head"],
  ["silentHead", "silent_head"],
  ["notHttp", "not_http"],
  ["resetMidStream", "reset"],
  ["truncated", "truncate"],
  ["stalledStream", "stall"],
];

/** Statuses an engine refuses with. */
const REFUSALS: readonly (readonly [FaultName, number])[] = [
  ["status429", 429],
  ["status500", 500],
  ["status503", 503],
];

/**
 * Draws an answer.
 *
 * @param strikes Whether a fault happens now; logs it if so.
 */
export function planAnswer(
  { endpoint, request, chance, framings, strikes }: {
    readonly endpoint: string;
    readonly request: string;
    readonly chance: Chance;
    readonly framings: readonly AnswerFraming[];
    readonly strikes: (name: FaultName) => boolean;
  },
): PlannedAnswer {
  const refusal = REFUSALS.find(([name]) => strikes(name))?.[1];
  const breaks = BREAKS.find(([name]) => strikes(name))?.[1];
  const isSlow = strikes("slowFirstByte");
  const isStale = strikes("staleClose");
  const framing = refusal === undefined ? chance.pick(framings) : "length";
  const count = refusal === undefined ? chance.between(1, 12) : 1;
  // Now and then an answer is larger than every buffer on its way.
  const width = chance.oneIn(16) ? 20_000 : chance.between(0, 60);
  const pieces = Array.from({ length: count }, (_, index) => {
    const text = `{"by":"${endpoint}","for":"${request}","at":${index},"pad":"${
      "x".repeat(width)
    }"}`;
    return framing === "events" ? `data: ${text}\n\n` : text;
  });
  return {
    status: refusal ?? 200,
    framing,
    retryAfterS: refusal === 503 || refusal === 429 ? 1 : undefined,
    firstByteMs: isSlow ? chance.between(500, 5_000) : chance.between(2, 60),
    pieceGapMs: chance.between(0, 20),
    pieces,
    breakAfter: chance.below(count),
    breaks,
    isEarly: refusal !== undefined && chance.oneIn(2),
    hasInterim: chance.oneIn(12),
    keepAliveMs: isStale ? chance.between(0, 40) : KEEP_ALIVE_MS,
  };
}
