/**
 * Lines arrive whole, in order and in few batches; a writer that is behind
 * costs lines, never memory.
 *
 * @module
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { test } from "../../tests/leakproof.ts";
import { LineBatch } from "./line_batch.ts";

/** A batch on a clock and with a writer that are moved by hand. */
class Bench {
  readonly posted: string[] = [];
  readonly dropped: number[] = [];
  writtenCount: number;
  timers: (() => void)[] = [];
  readonly batch: LineBatch;

  constructor(writtenCount = 0) {
    this.writtenCount = writtenCount;
    this.batch = new LineBatch({
      clock: {
        nowMs: () => 0,
        after: (_delayMs, callback) => {
          this.timers.push(callback);
          return () => this.timers = this.timers.filter((t) => t !== callback);
        },
      },
      post: (lines) => void this.posted.push(lines),
      writtenCount: () => this.writtenCount,
      onDropped: (count) => void this.dropped.push(count),
    });
  }

  /** Lets the timers that there are fire. */
  pass(): void {
    const due = this.timers;
    this.timers = [];
    for (const callback of due) callback();
  }
}

const LONG = `${"x".repeat(1_023)}\n`;

test("LineBatch posts what has gathered once, after a moment", () => {
  const bench = new Bench();
  for (const line of ["a\n", "b\n", "c\n"]) bench.batch.add(line);
  assertEquals([bench.posted, bench.timers.length], [[], 1]);
  bench.pass();
  assertEquals([bench.posted, bench.timers.length], [["a\nb\nc\n"], 0]);
});

test("LineBatch posts 64 KiB at once", () => {
  const bench = new Bench();
  for (let count = 0; count < 64; count++) bench.batch.add(LONG);
  assertEquals(bench.posted, []);
  bench.batch.add(LONG);
  assertEquals(bench.posted, [LONG.repeat(64)]);
});

test("LineBatch drops and counts what a writer behind has no room for", () => {
  // Counts of a thread that died before go on.
  for (const start of [0, 17, 2 ** 31 - 3]) {
    const bench = new Bench(start);
    for (let count = 0; count < 64 * 9 + 5; count++) bench.batch.add(LONG);
    assertEquals(bench.posted.length, 8, "as many as may be ahead");
    bench.pass();
    assertEquals(bench.posted.length, 8);
    assertEquals(bench.timers.length, 1, "it looks again");
    bench.writtenCount = start + 1 | 0;
    bench.pass();
    assertEquals(bench.posted.length, 9);
    assertEquals(bench.dropped, [5]);
  }
});

test("LineBatch.close() posts the rest and leaves no timer", () => {
  const bench = new Bench();
  bench.batch.add("a\n");
  bench.batch.close();
  assertEquals([bench.posted, bench.timers], [["a\n"], []]);
});

test("LineBatch refuses a line that would run into the next", () => {
  const bench = new Bench();
  for (const line of ["", "a", "a\nb"]) {
    assertThrows(() => bench.batch.add(line), Error, "without its end");
  }
  bench.batch.add("\n");
  bench.batch.close();
  assertEquals(bench.posted, ["\n"]);
});

test("LineBatch keeps lines whole and in order", () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 70_000 }), { maxLength: 9 });
  fc.assert(fc.property(sizes, (sizes) => {
    const bench = new Bench();
    const lines = sizes.map((size, index) => `${index}${"x".repeat(size)}\n`);
    for (const line of lines) bench.batch.add(line);
    bench.batch.close();
    const fitting = lines.filter((line) => line.length <= 65_536);
    assertEquals(bench.posted.join(""), fitting.join(""));
    assert(bench.posted.every((batch) => batch.length <= 65_536));
  }));
});
