/**
 * What the learned limit comes to when it meets an engine: a closed loop in
 * virtual time, through the same reservations as in traffic.
 *
 * The engine works on a batch of requests at once and queues the rest, first
 * come first served. A request holds its place while its prompt is read and
 * its answer generated. More clients than the engine has places keep asking.
 *
 * @module
 */
import { assert } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { seededRandom } from "../../tests/placement_world.ts";
import type { AnswerKind } from "./first_byte_baseline.ts";
import { CapacityTable } from "./capacity_table.ts";
import { EndpointTable } from "./endpoint_table.ts";

/** One call, and where it is. */
interface Call {
  readonly promptMs: number;
  readonly answerMs: number;
  readonly kind: AnswerKind;
  readonly sentAtMs: number;
  readonly inFlightAtStart: number;
  isAnswered: boolean;
}

type Random = () => number;

/** What calls are like; times in milliseconds. */
interface Work {
  prompt(random: Random): number;
  answer(random: Random): number;
  kind?(random: Random): AnswerKind;
}

interface Event {
  readonly atMs: number;
  readonly call: Call;
}

/** Short prompts, of which the time to first byte is known well. */
const CHAT: Work = { prompt: () => 50, answer: exponential(4_000) };

/** Log-uniform: as many from 10 to 100 ms as from 1 to 10 s. */
const MIXED: Work = {
  prompt: logUniform(10, 20_000),
  answer: exponential(4_000),
};

function exponential(meanMs: number): (random: Random) => number {
  return (random) => -meanMs * Math.log(1 - random());
}

function logUniform(minMs: number, maxMs: number): (random: Random) => number {
  return (random) => minMs * (maxMs / minMs) ** random();
}

/** An engine behind one learned limit. */
class Loop {
  nowMs = 1_764_000_000_000;
  batch: number;
  work: Work;
  readonly clients: number;
  /** How late the engine's gauges are; 0 for an engine without. */
  gaugeLagS = 0;
  readonly endpoints = new EndpointTable();
  readonly capacity = new CapacityTable(this.endpoints);
  readonly #random = seededRandom(7);
  /** Latest first. */
  readonly #events: Event[] = [];
  readonly #queue: Call[] = [];
  readonly #readings: (readonly [running: number, waiting: number])[] = [];
  #running = 0;

  constructor(batch: number, work: Work) {
    this.batch = batch;
    this.work = work;
    this.clients = 4 * batch;
    this.capacity.setLearning(0, true);
  }

  /** Runs for so long; returns the limit at each second of it. */
  run(seconds: number): number[] {
    return Array.from({ length: seconds }, () => {
      this.#runUntil(this.nowMs + 1_000);
      this.#gauge();
      return this.endpoints.limit(0);
    });
  }

  #runUntil(untilMs: number): void {
    this.#send();
    while (true) {
      const event = this.#events.at(-1);
      if (event === undefined || event.atMs > untilMs) break;
      this.#events.pop();
      this.nowMs = event.atMs;
      this.#happen(event.call);
      this.#send();
    }
    this.nowMs = untilMs;
  }

  /** Reads what the engine said of itself so many seconds ago. */
  #gauge(): void {
    if (this.gaugeLagS === 0) return;
    this.#readings.push([this.#running, this.#queue.length]);
    if (this.#readings.length <= this.gaugeLagS) return;
    const [running, waiting] = this.#readings.shift() ?? [];
    const { nowMs } = this;
    this.capacity.gauged(0, { running, waiting, cacheUsage: 0.5, nowMs });
  }

  #happen(call: Call): void {
    if (!call.isAnswered) {
      call.isAnswered = true;
      this.#schedule(this.nowMs + call.answerMs, call);
      // The head of a whole answer comes with its end.
      if (call.kind === "stream") this.#report(call);
      return;
    }
    if (call.kind === "whole") this.#report(call);
    this.endpoints.release(0);
    this.#running--;
    this.#start();
  }

  #report(call: Call): void {
    this.capacity.answered(0, {
      kind: call.kind,
      firstByteMs: this.nowMs - call.sentAtMs,
      inFlightAtStart: call.inFlightAtStart,
      nowMs: this.nowMs,
    });
  }

  /** Clients that have no call in flight send one, as the limit allows. */
  #send(): void {
    while (
      this.endpoints.inFlight(0) < this.clients && this.endpoints.tryReserve(0)
    ) {
      this.#queue.push({
        promptMs: this.work.prompt(this.#random),
        answerMs: this.work.answer(this.#random),
        kind: this.work.kind?.(this.#random) ?? "stream",
        sentAtMs: this.nowMs,
        inFlightAtStart: this.endpoints.inFlight(0),
        isAnswered: false,
      });
      this.#start();
    }
  }

  #start(): void {
    while (this.#running < this.batch) {
      const call = this.#queue.shift();
      if (call === undefined) return;
      this.#running++;
      this.#schedule(this.nowMs + call.promptMs, call);
    }
  }

  #schedule(atMs: number, call: Call): void {
    let low = 0;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#events[middle]?.atMs ?? 0) > atMs) low = middle + 1;
      else high = middle;
    }
    this.#events.splice(low, 0, { atMs, call });
  }
}

/** That the limit has stayed about the batch; the unit is one request. */
function assertNear(limits: readonly number[], batch: number): void {
  const lowest = Math.min(...limits);
  const highest = Math.max(...limits);
  const mean = limits.reduce((sum, limit) => sum + limit, 0) / limits.length;
  const seen = `${lowest} to ${highest}, ${mean} on average, for ${batch}`;
  assert(lowest >= 0.75 * batch, seen);
  // Four more, since 100 ms of queueing are let pass.
  assert(highest <= 1.25 * batch + 4, seen);
  assert(mean >= 0.9 * batch && mean <= 1.1 * batch + 4, seen);
}

for (const batch of [8, 32, 128, 512]) {
  test(`the limit of an engine with ${batch} places comes near that and stays`, () => {
    const loop = new Loop(batch, CHAT);
    loop.run(420);
    assertNear(loop.run(900), batch);
  });

  test(`prompts of 10 ms to 20 s do not mislead, with ${batch} places`, () => {
    const loop = new Loop(batch, MIXED);
    loop.run(900);
    assertNear(loop.run(900), batch);
  });
}

test("whole answers, and both kinds together, are learned from", () => {
  const answer = (random: Random) => 500 + exponential(3_500)(random);
  const kinds: Required<Work>["kind"][] = [
    () => "whole",
    (random) => random() < 0.5 ? "whole" : "stream",
  ];
  for (const kind of kinds) {
    const loop = new Loop(128, { prompt: () => 50, answer, kind });
    loop.run(900);
    assertNear(loop.run(900), 128);
  }
});

test("an engine that has 32 places instead of 128 is followed", () => {
  const loop = new Loop(128, CHAT);
  loop.run(300);
  loop.batch = 32;
  // The 100 requests too many have to come through first.
  loop.run(300);
  assertNear(loop.run(900), 32);
  loop.batch = 128;
  loop.run(300);
  assertNear(loop.run(300), 128);
});

test("an engine that has become slower for good gets its limit back", () => {
  const loop = new Loop(128, CHAT);
  loop.run(300);
  loop.work = { ...CHAT, prompt: () => 500 };
  loop.run(900);
  const limits = loop.run(600);
  assert(Math.min(...limits) >= 0.75 * 128, `${Math.min(...limits)}`);
  // Twice the time to first byte is let pass, here 500 ms more.
  assert(Math.max(...limits) <= 1.5 * 128, `${Math.max(...limits)}`);
});

test("a few answers that are much faster do not make all others slow", () => {
  for (const share of [0.03, 0.0005]) {
    const loop = new Loop(128, {
      prompt: (random) => random() < share ? 10 : 1_000 + 1_000 * random(),
      answer: exponential(4_000),
    });
    loop.run(900);
    const limits = loop.run(900);
    assert(Math.min(...limits) >= 0.75 * 128, `${Math.min(...limits)}`);
    assert(Math.max(...limits) <= 1.5 * 128, `${Math.max(...limits)}`);
  }
});

test("where answers are short, the queue is not taken for normal in time", () => {
  // A queue as long as the batch doubles the time to first byte, which is let
  // pass; the cut limit still keeps that queue filled.
  for (const batch of [8, 32]) {
    const loop = new Loop(batch, {
      prompt: (random) => 800 + 400 * random(),
      answer: exponential(500),
    });
    loop.run(900);
    const limits = loop.run(2 * 3_600);
    // A look with half of the load is had at half of what it was, for a moment.
    assert(Math.min(...limits) >= 0.5 * batch, `${Math.min(...limits)}`);
    assert(Math.max(...limits) <= 3 * batch, `${Math.max(...limits)}`);
  }
});

test("gauges that are seconds old do not mislead", () => {
  for (const batch of [32, 128]) {
    const loop = new Loop(batch, CHAT);
    loop.gaugeLagS = 4;
    loop.run(300);
    assertNear(loop.run(900), batch);
  }
});
