/**
 * Tests of the small parts: agenda, texts, figures and table.
 *
 * @module
 */
import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertThrows,
} from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import * as scheduling from "../scheduling/mod.ts";
import { Agenda } from "./agenda.ts";
import { saturatingRate } from "./calibration.ts";
import { contenderOf, CONTENDERS } from "./contenders.ts";
import { ENGINE_MODEL } from "./engines.ts";
import { runExperiment } from "./experiment.ts";
import { jainIndex, quantile, Tally } from "./figures.ts";
import { drawPrograms } from "./programs.ts";
import { tableLines } from "./table.ts";
import { Transcripts } from "./transcripts.ts";

const QUEUE = {
  boostRatio: 2,
  overdueMs: 20_000,
  timeoutMs: 60_000,
  patienceMs: 5_000,
  inFlightMax: 32,
};

test("Agenda keeps the order of time, then of notes", () => {
  const agenda = new Agenda();
  const seen: string[] = [];
  assertEquals(agenda.nextAtMs, Infinity);
  agenda.runNext();
  for (
    const [atMs, name] of [[3, "c"], [1, "a"], [3, "d"], [2, "b"]] as const
  ) {
    agenda.note(atMs, (nowMs) => seen.push(`${name}${nowMs}`));
  }
  while (agenda.nextAtMs < Infinity) agenda.runNext();
  assertEquals(seen, ["a1", "b2", "c3", "d3"]);
});

test("Transcripts share names as far as texts share full blocks", () => {
  const texts = new Transcripts();
  const root = texts.follow(undefined, { inputTokens: 40, answerTokens: 7 });
  assertEquals(root.promptTokens, 40);
  assertEquals(root.chain, { names: [0, 1], byteCount: 4 * 47 });
  const call = { inputTokens: 20, answerTokens: 1 };
  const [left, right] = [texts.follow(root, call), texts.follow(root, call)];
  assertEquals([left.promptTokens, left.chain.byteCount], [67, 4 * 68]);
  assertEquals(left.chain.names.slice(0, 2), root.chain.names);
  assertEquals(left.chain.names.length, 4);
  assert(left.chain.names[2] !== right.chain.names[2]);
});

test("quantile() takes the nearest rank", () => {
  const table: [number[], number, number][] = [
    [[], 0.5, NaN],
    [[7], 0.5, 7],
    [[7], 0.99, 7],
    [[1, 2], 0.5, 1],
    [[1, 2, 3, 4], 0.75, 3],
    [[1, 2, 3, 4], 0.76, 4],
    [[1, 2, 3, 4], 0, 1],
  ];
  for (const [values, share, expected] of table) {
    assertEquals(quantile(values, share), expected);
  }
});

test("jainIndex() is 1 for equals and 1/n for one that has all", () => {
  assertEquals(jainIndex([]), NaN);
  assertEquals(jainIndex([3, 3, 3]), 1);
  assertEquals(jainIndex([5, 0, 0, 0]), 0.25);
  assertAlmostEquals(jainIndex([1, 2]), 0.9);
});

test("Tally leaves out the first tenth, and shed programs from means", () => {
  const tally = new Tally(0.1);
  for (let at = 0; at < 20; at++) {
    tally.addProgram({
      shape: "a",
      arrivedAtMs: at,
      responseMs: at < 2 ? 1e9 : at === 5 ? NaN : 100,
      idealMs: 50,
      callCount: 1,
    });
  }
  const figures = tally.figures({
    cacheTokens: { looked: 4, found: 3 },
    spills: 6,
  });
  assertEquals(
    [figures.programs, figures.meanMs, figures.p99Ms, figures.slowdown],
    [17, 100, 100, 2],
  );
  assertEquals([figures.shed, figures.cacheHits, figures.spills], [1, 0.75, 6]);
});

test("contenders have every scheduling policy, and names of their own", () => {
  const names = CONTENDERS.map(({ name }) => name);
  assertEquals(new Set(names).size, names.length);
  for (const { name } of Object.values(scheduling)) {
    assertEquals(contenderOf(name).policy.name, name);
  }
  assertThrows(
    () => contenderOf("none"),
    TypeError,
    'Cannot find contender "none": known are round_robin, sticky',
  );
});

test("saturatingRate() is below what the batch could do without prefill", () => {
  const programs = drawPrograms({
    workload: "sharegpt",
    programCount: 100,
    programsPerSecond: Infinity,
    seed: 1,
  });
  const calls = programs.flatMap(({ rounds }) =>
    rounds.flatMap(({ calls }) => calls)
  );
  const decodeMs = calls.reduce(
    (sum, { answerTokens }) =>
      sum + answerTokens * ENGINE_MODEL.decodeMsPerToken,
    0,
  );
  const most = 1_000 * programs.length * ENGINE_MODEL.batchMax / decodeMs;
  const options = { programs, model: ENGINE_MODEL, queue: QUEUE, seed: 1 };
  const rate = saturatingRate(options);
  assert(rate > most / 3 && rate < most, `${rate} of ${most}`);
  assertEquals(saturatingRate(options), rate);
});

test("runExperiment() yields a row for each load and contender", () => {
  const rows = [...runExperiment({
    workload: "bfcl",
    engineCount: 2,
    programCount: 20,
    loads: [0.5, 0.9],
    contenders: [contenderOf("fcfs"), contenderOf("las")],
    model: ENGINE_MODEL,
    queue: QUEUE,
    seed: 1,
  })];
  assertEquals(
    rows.map(({ contender, load }) => `${contender} ${load}`),
    ["fcfs 0.5", "las 0.5", "fcfs 0.9", "las 0.9"],
  );
  const lines = tableLines(rows);
  assertEquals(lines.length, 5);
  assertEquals(new Set(lines.map((line) => line.length)).size, 1);
  assert(lines[1]?.startsWith("bfcl      fcfs "), lines[1]);
});
