/**
 * The worker of the hand-over measurement whose calls wait.
 *
 * Invariant: one call waits at a time, and the next comes when it was granted
 * its place.
 *
 * @module
 */
import { EndpointTable } from "../../src/core/endpoints/endpoint_table.ts";
import { WaitQueue } from "../../src/core/queue/wait_queue.ts";
import { QueueBoard } from "../../src/core/queue/queue_board.ts";
import { listenTo } from "../../src/system/bell.ts";
import { type HandOver, now, poolOf } from "./shared.ts";

/** The global scope of a worker, of which the compiler knows nothing here. */
const scope = globalThis as unknown as {
  onmessage: (event: MessageEvent<HandOver>) => void;
  postMessage(message: number): void;
};

scope.onmessage = ({ data }) => {
  const board = new QueueBoard(data.board);
  const endpoints = new EndpointTable(data.endpoints);
  const stamps = new Float64Array(data.stamps);
  const pool = poolOf(endpoints);
  const queue = new WaitQueue({ board, endpoints, worker: 1, callsMax: 8 });
  function wait(): void {
    queue.add({
      pool,
      boundSlot: -1,
      tried: undefined,
      level: 0,
      patienceUntilMs: 0,
      boostAtMs: Infinity,
      overdueAtMs: Infinity,
      timeoutAtMs: Infinity,
      poolNow: () => pool,
      // The place stays taken: the other thread gives it back once more.
      granted: () => {
        scope.postMessage((now() - (stamps[0] ?? 0)) * 1_000);
        queueMicrotask(wait);
      },
      gaveUp: () => {},
    }, 0);
  }
  listenTo(board.bell(1), () => queue.collect(0));
  wait();
};
