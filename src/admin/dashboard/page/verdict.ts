/**
 * The one line that says how things are: what somebody who was woken up reads
 * first.
 *
 * Invariant: every state that needs a person is named, with what it is about,
 * and nothing else is.
 *
 * @module
 */
import type { EndpointState } from "../../../core/endpoint.ts";
import type { GatewayStatus } from "../../status.ts";
import { duration, number } from "./format.ts";

/** How bad things are. */
export type Level = "ok" | "note" | "warn" | "bad";

/** What is to be said. */
export interface Verdict {
  readonly level: Level;
  readonly text: string;
}

const LEVELS: readonly Level[] = ["ok", "note", "warn", "bad"];

/** Milliseconds of waiting that people notice. */
const LONG_WAIT_MS = 5_000;

/** Endpoints named in full; the table has the others. */
const NAMED_MAX = 3;

/** Weighs a status; `errorsPerSecond` is what went wrong of late. */
export function verdictOf(
  status: GatewayStatus,
  errorsPerSecond: number | null,
): Verdict {
  const said = [
    readiness(status),
    inState(status, "ejected", "warn"),
    inState(status, "probing", "note"),
    inState(status, "draining", "note"),
    missingWorkers(status),
    waiting(status),
    errors(status, errorsPerSecond),
  ].filter((verdict) => verdict !== undefined);
  if (said.length === 0) return { level: "ok", text: allReady(status) };
  const worst = Math.max(...said.map(({ level }) => LEVELS.indexOf(level)));
  return {
    level: LEVELS[worst] ?? "bad",
    text: said.map(({ text }) => text).join(" "),
  };
}

function allReady({ endpoints }: GatewayStatus): string {
  return endpoints.length === 1
    ? "The endpoint is ready."
    : `All ${endpoints.length} endpoints are ready.`;
}

function readiness({ isReady, endpoints }: GatewayStatus): Verdict | undefined {
  if (endpoints.length === 0) {
    return { level: "bad", text: "No endpoint is configured." };
  }
  if (!endpoints.some(({ state }) => state === "ready")) {
    return { level: "bad", text: "No endpoint takes work." };
  }
  return isReady
    ? undefined
    : { level: "bad", text: "The gateway is not ready." };
}

function inState(
  { endpoints }: GatewayStatus,
  state: EndpointState,
  level: Level,
): Verdict | undefined {
  const ids = endpoints.filter((it) => it.state === state).map(({ id }) => id);
  if (ids.length === 0) return undefined;
  const verb = ids.length === 1 ? "is" : "are";
  const named = ids.slice(0, NAMED_MAX).join(", ");
  const more = ids.length > NAMED_MAX ? ", …" : "";
  return {
    level,
    text: `${ids.length} of ${endpoints.length} endpoints ${verb} ${state}: ` +
      `${named}${more}.`,
  };
}

function missingWorkers({ workers }: GatewayStatus): Verdict | undefined {
  const { serving, total } = workers;
  if (serving >= total) return undefined;
  const level = serving === 0 ? "bad" : "warn";
  return { level, text: `${serving} of ${total} workers serve.` };
}

function waiting({ queue }: GatewayStatus): Verdict | undefined {
  if (queue.longestWaitMs < LONG_WAIT_MS || queue.waiting === 0) {
    return undefined;
  }
  const who = queue.waiting === 1
    ? "1 request waits"
    : `${number(queue.waiting)} requests wait`;
  return {
    level: "warn",
    text: `${who}, the longest for ${duration(queue.longestWaitMs)}.`,
  };
}

function errors(
  { failures }: GatewayStatus,
  perSecond: number | null,
): Verdict | undefined {
  if (perSecond === null || perSecond <= 0) return undefined;
  const latest = failures[0];
  const about = latest === undefined ? "" : `, the latest ${latest.code}`;
  return {
    level: "warn",
    text: `${number(perSecond, "rate")}\u00a0errors/s${about}.`,
  };
}
