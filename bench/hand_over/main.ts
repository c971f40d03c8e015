/**
 * How long it takes a freed place to reach a waiting call of another worker:
 * from `release` in one thread to `granted` in the other.
 *
 *     deno run -A bench/hand_over/main.ts
 *
 * @module
 */
import { EndpointTable } from "../../src/core/endpoints/endpoint_table.ts";
import { QueueBoard } from "../../src/core/queue/queue_board.ts";
import { WaitQueue } from "../../src/core/queue/wait_queue.ts";
import { say } from "../../tests/run_options.ts";
import { type HandOver, now } from "./shared.ts";

const ROUNDS = 2_000;

/** Left out: the first rounds are compiled. */
const WARM_UP = 200;

await main();

async function main(): Promise<void> {
  const endpoints = new EndpointTable();
  endpoints.setState(0, "ready");
  endpoints.setLimit(0, 1);
  endpoints.tryReserve(0);
  const board = QueueBoard.create(2);
  const stamps = new SharedArrayBuffer(8);
  const queue = new WaitQueue({ board, endpoints, worker: 0, callsMax: 8 });
  const worker = new Worker(new URL("./waiter.ts", import.meta.url), {
    type: "module",
  });
  const shared: HandOver = {
    board: board.buffer,
    endpoints: endpoints.buffer,
    stamps,
  };
  worker.postMessage(shared);
  const stamp = new Float64Array(stamps);
  const samples: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const { promise, resolve } = Promise.withResolvers<number>();
    worker.onmessage = ({ data }: MessageEvent<number>) => resolve(data);
    // Until its head is shown: a call that is counted only takes a place itself.
    while (board.best(0) < 0) {
      await new Promise((wait) => setTimeout(wait));
    }
    stamp[0] = now();
    queue.release(0, 0);
    samples.push(await promise);
  }
  worker.terminate();
  const sorted = samples.slice(WARM_UP).sort((one, other) => one - other);
  const [median, p90, p99] = [0.5, 0.9, 0.99].map((share) =>
    Math.round(sorted[Math.floor(share * sorted.length)] ?? 0)
  );
  say(
    `hand-over of a place to another thread: median ${median} us, ` +
      `p90 ${p90} us, p99 ${p99} us (${sorted.length} rounds)`,
  );
}
