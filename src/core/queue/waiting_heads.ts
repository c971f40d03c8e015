/**
 * The waiting calls of one worker by the places they would take, and the best
 * call for each endpoint slot, which the board shows to other workers.
 *
 * A call that takes any endpoint of its pool stands in the heap of the pool.
 * One that waits for its session's endpoint, or that some endpoints have
 * failed, stands in the heaps of single slots. A call may stand in several.
 *
 * Invariant: what the board shows of this worker is the best rank over the
 * heaps of each slot, whenever a method returns.
 *
 * @module
 */
import { ENDPOINTS_MAX } from "../endpoints/endpoint_table.ts";
import { IndexedHeap } from "./indexed_heap.ts";
import type { Pool } from "../placement/pool.ts";
import type { QueueBoard } from "./queue_board.ts";
import { goesBefore, NOBODY } from "./queue_rank.ts";
import type { RankedEntry, WaitingCall } from "./waiting_call.ts";

type Heap = IndexedHeap<RankedEntry>;

/** The best waiting calls of one worker. */
export class WaitingHeads {
  readonly #board: QueueBoard;
  readonly #worker: number;
  /** Calls that take any endpoint of a pool, by the pool's seed. */
  readonly #ofPool = new Map<number, Heap>();
  /** The same heaps by the slots of their pools. */
  #ofPoolsAt: Heap[][] = [];
  /** Calls that take the slot's endpoint, and not any of their pool. */
  readonly #ofSlot: (Heap | undefined)[] = new Array(ENDPOINTS_MAX);
  /** What the board shows of this worker. */
  readonly #shown = new Int32Array(ENDPOINTS_MAX).fill(NOBODY);

  constructor(board: QueueBoard, worker: number) {
    this.#board = board;
    this.#worker = worker;
  }

  /** The best call for a place on `slot`. */
  best(slot: number): WaitingCall | undefined {
    return this.#headOf(slot)?.call;
  }

  /** Whether a call waits for a place on `slot`. */
  isWanted(slot: number): boolean {
    return this.#shown[slot] !== NOBODY;
  }

  /** Calls that wait for `slot` and for no other. */
  patientFor(slot: number): WaitingCall[] {
    const entries = this.#ofSlot[slot]?.entries() ?? [];
    return entries.map(({ call }) => call).filter((call) => call.isPatient);
  }

  /** Puts a call where it belongs. */
  enlist(call: WaitingCall): void {
    const { tried } = call.facts;
    const { boundSlot, pool } = call;
    if (tried !== undefined) {
      for (let index = 0; index < pool.count; index++) {
        const slot = pool.slot(index);
        if (tried.includes(slot)) continue;
        enter(call, this.#heapOf(slot), slot !== boundSlot);
      }
    } else {
      if (boundSlot >= 0) enter(call, this.#heapOf(boundSlot), false);
      if (!call.isPatient) enter(call, this.#poolHeapOf(pool), true);
    }
    this.#showCall(call);
  }

  /** Takes a call out. */
  delist(call: WaitingCall): void {
    for (const entry of call.entries) entry.heap.remove(entry);
    call.entries.length = 0;
    this.#showCall(call);
  }

  /** Puts a call right whose level has changed. */
  rerank(call: WaitingCall): void {
    for (const entry of call.entries) {
      entry.rank = call.rankOf(entry.isAway);
      entry.heap.update(entry);
    }
    this.#showCall(call);
  }

  /** From now on a patient call takes any endpoint of its pool. */
  widen(call: WaitingCall): void {
    call.isPatient = false;
    enter(call, this.#poolHeapOf(call.pool), true);
    this.#showCall(call);
  }

  /** Forgets which pools there are; no call may be enlisted. */
  clearPools(): void {
    this.#ofPool.clear();
    this.#ofPoolsAt = [];
  }

  #showCall(call: WaitingCall): void {
    const { boundSlot, pool } = call;
    if (boundSlot >= 0) this.#show(boundSlot);
    if (call.isPatient) return;
    for (let index = 0; index < pool.count; index++) {
      this.#show(pool.slot(index));
    }
  }

  #show(slot: number): void {
    const rank = this.#headOf(slot)?.rank ?? NOBODY;
    if (this.#shown[slot] === rank) return;
    this.#shown[slot] = rank;
    this.#board.show(this.#worker, slot, rank);
  }

  #headOf(slot: number): RankedEntry | undefined {
    let head = this.#ofSlot[slot]?.peek();
    const heaps = this.#ofPoolsAt[slot];
    if (heaps === undefined) return head;
    for (const heap of heaps) {
      const entry = heap.peek();
      if (entry === undefined) continue;
      if (head === undefined || goesBefore(entry.rank, head.rank)) head = entry;
    }
    return head;
  }

  #heapOf(slot: number): Heap {
    return this.#ofSlot[slot] ??= newHeap();
  }

  #poolHeapOf(pool: Pool): Heap {
    const known = this.#ofPool.get(pool.seed);
    if (known !== undefined) return known;
    const heap = newHeap();
    this.#ofPool.set(pool.seed, heap);
    for (let index = 0; index < pool.count; index++) {
      (this.#ofPoolsAt[pool.slot(index)] ??= []).push(heap);
    }
    return heap;
  }
}

function enter(call: WaitingCall, heap: Heap, isAway: boolean): void {
  const rank = call.rankOf(isAway);
  const entry: RankedEntry = { call, heap, isAway, rank, heapPlace: -1 };
  call.entries.push(entry);
  heap.push(entry);
}

function newHeap(): Heap {
  return new IndexedHeap((one, other) => goesBefore(one.rank, other.rank));
}
