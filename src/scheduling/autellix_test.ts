/**
 * The worked example of Autellix (arXiv 2502.13965, Figure 2): two places, and
 * four programs that come at once and run their calls one after the other.
 *
 * The paper gives the steps that calls wait in total: 18 first come first
 * served, 18 with feedback queues for each call (MLFQ), 12 by attained service
 * of the program (PLAS). What it takes to get there with `las`, a step being
 * one quantum:
 *
 * - 18 first come first served is what a queue in front gives.
 * - 18 for MLFQ too: in front of the engine each call is new, so it starts on
 *   the first level, and the order is first come first served.
 * - 12 takes preemption: a running call that has left its level must make room
 *   for one on a lower level. Running calls keep their place inside a level.
 * - Without preemption `las` gives 14. The paper's 12 is out of reach: A and B
 *   start, being first, and no order of the rest waits less than 14 steps.
 *
 * No one way to preempt gives both 12 and the paper's MLFQ: with that of PLAS,
 * a quantum for each call of 1, 2 or 3 steps gives 15, 11 or 19, and one as
 * long as the longest call is first come first served again.
 *
 * Invariant: levels come from the policies' own code; only what a queue does
 * with them is modeled here.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import type {
  SchedulingFacts,
  SchedulingPolicy,
} from "../core/scheduling_policy.ts";
import { criticalPath } from "./critical_path.ts";
import { fcfs } from "./fcfs.ts";
import { las } from "./las.ts";
import { QUANTUM_MS } from "./level.ts";

/** Decode steps of each call, program by program. */
const PROGRAMS: readonly (readonly number[])[] = [
  [4, 3, 1, 1],
  [3, 3, 4],
  [1, 2],
  [4],
];

/** Calls that run at once. */
const PLACES = 2;

/** A call that waits or runs. */
interface Call {
  readonly program: number;
  /** Order of arrival over all calls; programs by letter in one step. */
  readonly arrival: number;
  readonly steps: number;
  /** Steps of the earlier calls of the program. */
  readonly attained: number;
  ran: number;
  isRunning: boolean;
}

/** How a queue treats calls. */
interface Rule {
  level(call: Call): number;
  /** Whether running calls have to compete again after each step. */
  readonly preempts: boolean;
}

/** Steps that all calls wait in total. */
function totalWait({ level, preempts }: Rule): number {
  let arrival = 0;
  const next = PROGRAMS.map(() => 0);
  let calls: Call[] = [];
  const arrive = (program: number, attained: number) => {
    const steps = PROGRAMS[program]?.[next[program] ?? 0];
    if (steps === undefined) return;
    next[program] = (next[program] ?? 0) + 1;
    const [ran, isRunning] = [0, false];
    calls.push({
      program,
      arrival: arrival++,
      steps,
      attained,
      ran,
      isRunning,
    });
  };
  const stays = (call: Call) => Number(call.isRunning);
  PROGRAMS.forEach((_, program) => arrive(program, 0));
  let wait = 0;
  while (calls.length > 0) {
    calls.sort((a, b) =>
      (preempts ? 0 : stays(b) - stays(a)) || level(a) - level(b) ||
      stays(b) - stays(a) || a.arrival - b.arrival
    );
    calls.forEach((call, at) => {
      call.isRunning = at < PLACES;
      if (call.isRunning) call.ran++;
      else wait++;
    });
    const ended = calls.filter((call) => call.ran === call.steps);
    calls = calls.filter((call) => call.ran < call.steps);
    ended.sort((a, b) => a.program - b.program);
    for (const { program, attained, ran } of ended) {
      arrive(program, attained + ran);
    }
  }
  return wait;
}

/** Facts of a call whose session has had that many steps of service. */
function factsOf(steps: number): SchedulingFacts {
  // Calls of a program run one by one: its path is all that it has had.
  const ms = steps * QUANTUM_MS;
  return {
    criticalPathMs: ms,
    attainedMs: ms,
    servedCount: 0,
    expectedMs: undefined,
  };
}

/** A policy in front of an engine: service until the call arrives counts. */
function inFront(policy: SchedulingPolicy): Rule {
  return {
    level: ({ attained }) => policy.level(factsOf(attained)),
    preempts: false,
  };
}

/** A policy in an engine that preempts: the call's own steps count as well. */
function inEngine(policy: SchedulingPolicy): Rule {
  return {
    level: ({ attained, ran }) => policy.level(factsOf(attained + ran)),
    preempts: true,
  };
}

/**
 * Feedback queues for each call: its own service counts, its program's does
 * not. A quantum is that many steps.
 */
function feedback(quantum: number, preempts: boolean): Rule {
  const policy = las.create();
  return { level: ({ ran }) => policy.level(factsOf(ran / quantum)), preempts };
}

/** What is left of a program: its calls, and steps of a running first one. */
interface Rest {
  readonly calls: readonly number[];
  readonly running: number;
}

/** The least total wait of all orders that never preempt and never idle. */
function leastWait(rests: readonly Rest[]): number {
  const waiting = rests.flatMap(({ calls, running }, at) =>
    calls.length > 0 && running === 0 ? [at] : []
  );
  const free = PLACES -
    rests.filter(({ running }) => running > 0).length;
  if (free > 0 && waiting.length > 0) {
    return Math.min(...waiting.map((at) => leastWait(started(rests, at))));
  }
  if (rests.every(({ calls }) => calls.length === 0)) return 0;
  const after = rests.map(({ calls, running }): Rest =>
    running === 1
      ? { calls: calls.slice(1), running: 0 }
      : { calls, running: Math.max(0, running - 1) }
  );
  return waiting.length + leastWait(after);
}

function started(rests: readonly Rest[], at: number): Rest[] {
  return rests.map((rest, index) =>
    index === at ? { ...rest, running: rest.calls[0] ?? 0 } : rest
  );
}

test("first come first served waits 18 steps, as in the paper", () => {
  assertEquals(totalWait(inFront(fcfs.create())), 18);
  assertEquals(totalWait(inEngine(fcfs.create())), 18);
});

test("feedback queues for each call wait 18 steps, as in the paper", () => {
  assertEquals(totalWait(feedback(1, false)), 18);
  const longest = Math.max(...PROGRAMS.flat());
  assertEquals(totalWait(feedback(longest, true)), 18);
});

test("attained service waits 12 steps with preemption, as in the paper", () => {
  assertEquals(totalWait(inEngine(las.create())), 12);
});

test("attained service waits 14 steps in front of an engine", () => {
  assertEquals(totalWait(inFront(las.create())), 14);
  assertEquals(totalWait(inFront(criticalPath.create())), 14);
});

test("no order without preemption waits less once A and B have started", () => {
  const rests = PROGRAMS.map((calls): Rest => ({ calls, running: 0 }));
  assertEquals(leastWait(started(started(rests, 0), 1)), 14);
});

test("feedback queues that preempt wait as long as their quantum says", () => {
  const waits = [1, 2, 3].map((quantum) => totalWait(feedback(quantum, true)));
  assertEquals(waits, [15, 11, 19]);
});
