/**
 * One thread of the test that ejects endpoints from all sides.
 *
 * In each round all threads meet at one table, then eject whatever they can.
 *
 * Invariant: it ends by itself; a thread that waits for another sleeps.
 *
 * @module
 */
import { EndpointTable } from "../../src/core/endpoints/endpoint_table.ts";
import { PassiveHealth } from "../../src/core/endpoints/passive_health.ts";

/** Looks before a thread goes to sleep; waking up would cost it the race. */
const SPINS_MAX = 20_000;

/** What a thread is told to do. */
export interface EjectTask {
  /** One table a round. */
  readonly tables: readonly SharedArrayBuffer[];
  /** One word a round: threads that have come to it. */
  readonly gates: SharedArrayBuffer;
  readonly threads: number;
  readonly slots: number;
  /** Where this thread begins, so that threads come from different sides. */
  readonly firstSlot: number;
}

addEventListener("message", (event) => {
  if (!(event instanceof MessageEvent)) return;
  const { task, port }: { task: EjectTask; port: MessagePort } = event.data;
  port.postMessage(ejectAll(task));
});

/** Returns how many endpoints this thread has ejected. */
function ejectAll(task: EjectTask): number {
  const gates = new Int32Array(task.gates);
  let ejected = 0;
  task.tables.forEach((buffer, round) => {
    const health = new PassiveHealth(new EndpointTable(buffer));
    meet(gates, round, task.threads);
    for (let step = 0; step < task.slots; step++) {
      const slot = (task.firstSlot + step) % task.slots;
      const effect = health.failed(slot, 0, { code: "upstream_reset" });
      if (effect === "ejected") ejected++;
    }
  });
  return ejected;
}

/** Waits until all threads have come to this round. */
function meet(gates: Int32Array, round: number, threads: number): void {
  let arrived = Atomics.add(gates, round, 1) + 1;
  Atomics.notify(gates, round);
  for (let spin = 0; arrived < threads; spin++) {
    if (spin >= SPINS_MAX) Atomics.wait(gates, round, arrived);
    arrived = Atomics.load(gates, round);
  }
}
