/**
 * Conversations: sessions whose turns grow, with time to think in between.
 *
 * Invariant: a session keeps its key, its gateway, its model and the place of
 * its key; what a request is like follows from its number and the seed.
 *
 * @module
 */
import type { Header } from "../../src/core/request.ts";
import { type Chance, hashText } from "./chance.ts";
import type { ClientPlan } from "./client.ts";
import { MODELS, type Scenario, WINDOW_BYTES } from "./scenario.ts";

/** Where a session says who it is. */
type KeyPlace = "header" | "body_first" | "body_last" | "none";

/** A conversation. */
export interface Session {
  readonly name: string;
  readonly gateway: number;
  readonly model: string;
  readonly place: KeyPlace;
  readonly turnCount: number;
  readonly startMs: number;
}

/** Milliseconds over which sessions start that do not come in a burst. */
const START_MS_MAX = 10_000;

/** Bytes that a turn adds to a prompt, and those of a document it may hold. */
const TURN_BYTES_MAX = 1_500;
const DOCUMENT_BYTES_MAX = 150_000;

/** One turn in so many carries a document, and one request is a GET. */
const DOCUMENT_ONE_IN = 16;
const GET_ONE_IN = 10;

/** 16,000 bytes: pieces as a client's socket yields them. */
const PIECE_BYTES_MAX = 16_000;

const encoder = new TextEncoder();

/** Draws the sessions of a world. */
export function drawSessions(scenario: Scenario, chance: Chance): Session[] {
  return Array.from({ length: scenario.sessionCount }, (_, index) => ({
    name: `session-${index}`,
    gateway: chance.below(scenario.gatewayCount),
    model: scenario.hasTwoModels ? chance.pick(MODELS) : MODELS[0],
    place: chance.pick(
      ["header", "body_first", "body_last", "body_last", "none"] as const,
    ),
    turnCount: chance.between(1, scenario.turnCountMax),
    startMs: chance.below(scenario.isBurst ? 20 : START_MS_MAX),
  }));
}

/** Draws one request of a session. */
export function drawRequest(
  session: Session,
  { id, turn, scenario, chance }: {
    readonly id: string;
    readonly turn: number;
    readonly scenario: Scenario;
    readonly chance: Chance;
  },
): ClientPlan {
  const isGet = chance.oneIn(GET_ONE_IN);
  const headers: Header[] = [["host", "gateway"], ["x-request-id", id]];
  if (session.place === "header" || (isGet && session.place !== "none")) {
    headers.push(["x-session-id", session.name]);
  }
  const text = bodyText(session, turn, chance);
  const isSized = chance.oneIn(2);
  const pieces = cut(encoder.encode(text), chance);
  const vanishes = chance.happens(scenario.vanishing);
  const stalls = vanishes && chance.oneIn(5);
  if (!isGet) {
    headers.push(["content-type", "application/json"]);
    headers.push(
      isSized
        ? ["content-length", String(text.length)]
        : ["transfer-encoding", "chunked"],
    );
  }
  const leaves = chance.oneIn(2)
    ? { afterMs: chance.between(0, chance.pick([5, 50, 500])) }
    : { afterReads: chance.between(0, 8) };
  return {
    id,
    method: isGet ? "GET" : "POST",
    target: isGet ? "/v1/models" : `/v1/chat/completions?turn=${turn}`,
    headers,
    pieces: isGet ? undefined : pieces,
    isKeyLate: session.place === "body_last" && text.length > WINDOW_BYTES,
    bodyHash: hashText(isGet ? "" : text),
    pieceGapMs: chance.pick([0, 0, 1, 10]),
    isSized,
    readGapMs: chance.oneIn(6) ? chance.between(1, 100) : 0,
    stallsAt: stalls ? chance.below(pieces.length) : undefined,
    leaves: vanishes && !stalls ? leaves : undefined,
  };
}

/** A prompt as long as its conversation, with the key in front or behind. */
function bodyText(session: Session, turn: number, chance: Chance): string {
  const bytes = chance.oneIn(DOCUMENT_ONE_IN)
    ? chance.below(DOCUMENT_BYTES_MAX)
    : turn * chance.below(TURN_BYTES_MAX);
  const key = `"session_id":"${session.name}"`;
  const parts = [
    `"model":"${session.model}"`,
    `"messages":[{"role":"user","content":"${"w ".repeat(bytes >> 1)}"}]`,
  ];
  if (session.place === "body_first") parts.unshift(key);
  if (session.place === "body_last") parts.push(key);
  return `{${parts.join(",")}}`;
}

function cut(bytes: Uint8Array, chance: Chance): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = at + chance.between(1, PIECE_BYTES_MAX);
    pieces.push(bytes.subarray(at, end));
    at = end;
  }
  return pieces;
}
