/**
 * Requests that leave when they are due, whether or not earlier ones have been
 * answered, and are timed from when they were due: who is slow cannot hide it
 * by being sent less (coordinated omission).
 *
 * Invariant: each request that was due is one outcome.
 *
 * @module
 */
import { type Answer, Wire } from "./wire.ts";

/** What to send. */
export interface OpenLoopOptions {
  readonly port: number;
  readonly requestsPerSecond: number;
  readonly seconds: number;
  /** Most at once; further ones wait, and their wait counts. */
  readonly connections: number;
  readonly request: (n: number) => string;
}

/** How one request ended. */
export interface Outcome {
  readonly n: number;
  /** `undefined` when the connection ended without an answer. */
  readonly answer: Answer | undefined;
  /** From due to the end of the answer, in milliseconds. */
  readonly ms: number;
  /** Milliseconds from the start of the load to the end of the answer. */
  readonly endedAtMs: number;
}

/** Sends for so long; resolves when all have ended. */
export async function openLoop(
  options: OpenLoopOptions,
): Promise<readonly Outcome[]> {
  const { requestsPerSecond, seconds, request } = options;
  const outcomes: Outcome[] = [];
  const due: number[] = [];
  const waiting: (() => void)[] = [];
  const total = requestsPerSecond * seconds;
  const startedAt = performance.now();
  let next = 0;
  let isOver = false;

  async function run(): Promise<void> {
    let wire: Wire | undefined;
    for (;;) {
      const dueAt = due.shift();
      if (dueAt === undefined) {
        if (isOver) break;
        await new Promise<void>((resolve) => waiting.push(resolve));
        continue;
      }
      const n = next++;
      let answer: Answer | undefined;
      try {
        wire ??= await Wire.connect(options.port);
        answer = await wire.exchange(request(n));
      } catch {
        // What has broken is no answer, and its connection is of no more use.
        wire?.close();
        wire = undefined;
      }
      const nowMs = performance.now();
      const endedAtMs = nowMs - startedAt;
      outcomes.push({ n, answer, ms: nowMs - dueAt, endedAtMs });
    }
    wire?.close();
  }

  const runs = Array.from({ length: options.connections }, run);
  for (let n = 0; n < total;) {
    const dueCount = (performance.now() - startedAt) * requestsPerSecond /
      1_000;
    for (; n < Math.min(dueCount, total); n++) {
      due.push(startedAt + n * 1_000 / requestsPerSecond);
      waiting.shift()?.();
    }
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  isOver = true;
  for (const wake of waiting) wake();
  await Promise.all(runs);
  return outcomes;
}

/** The value that half of the values are below. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}
