/**
 * Threads that eject endpoints at the same time leave one.
 *
 * Invariant: as in `tables_test.ts`, counts are exact and no time is measured.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { EndpointTable } from "../../src/core/endpoints/endpoint_table.ts";
import { test } from "../leakproof.ts";
import type { EjectTask } from "./eject_worker.ts";

const THREADS = 2;

/** One for each thread, so that all decide on the last ones at once. */
const SLOTS = THREADS;

/** Enough for threads to meet within the few steps of one ejection. */
const ROUNDS = 4_000;

async function run(task: EjectTask): Promise<number> {
  const url = new URL("./eject_worker.ts", import.meta.url);
  const worker = new Worker(url, { type: "module" });
  const { port1, port2 } = new MessageChannel();
  try {
    return await new Promise<number>((resolve, reject) => {
      port1.onmessage = ({ data }: MessageEvent<number>) => resolve(data);
      worker.onerror = (event) => {
        event.preventDefault();
        reject(new Error(`Cannot eject: ${event.message}`));
      };
      worker.postMessage({ task, port: port2 }, [port2]);
    });
  } finally {
    port1.close();
    worker.terminate();
  }
}

test("threads that eject all endpoints at once leave exactly one", async () => {
  const tables = Array.from({ length: ROUNDS }, () => {
    const table = new EndpointTable();
    for (let slot = 0; slot < SLOTS; slot++) {
      table.setState(slot, "ready");
      table.setFailuresMax(slot, 1);
    }
    return table;
  });
  const task = {
    tables: tables.map(({ buffer }) => buffer),
    gates: new SharedArrayBuffer(4 * ROUNDS),
    threads: THREADS,
    slots: SLOTS,
  };
  const ejected = await Promise.all(
    Array.from(
      { length: THREADS },
      (_, index) => run({ ...task, firstSlot: index * SLOTS / THREADS }),
    ),
  );
  const left = tables.map((table) =>
    Array.from({ length: SLOTS }, (_, slot) => table.state(slot))
      .filter((state) => state === "ready").length
  );
  assertEquals(new Set(left), new Set([1]));
  assertEquals(
    ejected.reduce((sum, count) => sum + count, 0),
    ROUNDS * (SLOTS - 1),
  );
});
