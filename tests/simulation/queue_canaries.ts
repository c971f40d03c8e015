/**
 * Bugs that are planted into the queue on purpose, and must be found.
 *
 * Invariant: as in `canaries.ts`, a bug is gone when its canary is disposed.
 *
 * @module
 */
import { stub } from "@std/testing/mock";
import { EndpointTable } from "../../src/core/endpoints/endpoint_table.ts";
import { QueueBoard } from "../../src/core/queue/queue_board.ts";
import { WaitQueue } from "../../src/core/queue/wait_queue.ts";
import type { WaitingCall } from "../../src/core/queue/waiting_call.ts";
import { WaitingHeads } from "../../src/core/queue/waiting_heads.ts";
import type { Canary } from "./canaries.ts";

/** One call in so many does the wrong thing. */
const WRONG_ONE_IN = 7;

const board = QueueBoard.prototype;
const queue = WaitQueue.prototype;

/** All canaries of the queue by name. */
export const QUEUE_CANARIES: Readonly<Record<string, Canary>> = {
  "loses_places_on_their_way": {
    foundBy: "places",
    plant() {
      const { takeGrants } = board;
      let places = 0;
      return stub(
        board,
        "takeGrants",
        function (this: QueueBoard, worker: number, take) {
          takeGrants.call(this, worker, (slot) => {
            if (++places % WRONG_ONE_IN !== 0) take(slot);
          });
        },
      );
    },
  },
  "uses_places_twice": {
    foundBy: "places",
    plant() {
      const { tryReserve } = EndpointTable.prototype;
      let places = 0;
      return stub(
        EndpointTable.prototype,
        "tryReserve",
        function (this: EndpointTable, slot: number) {
          const isReserved = tryReserve.call(this, slot);
          if (isReserved && ++places % WRONG_ONE_IN === 0) this.release(slot);
          return isReserved;
        },
      );
    },
  },
  "prefers_the_last_worker": {
    foundBy: "order",
    plant() {
      const { best } = board;
      return stub(board, "best", function (this: QueueBoard, slot: number) {
        const first = best.call(this, slot);
        const last = this.workerCount - 1;
        return first >= 0 && this.ownWaiting(last) > 0 ? last : first;
      });
    },
  },
  "gives_nothing_at_a_tick": {
    foundBy: "room",
    plant: () => stub(WaitingHeads.prototype, "isWanted", () => false),
  },
  "never_ticks": {
    foundBy: "waits",
    plant() {
      const { collect } = queue;
      return stub(queue, "tick", function (this: WaitQueue, nowMs: number) {
        collect.call(this, nowMs);
      });
    },
  },
  "keeps_who_has_left": {
    foundBy: "once",
    plant() {
      const { remove } = queue;
      let calls = 0;
      return stub(
        queue,
        "remove",
        function (this: WaitQueue, call: WaitingCall) {
          return ++calls % WRONG_ONE_IN === 0 || remove.call(this, call);
        },
      );
    },
  },
  "forgets_the_dead": {
    foundBy: "counts",
    plant: () => stub(board, "reclaim", () => {}),
  },
};
