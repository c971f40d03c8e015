/**
 * A learned limit when one thread comes between any two steps of another.
 *
 * Invariant: each thread has its own view of the tables, as in traffic.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import {
  CAPACITY_CHANGES,
  type CapacityCause,
  LEARNED_LIMIT,
} from "../../src/core/endpoints/capacity.ts";
import { CapacityTable } from "../../src/core/endpoints/capacity_table.ts";
import { EndpointTable } from "../../src/core/endpoints/endpoint_table.ts";
import { test } from "../leakproof.ts";
import { interrupted } from "./between_steps.ts";

/** Answers that a round takes. */
const ROUND = 16;

/** Where the limit begins. */
const START = 64;

/** Far above the steps of any act. */
const STEPS_MAX = 1_000;

const NOW_MS = 5_000;

/** One thread, and what it did. */
class Thread {
  readonly endpoints: EndpointTable;
  readonly capacity: CapacityTable;
  readonly causes: CapacityCause[] = [];
  answers = 0;

  constructor(other?: Thread) {
    this.endpoints = new EndpointTable(other?.endpoints.buffer);
    this.capacity = new CapacityTable(this.endpoints, other?.capacity.buffers);
  }

  answer(times: number): void {
    for (let count = 0; count < times; count++) {
      this.answers++;
      this.#note(this.capacity.answered(0, {
        kind: "stream",
        requestBytes: undefined,
        firstByteMs: 0,
        inFlightAtStart: 2_000,
        nowMs: NOW_MS,
      }));
    }
  }

  gauge(): void {
    const gauges = { running: 8, waiting: 1, cacheUsage: 0, nowMs: NOW_MS };
    this.#note(this.capacity.gauged(0, gauges));
  }

  #note(cause: CapacityCause | undefined): void {
    if (cause !== undefined) this.causes.push(cause);
  }
}

type Acts = Readonly<Record<string, (thread: Thread) => void>>;

const WORKER_ACTS: Acts = {
  "an answer": (thread) => thread.answer(1),
  "a round of answers": (thread) => thread.answer(ROUND),
  "two rounds of answers": (thread) => thread.answer(2 * ROUND),
};

/** There is one main thread, so none of these comes between another. */
const MAIN_ACTS: Acts = {
  "a reading": (thread) => thread.gauge(),
  "the same limit, configured": ({ endpoints }) => endpoints.setLimit(0, 64),
  "learning turned off": ({ capacity }) => capacity.setLearning(0, false),
  "learning turned off and on": ({ capacity }) => {
    capacity.setLearning(0, false);
    capacity.setLearning(0, true);
  },
};

const ACTS: Acts = { ...WORKER_ACTS, ...MAIN_ACTS };

/** One run; false when the act has no step `at`. */
function runOnce(
  names: { readonly act: string; readonly other: string },
  at: number,
): boolean {
  const one = new Thread();
  const two = new Thread(one);
  one.capacity.setLearning(0, true);
  one.endpoints.setLearned(0, START);
  // The next answer ends a round, and the next reading lowers the limit.
  one.answer(ROUND - 1);
  one.gauge();
  const isInterrupted = interrupted(
    at,
    () => ACTS[names.act]?.(one),
    () => ACTS[names.other]?.(two),
  );
  if (!isInterrupted) return false;
  assertConsistent(names, [one, two]);
  // Whatever happened, learning goes on.
  one.capacity.setLearning(0, true);
  one.causes.length = 0;
  one.answer(ROUND);
  assertEquals(one.causes.length, 1, "no round ends any more");
  return true;
}

function assertConsistent(
  { act, other }: { readonly act: string; readonly other: string },
  threads: readonly Thread[],
): void {
  const [{ endpoints }] = threads as [Thread];
  const causes = threads.flatMap((thread) => thread.causes);
  const limit = endpoints.learnedLimit(0);
  const isSet = (name: string) => /learning|configured/.test(name);
  if ([act, other].includes("the same limit, configured")) {
    assert(limit === 0 && [0, 64].includes(endpoints.limit(0)));
  } else if (!isSet(act) && !isSet(other)) {
    const answers = threads.reduce((sum, { answers }) => sum + answers, 0);
    const rounds = causes.filter((cause) => cause !== "engine_queue");
    assert(rounds.length * ROUND <= answers, "an answer was counted twice");
    const raised = causes.filter((cause) =>
      CAPACITY_CHANGES[cause] === "raised"
    );
    const isCut = causes.includes("engine_queue");
    // A cut leaves 12; what is raised before it is gone.
    if (isCut) assert(limit >= 12 && limit <= 12 + raised.length);
    else assertEquals(limit, START + raised.length);
  } else if (limit > 0) {
    assert(limit >= LEARNED_LIMIT.min && limit <= LEARNED_LIMIT.initial);
  }
}

test("a thread between any two steps of another decides no round twice", () => {
  for (const act of Object.keys(ACTS)) {
    const others = act in MAIN_ACTS ? WORKER_ACTS : ACTS;
    for (const other of Object.keys(others)) {
      let at = 0;
      try {
        while (at < STEPS_MAX && runOnce({ act, other }, at)) at++;
      } catch (error) {
        const text = JSON.stringify({ act, other, at });
        throw new Error(`Cannot interrupt ${text}`, { cause: error });
      }
      assert(at > 0 && at < STEPS_MAX, `${act} has ${at} steps`);
    }
  }
});
