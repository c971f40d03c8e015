/**
 * What worker threads learn of endpoints from the traffic itself.
 *
 * It is a circuit breaker without a half-open state of its own: it opens by
 * ejecting the endpoint in the shared table, at once and for all threads, and
 * the main thread, which sees that within a tick, lets it back by probes.
 *
 * - Connect failures, resets and timeouts are failures; so many in a row eject
 *   the endpoint, but never the last ready one: with all of them failing, it
 *   is more likely that the network is at fault, or a client's requests.
 * - An answer below 400 ends the row. 4xx is neutral, neither failure nor
 *   success: one bad client must not open the breaker, nor hold it closed.
 *   5xx is neutral too, as the engine can be reached.
 * - 429 and 503 are back-pressure. With a `Retry-After` the endpoint counts as
 *   full until then.
 *
 * Invariant: every call is a few atomic steps on the endpoint's own cache
 * line; nothing is sent to another thread.
 *
 * @module
 */
import type { EndpointTable } from "./endpoint_table.ts";
import type { ErrorCode } from "../error.ts";
import { isFailureKind } from "./failure_kind.ts";

/**
 * Longest that an engine is left alone, in seconds. Engines say a few; a
 * misread date or a typing error must not take one out for a day.
 */
const RETRY_AFTER_S_MAX = 60;

/**
 * How long waiting calls are kept from the last endpoint of their pool when it
 * has refused to be connected to: an engine that starts again takes seconds, and each try before
 * costs a call.
 */
const UNREACHABLE_PAUSE_MS = 1_000;

/** Statuses by which an engine says that it has too much to do. */
const BACK_PRESSURE: ReadonlySet<number> = new Set([429, 503]);

/**
 * What an answer came to: `answered` ends the row of failures, `neutral` does
 * nothing, `busy` is back-pressure.
 */
export type AnswerEffect = "answered" | "neutral" | "busy";

/**
 * What a failure came to: `counted` for one more in the row, `ejected` when
 * this call ejected the endpoint, `kept` when it would have but for being the
 * last one, `neutral` when it is none that speaks against the endpoint.
 */
export type FailureEffect = "counted" | "ejected" | "kept" | "neutral";

/** What is known of a failure. */
export interface FailureFacts {
  /** What the attempt, or the relay after it, ended with. */
  readonly code: ErrorCode;
  /**
   * Where the request could have gone. The last eligible endpoint of a pool is
   * kept as well, since nobody else serves its models.
   */
  readonly pool?: Alternatives | undefined;
}

/** The endpoints among which a failing one was chosen; a `Pool` is one. */
export interface Alternatives {
  readonly count: number;
  slot(index: number): number;
  isEligible(index: number): boolean;
}

/** One thread's side of passive health. */
export class PassiveHealth {
  readonly #table: EndpointTable;

  constructor(table: EndpointTable) {
    this.#table = table;
  }

  /**
   * Notes an answer's final status, as soon as its head is there.
   *
   * @param retryAfterS Seconds of its `Retry-After`, if it has one that is
   * understood.
   */
  answered(
    slot: number,
    status: number,
    retryAfterS: number | undefined,
    nowMs: number,
  ): AnswerEffect {
    const table = this.#table;
    table.noteAnswer(slot, nowMs);
    if (BACK_PRESSURE.has(status)) {
      if (retryAfterS !== undefined && retryAfterS > 0) {
        const seconds = Math.min(retryAfterS, RETRY_AFTER_S_MAX);
        table.setBusyUntil(slot, nowMs + seconds * 1_000);
      }
      return "busy";
    }
    if (status >= 400) return "neutral";
    table.clearFailures(slot);
    if (table.isBusy(slot, nowMs)) table.setBusyUntil(slot, 0);
    return "answered";
  }

  /**
   * Notes that an attempt, or the relay of its answer, failed by the
   * endpoint's fault; without `facts` it counts as a failure in any case.
   */
  failed(slot: number, nowMs: number, facts?: FailureFacts): FailureEffect {
    const code = facts?.code;
    if (code !== undefined && !isFailureKind(code)) return "neutral";
    const table = this.#table;
    const failures = table.addFailure(slot, code);
    const pool = facts?.pool;
    const isLast = pool !== undefined && !hasOther(pool, slot);
    if (code === "upstream_unreachable" && isLast) {
      table.setBusyUntil(slot, nowMs + UNREACHABLE_PAUSE_MS);
    }
    const max = table.failuresMax(slot);
    if (max === 0 || failures < max) return "counted";
    if (isLast) return "kept";
    const effect = table.tryEject(slot, nowMs);
    return effect === "not_ready" ? "counted" : effect;
  }
}

function hasOther(pool: Alternatives, slot: number): boolean {
  for (let index = 0; index < pool.count; index++) {
    if (pool.slot(index) !== slot && pool.isEligible(index)) return true;
  }
  return false;
}
