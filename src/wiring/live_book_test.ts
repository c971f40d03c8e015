/**
 * The book of requests under way: who is asked, how long a look waits, and
 * what is shown of reports that are old.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import type { Clock } from "../core/outside.ts";
import type { LiveCall } from "../gateway/live_calls.ts";
import { LIVE, LiveBook } from "./live_book.ts";

/** A book on a clock that stands still until it is told to go on. */
class Desk {
  askedCount = 0;
  readonly book: LiveBook;
  #nowMs = 0;
  #timers: { atMs: number; callback: () => void }[] = [];

  constructor(workerCount: number) {
    const clock: Clock = {
      nowMs: () => this.#nowMs,
      after: (delayMs, callback) => {
        const timer = { atMs: this.#nowMs + delayMs, callback };
        this.#timers.push(timer);
        return () => {
          this.#timers = this.#timers.filter((other) => other !== timer);
        };
      },
    };
    const watch = () => void this.askedCount++;
    this.book = new LiveBook({ clock, workerCount, watch });
  }

  get timerCount(): number {
    return this.#timers.length;
  }

  pass(ms: number): void {
    this.#nowMs += ms;
    const due = this.#timers.filter(({ atMs }) => atMs <= this.#nowMs);
    this.#timers = this.#timers.filter((timer) => !due.includes(timer));
    for (const { callback } of due) callback();
  }
}

function call(id: string, ageMs: number): LiveCall {
  return {
    id,
    phase: "relay",
    ageMs,
    method: "POST",
    path: "/",
    endpoint: undefined,
    session: undefined,
  };
}

test("look() waits for every worker, and shows the oldest first", async () => {
  const desk = new Desk(2);
  const look = desk.book.look();
  assertEquals([desk.askedCount, desk.timerCount], [1, 1]);
  desk.book.report(0, [call("a", 5)]);
  assertEquals(desk.timerCount, 1);
  desk.book.report(1, [call("b", 70)]);
  // A worker that was never there.
  desk.book.report(2, [call("c", 90)]);
  assertEquals(desk.timerCount, 0);
  assertEquals(
    (await look).map(({ id, worker }) => [id, worker]),
    [["b", 1], ["a", 0]],
  );
});

test("look() waits for a silent worker for 50 ms, and not again", async () => {
  const desk = new Desk(2);
  const looks = [desk.book.look(), desk.book.look()];
  desk.book.report(0, [call("a", 5)]);
  desk.pass(49);
  assertEquals(desk.timerCount, 1);
  desk.pass(1);
  for (const shown of await Promise.all(looks)) {
    assertEquals(shown.map(({ id, ageMs }) => [id, ageMs]), [["a", 55]]);
  }
  assertEquals([desk.askedCount, desk.timerCount], [1, 0]);
});

test("look() asks again in time, and forgets what is old", async () => {
  const desk = new Desk(1);
  const first = desk.book.look();
  desk.book.report(0, [call("a", 0)]);
  await first;
  desk.pass(2_499);
  assertEquals((await desk.book.look()).length, 1);
  assertEquals(desk.askedCount, 1);
  desk.pass(1);
  const late = desk.book.look();
  assertEquals(desk.askedCount, 2);
  desk.pass(50);
  assertEquals(await late, []);
});

test("look() shows no more than it may, whatever workers tell", async () => {
  const desk = new Desk(2);
  const look = desk.book.look();
  const calls = (worker: string) =>
    Array.from({ length: LIVE.countMax }, (_, age) => call(worker, age));
  desk.book.report(0, calls("a"));
  desk.book.report(1, calls("b"));
  const shown = await look;
  assertEquals(shown.length, LIVE.countMax);
  assertEquals(shown.at(-1)?.ageMs, LIVE.countMax / 2);
});

test("close() ends a look that waits", async () => {
  const desk = new Desk(1);
  const look = desk.book.look();
  desk.book.close();
  assertEquals([await look, desk.timerCount], [[], 0]);
});
