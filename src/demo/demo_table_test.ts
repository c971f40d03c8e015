/**
 * The demo's table, line by line.
 *
 * Invariant: no terminal is needed to see what it draws.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { test } from "../../tests/leakproof.ts";
import type { ConversationEvent } from "./conversations.ts";
import { drawDemoTable, median, redraw } from "./demo_table.ts";
import { type DemoState, DemoTally } from "./demo_tally.ts";

const PLAIN = { hasColors: false, columns: 80 };

function turnEvent(
  conversation: number,
  turn: number,
  changes: Readonly<Record<string, unknown>> = {},
): ConversationEvent {
  return {
    kind: "turn",
    conversation,
    turn,
    keyPlace: "header",
    result: {
      text: "",
      firstTokenMs: 10,
      totalMs: 20,
      endpoint: "gpu0",
      affinity: turn === 0 ? "new" : "hit",
      promptTokens: 100,
      cachedTokens: turn === 0 ? 0 : 90,
      ...changes,
    },
  };
}

test("drawDemoTable() shows an empty state without dividing by it", () => {
  assertEquals(drawDemoTable(new DemoTally(["gpu0"]).state(), PLAIN), [
    "engine  sessions  requests  cache hits",
    "gpu0           0         0           -",
    "",
    "affinity   no answers yet",
    "",
    "time to first token, turns after the first (median)",
    "  session known            -  0 turns",
    "  random routing           -  0 turns",
  ]);
});

test("drawDemoTable() shows engines, outcomes and both medians", () => {
  const tally = new DemoTally(["gpu0", "gpu1"]);
  tally.addKnown(turnEvent(0, 0));
  tally.addKnown(turnEvent(0, 1, { firstTokenMs: 8 }));
  tally.addKnown(turnEvent(1, 0, { endpoint: "gpu1" }));
  tally.addKnown(turnEvent(1, 1, { endpoint: "gpu1", firstTokenMs: 12 }));
  tally.addKnown(turnEvent(2, 1, { endpoint: "elsewhere", affinity: "odd" }));
  tally.addKnown({ kind: "failed", conversation: 3, turn: 0, message: "" });
  tally.addRandom(turnEvent(0, 0, { firstTokenMs: 1 }));
  tally.addRandom(turnEvent(0, 1, { firstTokenMs: 45 }));
  assertEquals(drawDemoTable(tally.state(), PLAIN), [
    "engine  sessions  requests  cache hits",
    "gpu0           1         2      45.0 %",
    "gpu1           1         2      45.0 %",
    "",
    "affinity   new 2  hit 2",
    "",
    "time to first token, turns after the first (median)",
    "  session known      10.0 ms  3 turns",
    "  random routing     45.0 ms  1 turn",
    "  4.5 times sooner with the session known",
    "failed turns 1",
  ]);
});

test("DemoTally counts a session where its latest turn was", () => {
  const tally = new DemoTally(["gpu0", "gpu1"]);
  tally.addKnown(turnEvent(0, 0));
  tally.addKnown(turnEvent(0, 1, { endpoint: "gpu1", affinity: "moved" }));
  assertEquals(
    tally.state().engines.map(({ sessionCount }) => sessionCount),
    [0, 1],
  );
});

test("drawDemoTable() claims no gain where there is none", () => {
  const state: DemoState = {
    ...new DemoTally([]).state(),
    known: [10],
    random: [9],
  };
  assert(!drawDemoTable(state, PLAIN).some((line) => line.includes("times")));
});

test("drawDemoTable() keeps to the width, whatever the names", () => {
  fc.assert(fc.property(
    fc.array(fc.string({ maxLength: 60 }), { maxLength: 5 }),
    fc.integer({ min: 0, max: 120 }),
    (ids, columns) => {
      const state = new DemoTally(ids).state();
      for (const line of drawDemoTable(state, { hasColors: false, columns })) {
        assert(line.length <= columns, line);
      }
    },
  ));
});

test("redraw() goes up as many lines as were drawn before", () => {
  assertEquals(redraw(["a", "b"], 0), "\ra\x1b[K\nb\x1b[K\n\x1b[J");
  assertStringIncludes(redraw(["a"], 3), "\x1b[3A\r");
});

test("median() of none, odd and even counts", () => {
  assertEquals(median([]), undefined);
  assertEquals(median([3]), 3);
  assertEquals(median([30, 1, 2]), 2);
  assertEquals(median([4, 1, 2, 100]), 3);
});
