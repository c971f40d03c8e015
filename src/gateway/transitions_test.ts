/**
 * Calls go where the table lets them, by type and at run time; transitions are
 * timed and told.
 *
 * @module
 */
import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { test } from "../../tests/leakproof.ts";
import { Counters } from "../core/counting/counters.ts";
import type { Log, LogFields } from "../core/outside.ts";
import type { Placed } from "../core/placement/placement.ts";
import type { Pool } from "../core/placement/pool.ts";
import type { UpstreamResponse } from "../upstream/client.ts";
import type { Call } from "./call.ts";
import type { ClientRequest } from "./client_request.ts";
import { type OpenPhase, type Phase, PHASES, SUCCESSORS } from "./phase.ts";
import type { Target } from "./routes.ts";
import type { Sniffed } from "./sniff.ts";
import { PhaseTimes } from "./phase_times.ts";
import { trafficLayout } from "./traffic.ts";
import { Transitions } from "./transitions.ts";

// Transitions hand these on and look at none but the outcome.
const request = {} as ClientRequest;
const sniffed = { model: "m" } as Sniffed;
const pool = { count: 2 } as Pool;
const placed = { slot: 1, outcome: "hit" } as Placed;
const target = { id: "e1" } as Target;
const response = { status: 200 } as UpstreamResponse;

/** Transitions on a clock that is set by hand. */
class Bench {
  nowMs = 1_000;
  readonly events: LogFields[] = [];
  readonly transitions: Transitions;
  readonly #counters: Counters;

  constructor(takesDebug = false) {
    const layout = trafficLayout([]);
    const buffer = new SharedArrayBuffer(Counters.bytesFor(layout, 1));
    this.#counters = new Counters(layout, buffer);
    const log: Log = (_level, _event, fields = {}) => this.events.push(fields);
    this.transitions = new Transitions({
      outside: {
        clock: { nowMs: () => this.nowMs, after: () => () => {} },
        log: Object.assign(log, { takesDebug }),
      },
      times: new PhaseTimes(layout, this.#counters.row(0)),
    });
  }

  /** Samples of each histogram that has any, and their sum, by label. */
  times(): Record<string, readonly [count: number, sumMs: number]> {
    const times: Record<string, readonly [number, number]> = {};
    for (const family of this.#counters.layout.histograms) {
      family.values.forEach((value, index) => {
        const { bucketCounts, sumMs } = this.#counters.histogram(family, index);
        const count = bucketCounts.reduce((sum, count) => sum + count, 0);
        if (count > 0) times[value || family.name] = [count, sumMs];
      });
    }
    return times;
  }
}

/** Goes the straight way, taking 1 ms in accept, 2 in sniff, 4 in key, ... */
function goStraight(bench: Bench): Call<"relay"> {
  const { transitions } = bench;
  const call = transitions.begin(request, "id");
  bench.nowMs += 1;
  const sniffing = transitions.advance(call, "sniff");
  bench.nowMs += 2;
  const keyed = transitions.advance(sniffing, "key", sniffed);
  bench.nowMs += 4;
  const ranking = transitions.advance(keyed, "rank");
  bench.nowMs += 8;
  const admitting = transitions.advance(ranking, "admit", pool);
  bench.nowMs += 16;
  const attempting = transitions.advance(
    admitting,
    "attempt",
    placed,
    target,
  );
  bench.nowMs += 32;
  return transitions.advance(attempting, "relay", response);
}

/**
 * What the compiler has to refuse. It is never called: should a line become
 * legal, the directive above it is the error.
 */
export function refusedByType(
  transitions: Transitions,
  calls: {
    readonly accept: Call<"accept">;
    readonly sniff: Call<"sniff">;
    readonly rank: Call<"rank">;
    readonly admit: Call<"admit">;
    readonly attempt: Call<"attempt">;
    readonly relay: Call<"relay">;
    readonly settle: Call<"settle">;
    readonly open: Call<OpenPhase>;
    readonly either: Call<"attempt" | "accept">;
  },
): unknown[] {
  return [
    // @ts-expect-error A phase is left out.
    transitions.advance(calls.accept, "key", sniffed),
    // @ts-expect-error It is in that phase already.
    transitions.advance(calls.accept, "accept"),
    // @ts-expect-error There is no way back.
    transitions.advance(calls.sniff, "accept"),
    // @ts-expect-error A key without what was sniffed.
    transitions.advance(calls.sniff, "key"),
    // @ts-expect-error No pool to admit to.
    transitions.advance(calls.rank, "admit"),
    // @ts-expect-error An attempt that was not admitted.
    transitions.advance(calls.rank, "attempt", placed, target),
    // @ts-expect-error A place without an endpoint.
    transitions.advance(calls.admit, "attempt", placed),
    // @ts-expect-error A pool for a place.
    transitions.advance(calls.admit, "attempt", pool, target),
    // @ts-expect-error An answer that nobody was asked for.
    transitions.advance(calls.admit, "relay", response),
    // @ts-expect-error Failover goes by way of admit.
    transitions.advance(calls.attempt, "attempt", placed, target),
    // @ts-expect-error Once a byte of an answer has come there is no other.
    transitions.advance(calls.relay, "admit", pool),
    // @ts-expect-error Settled is settled.
    transitions.advance(calls.settle, "settle"),
    // @ts-expect-error Of phases that are not told apart, all must allow it.
    transitions.advance(calls.either, "relay", response),
    // @ts-expect-error What is not settled has not ended.
    transitions.end(calls.relay),
    // @ts-expect-error Nothing is placed before admission.
    calls.admit.placed.slot,
    // @ts-expect-error Nothing has answered during an attempt.
    calls.attempt.response.status,
    // @ts-expect-error An open call may have no place.
    calls.open.placed.slot,
    // @ts-expect-error A settled call may have come from any phase.
    calls.settle.sniffed.body,
    // @ts-expect-error Only transitions write the phase.
    calls.relay.phase = "relay",
    // @ts-expect-error Only transitions write what is held.
    calls.relay.placed = placed,
    // @ts-expect-error A call cannot be made up.
    { ...calls.accept, phase: "sniff" } satisfies Call<"sniff">,
    // @ts-expect-error Nor taken for one in another phase.
    calls.accept satisfies Call<"sniff">,
    // What follows is legal: present where it must be.
    calls.relay.placed.slot + calls.relay.response.status,
    calls.attempt.target.id + calls.admit.pool.count,
    calls.relay satisfies Call<OpenPhase>,
    calls.settle satisfies Call,
  ];
}

test("Transitions.advance() gives a phase what it needs", () => {
  const bench = new Bench();
  const relaying = goStraight(bench);
  assertEquals(relaying.sniffed, sniffed);
  assertEquals(relaying.pool, pool);
  assertEquals(relaying.placed, placed);
  assertEquals(relaying.target, target);
  assertEquals(relaying.response, response);
  assertEquals(relaying.outcome, "hit");
});

test("Transitions.advance() drops the place of a failed attempt", () => {
  const { transitions } = new Bench();
  const sniffing = transitions.advance(
    transitions.begin(request, "id"),
    "sniff",
  );
  const keyed = transitions.advance(sniffing, "key", sniffed);
  const ranking = transitions.advance(keyed, "rank");
  const first = transitions.advance(ranking, "admit", pool);
  const failed = transitions.advance(first, "attempt", placed, target);
  const second = transitions.advance(failed, "admit", failed.pool);
  assertEquals(second.placed, undefined);
  assertEquals(second.target, target, "the last one is still told of");
  const other = { ...target, id: "e2" };
  const again = { ...placed, slot: 2, outcome: "spilled" as const };
  const attempting = transitions.advance(second, "attempt", again, other);
  assertEquals(attempting.placed.slot, 2);
  assertEquals(attempting.target.id, "e2");
  assertEquals(attempting.outcome, "spilled");
});

test("Transitions.advance() refuses a stale reference", () => {
  const { transitions } = new Bench();
  const call = transitions.begin(request, "id");
  transitions.advance(call, "sniff");
  assertThrows(
    () => transitions.advance(call, "sniff"),
    Error,
    'Cannot move request "id" to "sniff": it is in "sniff"',
  );
  transitions.advance(call, "settle");
  assertThrows(
    () => transitions.advance(call, "settle"),
    Error,
    'to "settle": it is in "settle"',
  );
});

test("Transitions.advance() takes the ways of the table and no other", () => {
  // Without its types, as a stale reference is without them.
  type Untyped = (call: Call, next: Phase, a?: unknown, b?: unknown) => Call;
  const next: Readonly<Record<Phase, readonly Phase[]>> = SUCCESSORS;
  const gain = (phase: Phase) =>
    phase === "attempt" ? [placed, target] : [undefined];
  const ways = fc.array(fc.constantFrom(...PHASES), { maxLength: 30 });
  fc.assert(fc.property(ways, (way) => {
    const bench = new Bench();
    const { transitions } = bench;
    const advance = transitions.advance.bind(transitions) as Untyped;
    const call: Call = transitions.begin(request, "id");
    for (const phase of way) {
      const from = call.phase;
      if (next[from].includes(phase)) {
        advance(call, phase, ...gain(phase));
        assertEquals(call.phase, phase);
        assertEquals(PHASES[call.phaseIndex], phase);
      } else {
        assertThrows(() => advance(call, phase, ...gain(phase)), Error, from);
        assertEquals(call.phase, from);
      }
    }
  }));
});

test("Transitions time each phase, and the whole", () => {
  const bench = new Bench();
  const relaying = goStraight(bench);
  bench.nowMs += 64;
  const settling = bench.transitions.advance(relaying, "settle");
  bench.nowMs += 128;
  bench.transitions.end(settling);
  assertEquals(bench.times(), {
    accept: [1, 1],
    sniff: [1, 2],
    key: [1, 4],
    rank: [1, 8],
    admit: [1, 16],
    attempt: [1, 32],
    relay: [1, 64],
    settle: [1, 128],
    tryst_request_seconds: [1, 255],
  });
});

test("Transitions are told where debug events are taken, and only there", () => {
  const silent = new Bench();
  goStraight(silent);
  assertEquals(silent.events, []);
  const bench = new Bench(true);
  const { transitions } = bench;
  const call = transitions.begin(request, "id");
  bench.nowMs += 3;
  transitions.end(transitions.advance(call, "settle"));
  assertEquals(bench.events, [
    { request_id: "id", phase: "accept", ms: 3, next: "settle" },
    { request_id: "id", phase: "settle", ms: 0, next: undefined },
  ]);
});
