/**
 * Tests of the workloads: what is refused, the published means, and that a
 * seed is all that chance depends on.
 *
 * @module
 */
import {
  assert,
  assertEquals,
  assertNotEquals,
  assertThrows,
} from "@std/assert";
import fc from "fast-check";
import { seededRandom } from "../../bench/engine/seeded.ts";
import { test } from "../../tests/leakproof.ts";
import { Lengths } from "./lengths.ts";
import { callCountOf, drawPrograms, type Program } from "./programs.ts";

const SAMPLE = 20_000;

function draw(workload: string, programCount = SAMPLE, seed = 1) {
  return drawPrograms({ workload, programCount, programsPerSecond: 2, seed });
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function callsOf(programs: readonly Program[]) {
  return programs.flatMap(({ rounds }) => rounds.flatMap(({ calls }) => calls));
}

test("Lengths refuse what cannot be", () => {
  const tables = [
    { mean: 1, max: 10, spread: 1 },
    { mean: NaN, max: 10, spread: 1 },
    { mean: 5, max: 10, spread: 0 },
    { mean: 5, max: 10.5, spread: 1 },
    { mean: 5, max: 100_001, spread: 1 },
    { mean: 11, max: 10, spread: 1 },
  ];
  for (const options of tables) {
    assertThrows(() => new Lengths(options), RangeError, "Cannot draw");
  }
});

test("Lengths keep mean and bounds", () => {
  fc.assert(
    fc.property(
      fc.double({ min: 1.5, max: 300, noNaN: true }),
      fc.double({ min: 0.2, max: 1.2, noNaN: true }),
      fc.integer({ min: 1, max: 1_000_000 }),
      (wanted, spread, seed) => {
        const max = Math.ceil(8 * wanted);
        const lengths = new Lengths({ mean: wanted, max, spread });
        const random = seededRandom(seed);
        const drawn = Array.from({ length: 5_000 }, () => lengths.draw(random));
        assert(drawn.every((length) => length >= 1 && length <= max));
        assert(drawn.every(Number.isInteger));
        assert(Math.abs(mean(drawn) / wanted - 1) < 0.12, `${mean(drawn)}`);
      },
    ),
    { numRuns: 30 },
  );
});

test("drawPrograms() refuses an unknown workload", () => {
  for (const workload of ["", "mixd", "toString"]) {
    assertThrows(
      () => draw(workload),
      TypeError,
      `Cannot find workload "${workload}": known are sharegpt, bfcl`,
    );
  }
});

test("drawPrograms() has the published means", () => {
  const tables = [
    ["sharegpt", 6.66, 80, 256, 277],
    ["bfcl", 10.75, 70, 735, 34],
    ["lats", 159.7, 1_200, 467, 73],
    ["mixed", (6.66 + 10.75 + 159.7) / 3, 1_200, undefined, undefined],
  ] as const;
  for (const [workload, calls, most, input, answer] of tables) {
    const programs = draw(workload, workload === "sharegpt" ? SAMPLE : 6_000);
    const counts = programs.map(callCountOf);
    assert(Math.abs(mean(counts) / calls - 1) < 0.04, `${mean(counts)}`);
    assert(Math.max(...counts) <= most);
    const all = callsOf(programs);
    const inputs = mean(all.map(({ inputTokens }) => inputTokens));
    const answers = mean(all.map(({ answerTokens }) => answerTokens));
    if (input !== undefined) assert(Math.abs(inputs / input - 1) < 0.02);
    if (answer !== undefined) assert(Math.abs(answers / answer - 1) < 0.02);
  }
});

test("drawPrograms() lets programs arrive as a Poisson process", () => {
  const programs = draw("bfcl");
  const gaps = programs.map(({ arrivesAtMs }, at) =>
    arrivesAtMs - (programs[at - 1]?.arrivesAtMs ?? 0)
  );
  const middle = mean(gaps);
  assert(Math.abs(middle / 500 - 1) < 0.03, `${middle}`);
  // Of an exponential distribution, mean and standard deviation are the same.
  const variance = mean(gaps.map((gap) => (gap - middle) ** 2));
  assert(Math.abs(Math.sqrt(variance) / middle - 1) < 0.05);
});

test("drawPrograms() lets a call go on from an earlier one", () => {
  for (const workload of ["sharegpt", "lats"]) {
    for (const { rounds } of draw(workload, 300)) {
      rounds.forEach(({ after }, at) => {
        if (at === 0) return assertEquals(after, undefined);
        assert(after !== undefined && after.round < at);
        assert(after.call < (rounds[after.round]?.calls.length ?? 0));
        const returns = workload === "lats" && at % 8 === 0;
        assertEquals(after.round, returns ? 0 : at - 1);
      });
    }
  }
});

test("drawPrograms() depends on its seed alone, and not on the load", () => {
  assertEquals(draw("mixed", 50), draw("mixed", 50));
  const rounds = (programs: readonly Program[]) =>
    programs.map(({ rounds }) => rounds);
  const faster = drawPrograms({
    workload: "mixed",
    programCount: 50,
    programsPerSecond: 20,
    seed: 1,
  });
  assertEquals(rounds(faster), rounds(draw("mixed", 50)));
  const slower = draw("mixed", 50);
  assert(faster.every(({ arrivesAtMs }, at) => {
    const slow = slower[at]?.arrivesAtMs ?? 0;
    return Math.abs(arrivesAtMs * 10 - slow) < 1e-6 * slow;
  }));
  assertNotEquals(rounds(draw("mixed", 50, 2)), rounds(slower));
});
