/**
 * Moves calls from phase to phase; nothing else does.
 *
 * The compiler accepts the successors of the phase a call is in, and wants
 * what they bring along. What it cannot see is a reference that has gone
 * stale, since the call has been moved on through another: that is an error
 * when it is used.
 *
 * Invariant: every transition stands in `SUCCESSORS`, is timed, and is a log
 * event where such are wanted. It allocates nothing, and reads the clock once.
 *
 * @module
 */
import type { Outside } from "../core/outside.ts";
import type { Placed } from "../core/placement/placement.ts";
import type { Pool } from "../core/placement/pool.ts";
import { Roster } from "../core/roster.ts";
import type { UpstreamResponse } from "../upstream/client.ts";
import { type Call, type Gain, newCall } from "./call.ts";
import type { Tracer } from "./call_trace.ts";
import type { ClientRequest } from "./client_request.ts";
import { type Phase, PHASES, type Successor, SUCCESSORS } from "./phase.ts";
import type { PhaseTimes } from "./phase_times.ts";
import type { Target } from "./routes.ts";
import type { Sniffed } from "./sniff.ts";

/** The place of each phase in `PHASES`; a plain object is slower to ask. */
const INDEX: ReadonlyMap<Phase, number> = new Map(
  PHASES.map((phase, index) => [phase, index]),
);

/** `SUCCESSORS` by place: one bit for each phase that may follow. */
const MASKS: readonly number[] = PHASES.map((phase) =>
  SUCCESSORS[phase].reduce((mask, next) => mask | 1 << PHASES.indexOf(next), 0)
);

/** A call as it is written here; nowhere else is it writable. */
type Writable = { -readonly [Name in keyof Call]: Call[Name] };

/** What transitions are made with. */
export interface TransitionParts {
  readonly outside: Pick<Outside, "clock" | "log">;
  readonly times: PhaseTimes;
  /** `undefined` while nothing is traced. */
  readonly tracer?: Tracer | undefined;
}

/** The transitions of one gateway. */
export class Transitions {
  /** The calls that have begun and not ended. */
  readonly underWay = new Roster<Call>();
  readonly #parts: TransitionParts;

  constructor(parts: TransitionParts) {
    this.#parts = parts;
  }

  /** A request has come. */
  begin(request: ClientRequest, id: string): Call<"accept"> {
    const { outside, tracer } = this.#parts;
    const call = newCall(request, id, outside.clock.nowMs());
    call.trace = tracer?.begin(request.head.headers);
    this.underWay.add(call);
    return call;
  }

  /**
   * Moves a call on, and returns it as what it is from now on.
   *
   * @param gain What it has gained, by which it may enter `next`.
   * @throws {Error} when the call is not in that phase any more.
   */
  advance<From extends Phase, To extends Successor<From>>(
    call: Call<From>,
    next: To,
    ...gain: Gain[To]
  ): Call<To>;
  advance(stale: Call, next: Phase, first?: unknown, second?: unknown): Call {
    const call: Writable = stale;
    const index = INDEX.get(next) ?? -1;
    if (((MASKS[call.phaseIndex] ?? 0) >> index & 1) === 0) {
      throw new Error(
        `Cannot move request "${call.id}" to "${next}": it is in "${call.phase}"`,
      );
    }
    const nowMs = this.#leave(call, next);
    call.phase = next;
    call.phaseIndex = index;
    call.sinceMs = nowMs;
    // The overload above is what makes these casts true.
    switch (next) {
      case "key":
        call.sniffed = first as Sniffed;
        break;
      case "admit":
        call.pool = first as Pool;
        // After a failed attempt, whose place has been given back.
        call.placed = undefined;
        break;
      case "attempt":
        call.placed = first as Placed;
        call.outcome = call.placed.outcome;
        call.target = second as Target;
        break;
      case "relay":
        call.response = first as UpstreamResponse;
        call.firstByteAtMs = nowMs;
        break;
    }
    call.trace?.entered(next, nowMs, call.target?.id);
    return call;
  }

  /** A settled call is over. */
  end(call: Call<"settle">): void {
    const nowMs = this.#leave(call, undefined);
    this.#parts.times.ended(nowMs - call.acceptedAtMs);
    this.underWay.delete(call);
  }

  /** Counts, and tells, how long the call was in its phase until now. */
  #leave(call: Call, next: Phase | undefined): number {
    const { outside, times } = this.#parts;
    const nowMs = outside.clock.nowMs();
    const ms = nowMs - call.sinceMs;
    times.left(call.phaseIndex, ms);
    if (outside.log.takesDebug === true) {
      outside.log("debug", "request.phase", {
        request_id: call.id,
        phase: call.phase,
        ms,
        next,
      });
    }
    return nowMs;
  }
}
