/**
 * The discrete model of an engine, on a clock that the test turns.
 *
 * Invariant: no test here waits for real time.
 *
 * @module
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { test } from "../../tests/leakproof.ts";
import { Batch, type BatchEvent, type BatchOptions } from "./batch.ts";
import { chainOf } from "./prefix_cache.ts";

const PACE: BatchOptions = {
  prefillMsPerToken: 1,
  decodeMsPerToken: 10,
  batchMax: 2,
  cacheBlocks: 1000,
  speed: 1,
};

function callOf(id: number, promptText: string, answerTokens: number) {
  const bytes = new TextEncoder().encode(promptText);
  return {
    id,
    chain: chainOf(bytes),
    promptBytes: bytes.length,
    answerTokens,
  };
}

/** Every event until the model has nothing more to say, in short. */
function runToEnd(batch: Batch): string[] {
  const lines: string[] = [];
  for (let at = batch.nextAtMs; at !== undefined; at = batch.nextAtMs) {
    lines.push(...batch.advance(at).map(short));
  }
  return lines;
}

function short(event: BatchEvent): string {
  return event.kind === "finished"
    ? `${event.atMs} end ${event.id}`
    : `${event.atMs} first ${event.id} cached ${event.cachedTokens}`;
}

test("Batch refuses to be without room", () => {
  for (const batchMax of [0, -1, NaN]) {
    assertThrows(() => new Batch({ ...PACE, batchMax }), RangeError);
  }
});

test("Batch prefills one after the other and decodes side by side", () => {
  const batch = new Batch(PACE);
  batch.submit(callOf(1, "a".repeat(40), 3), 0);
  batch.submit(callOf(2, "b".repeat(40), 1), 0);
  assertEquals(runToEnd(batch), [
    "10 first 1 cached 0",
    "20 first 2 cached 0",
    "20 end 2",
    "30 end 1",
  ]);
});

test("Batch keeps the third call waiting for a slot of two", () => {
  const batch = new Batch(PACE);
  for (const id of [1, 2, 3]) batch.submit(callOf(id, "abcd", 2), 0);
  assertEquals([batch.runningCount, batch.waitingCount], [2, 1]);
  assertEquals(runToEnd(batch), [
    "1 first 1 cached 0",
    "2 first 2 cached 0",
    "11 end 1",
    "12 first 3 cached 0",
    "12 end 2",
    "22 end 3",
  ]);
});

test("Batch spares the second turn the prefill of the first", () => {
  const batch = new Batch(PACE);
  batch.submit(callOf(1, "a".repeat(640), 1), 0);
  assertEquals(runToEnd(batch), ["160 first 1 cached 0", "160 end 1"]);
  batch.submit(callOf(2, "a".repeat(680), 1), 1000);
  assertEquals(runToEnd(batch), ["1010 first 2 cached 160", "1010 end 2"]);
});

test("Batch remembers the answer as part of the conversation", () => {
  const batch = new Batch(PACE);
  const transcript = chainOf(new TextEncoder().encode("a".repeat(128)));
  batch.submit({
    id: 1,
    chain: transcript,
    promptBytes: 70,
    answerTokens: 2,
  }, 0);
  batch.advance(18);
  assertEquals(batch.cache.blockCount, 1, "the prompt, once it is prefilled");
  batch.advance(28);
  assertEquals(batch.cache.blockCount, 2, "the answer, once it is finished");
});

test("speed divides all times, and infinite speed leaves none", () => {
  const fast = new Batch({ ...PACE, speed: 10 });
  fast.submit(callOf(1, "a".repeat(40), 2), 0);
  assertEquals(runToEnd(fast), ["1 first 1 cached 0", "2 end 1"]);
  const instant = new Batch({ ...PACE, speed: Infinity });
  instant.submit(callOf(1, "a".repeat(40), 100), 7);
  assertEquals(instant.advance(7).map(short), [
    "7 first 1 cached 0",
    "7 end 1",
  ]);
});

test("cancel() frees the slot in every stage", async (t) => {
  const rows = [
    { name: "waiting", id: 3, next: "20 first 2 cached 0" },
    { name: "prefilled now", id: 1, next: "15 first 2 cached 0" },
    { name: "behind another's prefill", id: 2, next: "20 first 3 cached 0" },
  ];
  for (const row of rows) {
    await t.step(row.name, () => {
      const batch = new Batch(PACE);
      for (const id of [1, 2, 3]) {
        batch.submit(callOf(id, `${id}`.repeat(40), 2), 0);
      }
      batch.cancel(row.id, 5);
      const events = runToEnd(batch);
      assert(events.includes(row.next), events.join("; "));
      assert(!events.some((line) => line.includes(`end ${row.id}`)));
      assertEquals([batch.runningCount, batch.waitingCount], [0, 0]);
    });
  }
  await t.step("decoding", () => {
    const batch = new Batch({ ...PACE, batchMax: 1 });
    batch.submit(callOf(1, "abcd", 100), 0);
    batch.submit(callOf(2, "efgh", 1), 0);
    batch.advance(1);
    batch.cancel(1, 50);
    assertEquals(runToEnd(batch), ["51 first 2 cached 0", "51 end 2"]);
  });
});

test("Batch waits as the first-come queue of the Autellix paper (Figure 2)", () => {
  const programs = [[4, 3, 1, 1], [3, 3, 4], [1, 2], [4]];
  const batch = new Batch({
    ...PACE,
    prefillMsPerToken: 0,
    decodeMsPerToken: 1,
  });
  const submittedAtMs = new Map<number, number>();
  const submit = (program: number, atMs: number) => {
    const steps = programs[program]?.shift();
    if (steps === undefined) return;
    // The first token comes with prefill, so a step more is a token more.
    batch.submit(callOf(program, `${program}`, steps + 1), atMs);
    submittedAtMs.set(program, atMs);
  };
  for (const program of [0, 1, 2, 3]) submit(program, 0);
  let waitMs = 0;
  for (let at = batch.nextAtMs; at !== undefined; at = batch.nextAtMs) {
    for (const event of batch.advance(at)) {
      if (event.kind === "finished") submit(event.id, event.atMs);
      else waitMs += event.atMs - (submittedAtMs.get(event.id) ?? 0);
    }
  }
  assertEquals(waitMs, 18);
});

test("Batch keeps its promises whatever comes", () => {
  const actions = fc.array(
    fc.oneof(
      fc.record({
        kind: fc.constant("submit" as const),
        prompt: fc.integer({ min: 0, max: 300 }),
        answer: fc.integer({ min: 1, max: 5 }),
      }),
      fc.record({ kind: fc.constant("cancel" as const), id: fc.nat(30) }),
      fc.record({
        kind: fc.constant("wait" as const),
        ms: fc.integer({ min: 0, max: 100 }),
      }),
    ),
    { maxLength: 60 },
  );
  fc.assert(fc.property(actions, (list) => {
    const batch = new Batch(PACE);
    const open = new Set<number>();
    let nowMs = 0;
    let id = 0;
    let lastAtMs = 0;
    const take = (events: readonly BatchEvent[]) => {
      for (const event of events) {
        assert(event.atMs >= lastAtMs && event.atMs <= nowMs);
        lastAtMs = event.atMs;
        if (event.kind === "finished") assert(open.delete(event.id));
      }
    };
    for (const action of list) {
      if (action.kind === "submit") {
        open.add(id);
        batch.submit(
          callOf(id++, "p".repeat(action.prompt), action.answer),
          nowMs,
        );
      } else if (action.kind === "cancel") {
        batch.cancel(action.id, nowMs);
        take(batch.advance(nowMs));
        open.delete(action.id);
      } else {
        nowMs += action.ms;
        take(batch.advance(nowMs));
      }
      assert(batch.runningCount <= PACE.batchMax);
      assert(batch.waitingCount === 0 || batch.runningCount === PACE.batchMax);
    }
    nowMs = 1e9;
    take(batch.advance(nowMs));
    assertEquals(open.size, 0, "every call ends");
  }));
});
