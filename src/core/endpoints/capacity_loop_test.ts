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
import { assert, assertEquals } from "@std/assert";
import { test } from "../../../tests/leakproof.ts";
import { seededRandom } from "../../../tests/placement_world.ts";
import { LEARNED_LIMIT } from "./capacity.ts";
import { type CapacitySample, CapacityTable } from "./capacity_table.ts";
import { EndpointTable } from "./endpoint_table.ts";

/** One call, and where it is. */
interface Call {
  readonly promptMs: number;
  readonly answerMs: number;
  readonly kind: CapacitySample["kind"];
  readonly requestBytes: number | undefined;
  readonly sentAtMs: number;
  readonly inFlightAtStart: number;
  isAnswered: boolean;
}

type Random = () => number;

/** What calls are like; times in milliseconds. */
interface Work {
  prompt(random: Random): number;
  answer(random: Random): number;
  kind?: CapacitySample["kind"];
  /** Size of the request's body. */
  bytes?(random: Random): number;
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
  clients: number;
  /** Whether a whole answer of one token comes every second besides. */
  isPinged = false;
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
      this.#ping();
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

  #ping(): void {
    if (!this.isPinged) return;
    this.capacity.answered(0, {
      kind: "whole",
      requestBytes: 100,
      firstByteMs: 30,
      inFlightAtStart: this.endpoints.inFlight(0),
      nowMs: this.nowMs,
    });
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
      requestBytes: call.requestBytes,
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
        kind: this.work.kind ?? "stream",
        requestBytes: this.work.bytes?.(this.#random),
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

/** Prompts of 30,000 tokens. */
const LONG: Work = {
  prompt: () => 5_000,
  answer: exponential(4_000),
  bytes: () => 120_000,
};

test("long prompts after short ones are not taken for a queue", () => {
  const loop = new Loop(64, { ...CHAT, bytes: () => 3_000 });
  loop.run(600);
  loop.work = LONG;
  const limits = loop.run(900);
  assert(Math.min(...limits) >= 0.75 * 64, `${Math.min(...limits)}`);
  // A queue of as many as the batch doubles what reading the prompt takes.
  assert(Math.max(...limits) <= 2.5 * 64, `${Math.max(...limits)}`);
});

test("prompts of the same size that the cache has lost cost half of the limit at most", () => {
  for (const clients of [60, 256]) {
    const loop = new Loop(64, { ...CHAT, bytes: () => 120_000 });
    loop.clients = clients;
    loop.run(600);
    loop.work = LONG;
    const limits = loop.run(1_800);
    // A cut is by a fifth, and half of the load is to be seen.
    const lowest = Math.min(...limits);
    assert(lowest >= 0.4 * 60, `${lowest} for ${clients}`);
    const later = loop.run(600);
    assert(Math.min(...later) >= 0.75 * 60, `${Math.min(...later)}`);
    const highest = Math.max(...later.map((limit) => Math.min(limit, clients)));
    assert(highest <= 2.5 * 64, `${highest}`);
  }
});

test("an engine that never queues holds nobody back, however many there are", () => {
  const work: Work = { prompt: () => 50, answer: exponential(30_000) };
  for (const clients of [32, 200, 1_000]) {
    const loop = new Loop(1_024, work);
    loop.clients = clients;
    const limits = loop.run(1_800);
    assert(Math.min(...limits) >= clients, `${Math.min(...limits)}`);
  }
});

test("whole answers alone say nothing, beside pings of one token neither", () => {
  for (const isPinged of [false, true]) {
    const loop = new Loop(128, {
      prompt: () => 50,
      answer: () => 10_000,
      kind: "whole",
    });
    loop.isPinged = isPinged;
    const limits = loop.run(1_800);
    assertEquals(Math.min(...limits), LEARNED_LIMIT.initial);
    assertEquals(Math.max(...limits), LEARNED_LIMIT.initial);
  }
});

test("with gauges, whole answers are learned from", () => {
  const work: Work = {
    prompt: () => 50,
    answer: exponential(10_000),
    kind: "whole",
  };
  for (const initial of [64, LEARNED_LIMIT.initial]) {
    for (const isPinged of [false, true]) {
      const loop = new Loop(256, work);
      loop.endpoints.setLearned(0, initial);
      loop.gaugeLagS = 4;
      loop.isPinged = isPinged;
      loop.run(1_800);
      const limits = loop.run(900);
      const seen = `${Math.min(...limits)} to ${Math.max(...limits)}`;
      // An eighth more than the engine runs is let pass.
      assert(Math.min(...limits) >= 256, seen);
      assert(Math.max(...limits) <= 1.125 * 256 + 8, seen);
    }
  }
});

test("with gauges, slow prompts lower no limit", () => {
  const loop = new Loop(64, { ...CHAT, bytes: () => 120_000 });
  loop.clients = 60;
  loop.gaugeLagS = 4;
  loop.run(600);
  loop.work = LONG;
  assert(Math.min(...loop.run(1_800)) >= 60);
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
