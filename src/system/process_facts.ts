/**
 * What this process uses of its machine.
 *
 * Invariant: no permission is needed for any of it.
 *
 * @module
 */
import process from "node:process";

/** Processor time is counted in microseconds. */
const US_PER_MS = 1_000;

/** What the process uses, all threads together. */
export function processUse(): {
  /** Resident memory. */
  readonly memoryBytes: number;
  /** Processor time since the start. */
  readonly cpuMs: number;
} {
  const { system, user } = process.cpuUsage();
  return {
    memoryBytes: Deno.memoryUsage().rss,
    cpuMs: (system + user) / US_PER_MS,
  };
}
