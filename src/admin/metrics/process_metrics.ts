/**
 * The metrics of the process and its threads.
 *
 * Memory, time and start have the names that Prometheus recommends for every
 * process ("Writing client libraries").
 *
 * Invariant: threads are told apart by their number, which is bounded and
 * stays the same when a worker is replaced.
 *
 * @module
 */
import type { Registry } from "prom-client";
import { registerRead, single } from "./read_metrics.ts";

const MS_PER_S = 1_000;

/** What is known of the process. */
export interface ProcessReading {
  /** Resident memory. */
  readonly memoryBytes: number;
  /** Processor time of all threads since the start. */
  readonly cpuMs: number;
  readonly startedAtMs: number;
  /** Worker threads that died and were replaced. */
  readonly workerDeaths: number;
  /** The longest that each thread's event loop was late for lately. */
  readonly lags: readonly { readonly thread: string; readonly ms: number }[];
}

/** Puts the families of the process on the page. */
export function registerProcess(
  read: () => ProcessReading,
  registers: Registry[],
): void {
  registerRead([
    {
      kind: "counter",
      name: "tryst_worker_deaths_total",
      help: "Worker threads that died and were replaced.",
      read: single(() => read().workerDeaths),
    },
    {
      kind: "gauge",
      name: "tryst_event_loop_lag_seconds",
      help: "The longest that a thread's event loop was late for in the last " +
        "20 to 40 s.",
      labels: ["thread"],
      read: () =>
        read().lags.map(({ thread, ms }) => [{ thread }, ms / MS_PER_S]),
    },
    {
      kind: "gauge",
      name: "process_resident_memory_bytes",
      help: "Resident memory of the process.",
      read: single(() => read().memoryBytes),
    },
    {
      kind: "counter",
      name: "process_cpu_seconds_total",
      help: "Processor time of all threads since the start.",
      read: single(() => read().cpuMs / MS_PER_S),
    },
    {
      kind: "gauge",
      name: "process_start_time_seconds",
      help: "When the process started, in Unix time.",
      read: single(() => read().startedAtMs / MS_PER_S),
    },
  ], registers);
}

/** Puts on the page what is running: the version, and on which Deno. */
export function registerBuild(
  build: { readonly version: string; readonly deno: string },
  registers: Registry[],
): void {
  registerRead([{
    kind: "gauge",
    name: "tryst_build_info",
    help: "1, with what is running as labels.",
    labels: ["version", "deno"],
    read: () => [[{ ...build }, 1]],
  }], registers);
}
