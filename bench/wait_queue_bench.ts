/**
 * What it costs to wait: taking a call in and giving it a place, with many
 * calls waiting, and what the queue adds where nobody waits.
 *
 * @module
 */
import { EndpointTable } from "../src/core/endpoints/endpoint_table.ts";
import { Pools } from "../src/core/placement/pool.ts";
import { buildPools } from "../src/core/placement/pool_plan.ts";
import { QueueBoard } from "../src/core/queue/queue_board.ts";
import { WaitQueue } from "../src/core/queue/wait_queue.ts";

/** Places that each of the 8 endpoints has. */
const LIMIT = 32;

/** A queue with `waiting` calls in it, and a step that takes one in and out. */
function queueOf(workers: number, waiting: number): () => void {
  const endpoints = new EndpointTable();
  const pool = new Pools(
    buildPools(Array.from({ length: 8 }, (_, slot) => {
      endpoints.setState(slot, "ready");
      endpoints.setLimit(slot, LIMIT);
      while (endpoints.tryReserve(slot));
      const id = `http://127.0.0.1:${8000 + slot}`;
      return { id, weight: 1, slot, generation: 0, models: undefined };
    })),
    endpoints,
  ).whole;
  const board = QueueBoard.create(workers);
  const queue = new WaitQueue({
    board,
    endpoints,
    worker: 0,
    callsMax: waiting + 1,
  });
  let count = 0;
  let nowMs = 0;
  const granted = () => {};
  function arrive(): void {
    count += 1;
    nowMs += 1;
    queue.add({
      pool,
      boundSlot: count % 3 === 0 ? count % 8 : -1,
      tried: undefined,
      level: (count * 7) % 12,
      patienceUntilMs: nowMs + 1_000,
      boostAtMs: nowMs + 20_000,
      overdueAtMs: nowMs + 30_000,
      timeoutAtMs: nowMs + 60_000,
      poolNow: () => pool,
      granted,
      gaveUp: granted,
    }, nowMs);
  }
  for (let call = 0; call < waiting; call++) arrive();
  return () => {
    arrive();
    queue.release(count % 8, nowMs);
  };
}

for (const [workers, waiting] of [[1, 10_000], [1, 100]] as const) {
  Deno.bench({
    name: `${waiting} waiting`,
    group: "take a call in and give one a place",
    fn: queueOf(workers, waiting),
  });
}

const idle = new EndpointTable();
idle.setState(0, "ready");
idle.setLimit(0, LIMIT);
const empty = new WaitQueue({
  board: QueueBoard.create(4),
  endpoints: idle,
  worker: 0,
  callsMax: 10,
});

Deno.bench({
  name: "the endpoint table alone",
  group: "reserve and release with nobody waiting",
  baseline: true,
  fn() {
    idle.tryReserve(0);
    idle.release(0);
  },
});

Deno.bench({
  name: "through the queue",
  group: "reserve and release with nobody waiting",
  fn() {
    idle.tryReserve(0);
    empty.release(0, 0);
  },
});
