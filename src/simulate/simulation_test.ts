/**
 * Tests of runs: times that can be worked out by hand, nothing lost in any run,
 * and that a run is repeated exactly.
 *
 * @module
 */
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../tests/leakproof.ts";
import { contenderOf, CONTENDERS } from "./contenders.ts";
import { ENGINE_MODEL } from "./engines.ts";
import { idealMs } from "./ideal.ts";
import type { LiveCall } from "./live_call.ts";
import type { ProgramOutcome } from "./player.ts";
import { callCountOf, drawPrograms, type Program } from "./programs.ts";
import { Simulation, type SimulationOptions } from "./simulation.ts";

/** Round numbers: 1 ms a token of prefill, 10 ms a token of an answer. */
const MODEL = {
  prefillMsPerToken: 1,
  decodeMsPerToken: 10,
  batchMax: 1,
  cacheBlocks: 4_096,
};

const QUEUE = {
  boostRatio: 2,
  overdueMs: 20_000,
  timeoutMs: 60_000,
  patienceMs: 1_000,
  inFlightMax: 1,
};

/** A program of calls one after the other, each of so many tokens. */
function serial(
  number: number,
  arrivesAtMs: number,
  calls: readonly (readonly [input: number, answer: number])[],
): Program {
  const rounds = calls.map(([inputTokens, answerTokens], at) => ({
    pauseMs: 0,
    after: at === 0 ? undefined : { round: at - 1, call: 0 },
    calls: [{ inputTokens, answerTokens }],
  }));
  return { number, shape: "serial", arrivesAtMs, rounds };
}

/** Runs, and returns what came of programs and calls beside the figures. */
function play(options: Partial<SimulationOptions>) {
  const outcomes: ProgramOutcome[] = [];
  const calls: LiveCall[] = [];
  const figures = new Simulation({
    programs: [],
    contender: contenderOf("fcfs"),
    engineCount: 1,
    model: MODEL,
    queue: QUEUE,
    seed: 1,
    onProgram: (outcome) => outcomes.push(outcome),
    onCall: (call) => calls.push(call),
    ...options,
  }).run();
  return { figures, outcomes, calls };
}

test("Simulation runs no programs", () => {
  const { figures, outcomes } = play({});
  assertEquals([outcomes.length, figures.calls, figures.programs], [0, 0, 0]);
});

test("Simulation takes the time that can be worked out by hand", () => {
  // The first token comes with the prefill: 100 + 10 * 10 ms.
  const one = serial(0, 5, [[100, 11]]);
  assertEquals(play({ programs: [one] }).outcomes[0]?.responseMs, 200);
  // 111 tokens of history are 6 blocks and 15 tokens: 115 tokens of prefill.
  const two = serial(0, 5, [[100, 11], [100, 11]]);
  const { calls, outcomes } = play({ programs: [two] });
  assertEquals(calls.map(({ cachedTokens }) => cachedTokens), [0, 96]);
  assertEquals(outcomes[0]?.responseMs, 200 + 115 + 100);
});

test("Simulation lets calls wait for the batch", () => {
  const programs = [serial(0, 0, [[100, 11]]), serial(1, 50, [[100, 11]])];
  for (const name of ["sticky", "fcfs"]) {
    const { calls, figures } = play({
      programs,
      contender: contenderOf(name),
    });
    assertEquals(calls.map(({ endedAtMs }) => endedAtMs), [200, 400], name);
    assertEquals(figures.longestWaitMs, 150);
    assertEquals(figures.longestQueuedMs, name === "fcfs" ? 150 : 0);
  }
});

test("Simulation sheds a program whose call waits too long", () => {
  const programs = [
    serial(0, 0, [[100, 100]]),
    serial(1, 50, [[100, 11], [100, 11]]),
  ];
  const queue = { ...QUEUE, timeoutMs: 500 };
  const { calls, outcomes } = play({ programs, queue });
  assertEquals(calls.length, 1);
  assertEquals(
    outcomes.map(({ responseMs }) => Number.isNaN(responseMs)),
    [true, false],
  );
  assertEquals(outcomes[0]?.callCount, 1);
});

test("Simulation serves by the policy of the contender", () => {
  // While the first call runs, two new sessions start to wait, the one with
  // more work first. Then the first session comes back.
  const later = [serial(1, 10, [[400, 400]]), serial(2, 20, [[100, 20]])];
  const short = serial(0, 0, [[100, 200], [10, 20]]);
  const long = serial(0, 0, [[100, 6_200], [10, 20]]);
  const table = [
    ["sticky", short, [0, 1, 2, 0]],
    ["queued_round_robin", short, [0, 1, 2, 0]],
    // Two seconds of service are no reason to make way for who is new.
    ["critical_path", short, [0, 1, 0, 2]],
    ["las", short, [0, 1, 0, 2]],
    ["fcfs", long, [0, 1, 0, 2]],
    // Sixty-two are.
    ["critical_path", long, [0, 1, 2, 0]],
    ["las", long, [0, 1, 2, 0]],
    // Left are 0.2, 0.3 and 4.4 s, of which the first comes back last.
    ["oracle", short, [0, 2, 0, 1]],
  ] as const;
  const queue = {
    ...QUEUE,
    boostRatio: Infinity,
    overdueMs: Infinity,
    timeoutMs: Infinity,
  };
  for (const [name, first, order] of table) {
    const contender = contenderOf(name);
    const { calls } = play({ programs: [first, ...later], contender, queue });
    assertEquals(calls.map(({ program }) => program), [...order], name);
  }
});

test("Simulation learns how many calls an engine takes", () => {
  const programs = drawPrograms({
    workload: "bfcl",
    programCount: 150,
    programsPerSecond: 20,
    seed: 3,
  });
  const queue = { ...QUEUE, inFlightMax: undefined, timeoutMs: Infinity };
  const options = { programs, model: ENGINE_MODEL, queue };
  const learned = play({ ...options, contender: contenderOf("las") });
  assert(learned.figures.longestQueuedMs > 0);
  assertEquals(learned.outcomes.length, programs.length);
  // Who waits in the engine is not held back by what nobody learns.
  const plain = play({ ...options, contender: contenderOf("sticky") });
  assertEquals(plain.figures.longestQueuedMs, 0);
});

test("Simulation never has more calls on an engine than let through", () => {
  const programs = drawPrograms({
    workload: "bfcl",
    programCount: 40,
    programsPerSecond: 20,
    seed: 3,
  });
  const { calls } = play({
    programs,
    model: { ...ENGINE_MODEL, batchMax: 8 },
    queue: { ...QUEUE, inFlightMax: 4, timeoutMs: Infinity },
    contender: contenderOf("critical_path"),
  });
  const changes = calls.flatMap(({ endedAtMs, startedAtMs }) => [
    [startedAtMs, 1] as const,
    [endedAtMs, -1] as const,
  ]).toSorted(([one, first], [other, second]) => one - other || first - second);
  let running = 0;
  let most = 0;
  for (const [, change] of changes) {
    running += change;
    most = Math.max(most, running);
  }
  assertEquals([running, most], [0, 4]);
});

test("Simulation loses nothing, whatever the contender and the load", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...CONTENDERS),
      fc.constantFrom("sharegpt", "bfcl", "lats", "mixed"),
      fc.integer({ min: 1, max: 4 }),
      fc.double({ min: 0.05, max: 5, noNaN: true }),
      fc.integer({ min: 1, max: 10_000 }),
      (contender, workload, engineCount, programsPerSecond, seed) => {
        const programs = drawPrograms({
          workload,
          programCount: 12,
          programsPerSecond,
          seed,
        });
        const { calls, figures, outcomes } = play({
          programs,
          contender,
          engineCount,
          model: { ...ENGINE_MODEL, batchMax: 4 },
          queue: { ...QUEUE, inFlightMax: 4, timeoutMs: Infinity },
          seed,
        });
        assertEquals(outcomes.length, programs.length);
        const planned = programs.reduce(
          (sum, program) => sum + callCountOf(program),
          0,
        );
        assertEquals([calls.length, figures.calls], [planned, planned]);
        assertEquals(new Set(calls.map(({ id }) => id)).size, planned);
        for (const call of calls) {
          assert(call.startedAtMs >= call.arrivedAtMs);
          assert(call.firstTokenAtMs >= call.startedAtMs);
          assert(call.endedAtMs >= call.firstTokenAtMs);
        }
        if (engineCount > 1) return;
        for (const { idealMs, responseMs } of outcomes) {
          assert(responseMs >= idealMs - 1e-6, `${responseMs} ${idealMs}`);
        }
      },
    ),
    { numRuns: 20 },
  );
});

test("Simulation repeats itself exactly", () => {
  const programs = drawPrograms({
    workload: "mixed",
    programCount: 12,
    programsPerSecond: 1,
    seed: 5,
  });
  for (const contender of CONTENDERS) {
    const options = {
      programs,
      contender,
      engineCount: 3,
      model: { ...ENGINE_MODEL, batchMax: 4 },
      queue: { ...QUEUE, inFlightMax: 4 },
    };
    assertEquals(play(options).figures, play(options).figures);
  }
});

test("Simulation keeps a constant number of programs in a closed loop", () => {
  const programs = drawPrograms({
    workload: "bfcl",
    programCount: 30,
    programsPerSecond: Infinity,
    seed: 2,
  });
  const { calls, outcomes } = play({
    programs,
    closedCount: 3,
    model: ENGINE_MODEL,
    queue: { ...QUEUE, inFlightMax: 32 },
  });
  assertEquals(outcomes.length, 30);
  const spans = programs.map(({ number }) => {
    const own = calls.filter(({ program }) => program === number);
    return [
      Math.min(...own.map(({ arrivedAtMs }) => arrivedAtMs)),
      Math.max(...own.map(({ endedAtMs }) => endedAtMs)),
    ] as const;
  });
  for (const [beganAtMs] of spans) {
    const underWay = spans.filter(([from, to]) =>
      from <= beganAtMs && beganAtMs < to
    );
    assert(underWay.length <= 3, `${underWay.length}`);
  }
});

test("idealMs() is the time of a program alone, but for whole blocks", () => {
  for (
    const program of drawPrograms({
      workload: "mixed",
      programCount: 20,
      programsPerSecond: 1,
      seed: 9,
    })
  ) {
    const alone = { ...program, number: 0, arrivesAtMs: 0 };
    const { outcomes } = play({
      programs: [alone],
      model: { ...ENGINE_MODEL, cacheBlocks: 1_000_000 },
      queue: { ...QUEUE, inFlightMax: 32 },
    });
    const responseMs = outcomes[0]?.responseMs ?? 0;
    // Each call may prefill a block and a half anew.
    const slackMs = 2.4 * callCountOf(program);
    assertAlmostEquals(responseMs, idealMs(program, ENGINE_MODEL), slackMs);
  }
});
