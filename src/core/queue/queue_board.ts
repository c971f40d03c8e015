/**
 * What worker threads tell each other about waiting calls, in one
 * SharedArrayBuffer: for each worker and endpoint slot the rank of the best
 * call that waits there, and the places handed over to that worker.
 *
 * Calls wait in their own worker (`wait_queue.ts`). Whoever has a place to give
 * looks at all heads and *grants* it to the worker of the best one. The place
 * stays reserved on its way, so nobody can take it in between. The worker
 * looks again when it takes the grant: if its best call has left, or another
 * worker's is better by now, it passes the place on.
 *
 * A place and a call cannot miss each other. Whoever waits first counts
 * itself and shows its head, and then tries to reserve; whoever frees a place
 * first frees it, and then looks for heads. All of it is sequentially
 * consistent, so one of the two sees the other.
 *
 * Invariant: a granted place belongs to the worker in whose row it stands,
 * until that worker takes it or, when it has died, the supervisor does.
 *
 * @module
 */
import { ENDPOINTS_MAX } from "../endpoints/endpoint_table.ts";
import { goesBefore, NOBODY } from "./queue_rank.ts";
import { LEVEL_COUNT } from "../scheduling_policy.ts";

/**
 * Pools that have a count of their own, as many as there can be endpoints;
 * more share the last one.
 */
const POOLS_MAX = 256;

/** Words in front of the rows. Counters keep off each other's cache lines. */
const WAITING = 0;
const ARRIVALS = 16;
const POOL_SEEDS = 32;
const POOL_WAITING = POOL_SEEDS + POOLS_MAX;
const ROWS = POOL_WAITING + POOLS_MAX;

/** Words of a worker's row. */
const BELL = 0;
const OWN_WAITING = 1;
const LONGEST_MS = 2;
/** One for each level, the overdue ones before. */
const BY_LEVEL = 16;
const GRANT_BITS = 48;
const HEADS = 64;
const GRANTS = HEADS + ENDPOINTS_MAX;
const OWN_POOLS = GRANTS + ENDPOINTS_MAX;
const ROW_WORDS = OWN_POOLS + POOLS_MAX;

const SLOTS_PER_WORD = 32;

/** What a pool's seed is stored as, so that 0 is a free cell. */
const SEED_MARK = 0x5bd1e995;

/** One view of the board; every thread makes its own over the same buffer. */
export class QueueBoard {
  readonly buffer: SharedArrayBuffer;
  readonly workerCount: number;
  readonly #words: Int32Array;

  constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer);
    this.workerCount = (this.#words.length - ROWS) / ROW_WORDS;
  }

  /** A board of `workerCount` rows on which nobody waits. */
  static create(workerCount: number): QueueBoard {
    const words = ROWS + workerCount * ROW_WORDS;
    const board = new QueueBoard(new SharedArrayBuffer(4 * words));
    for (let worker = 0; worker < workerCount; worker++) {
      board.#clearHeads(worker);
    }
    return board;
  }

  /** Calls that wait, over all workers. */
  get waitingCount(): number {
    return Atomics.load(this.#words, WAITING);
  }

  /** Calls that wait on a level, over all workers; -1 for overdue ones. */
  waitingOn(level: number): number {
    return this.#sum(BY_LEVEL + level + 1);
  }

  /** How long the longest waiting call has waited, as of the last tick. */
  get longestWaitMs(): number {
    let longest = 0;
    for (let worker = 0; worker < this.workerCount; worker++) {
      const at = rowOf(worker) + LONGEST_MS;
      longest = Math.max(longest, Atomics.load(this.#words, at));
    }
    return longest;
  }

  /** Places handed over to other workers since the start. */
  get handOverCount(): number {
    let count = 0;
    for (let worker = 0; worker < this.workerCount; worker++) {
      // Each grant rings once.
      count += Atomics.load(this.#words, rowOf(worker) + BELL) >>> 0;
    }
    return count;
  }

  /** Calls of a worker that wait. */
  ownWaiting(worker: number): number {
    return Atomics.load(this.#words, rowOf(worker) + OWN_WAITING);
  }

  /** The next number in the order of arrival. */
  arrive(): number {
    return Atomics.add(this.#words, ARRIVALS, 1);
  }

  /** The cell that counts the calls waiting for the pool of `seed`. */
  poolCell(seed: number): number {
    const mark = seed === -SEED_MARK ? 1 : (seed + SEED_MARK) | 0;
    for (let cell = 0; cell < POOLS_MAX - 1; cell++) {
      const at = POOL_SEEDS + cell;
      const seen = Atomics.load(this.#words, at);
      if (seen === mark) return cell;
      if (seen !== 0) continue;
      const found = Atomics.compareExchange(this.#words, at, 0, mark);
      if (found === 0 || found === mark) return cell;
    }
    return POOLS_MAX - 1;
  }

  /** Counts a call of the pool in `cell`; false when `max` wait for it. */
  enter(worker: number, cell: number, max: number): boolean {
    const at = POOL_WAITING + cell;
    if (Atomics.add(this.#words, at, 1) >= max) {
      Atomics.sub(this.#words, at, 1);
      return false;
    }
    const row = rowOf(worker);
    Atomics.add(this.#words, row + OWN_POOLS + cell, 1);
    Atomics.add(this.#words, row + OWN_WAITING, 1);
    Atomics.add(this.#words, WAITING, 1);
    return true;
  }

  /** Counts a call off that `enter` counted. */
  leave(worker: number, cell: number): void {
    const row = rowOf(worker);
    Atomics.sub(this.#words, POOL_WAITING + cell, 1);
    Atomics.sub(this.#words, row + OWN_POOLS + cell, 1);
    Atomics.sub(this.#words, row + OWN_WAITING, 1);
    Atomics.sub(this.#words, WAITING, 1);
  }

  /** Counts calls of a worker on a level; -1 for overdue ones. */
  countLevel(worker: number, level: number, amount: number): void {
    Atomics.add(this.#words, rowOf(worker) + BY_LEVEL + level + 1, amount);
  }

  /** Notes how long a worker's longest waiting call has waited. */
  noteLongest(worker: number, waitMs: number): void {
    Atomics.store(this.#words, rowOf(worker) + LONGEST_MS, waitMs);
  }

  /** Shows the rank of a worker's best call for a slot, or `NOBODY`. */
  show(worker: number, slot: number, rank: number): void {
    Atomics.store(this.#words, rowOf(worker) + HEADS + slot, rank);
  }

  /** The worker whose call is the best for a place on `slot`, or -1. */
  best(slot: number): number {
    let best = -1;
    let bestRank = NOBODY;
    for (let worker = 0; worker < this.workerCount; worker++) {
      const rank = Atomics.load(this.#words, rowOf(worker) + HEADS + slot);
      if (rank === NOBODY) continue;
      if (best >= 0 && !goesBefore(rank, bestRank)) continue;
      best = worker;
      bestRank = rank;
    }
    return best;
  }

  /** Hands a reserved place on `slot` over to a worker, and wakes it. */
  grant(worker: number, slot: number): void {
    const row = rowOf(worker);
    Atomics.add(this.#words, row + GRANTS + slot, 1);
    const bit = 1 << (slot % SLOTS_PER_WORD);
    const at = row + GRANT_BITS + Math.floor(slot / SLOTS_PER_WORD);
    Atomics.or(this.#words, at, bit);
    Atomics.add(this.#words, row + BELL, 1);
    Atomics.notify(this.#words, row + BELL);
  }

  /** Takes what was handed over to a worker: `take` is called for each place. */
  takeGrants(worker: number, take: (slot: number) => void): void {
    const row = rowOf(worker);
    for (let word = 0; word < ENDPOINTS_MAX / SLOTS_PER_WORD; word++) {
      const at = row + GRANT_BITS + word;
      if (Atomics.load(this.#words, at) === 0) continue;
      let bits = Atomics.exchange(this.#words, at, 0);
      while (bits !== 0) {
        const bit = 31 - Math.clz32(bits);
        bits &= ~(1 << bit);
        const slot = word * SLOTS_PER_WORD + bit;
        const count = Atomics.exchange(this.#words, row + GRANTS + slot, 0);
        for (let place = 0; place < count; place++) take(slot);
      }
    }
  }

  /** The word that `grant` changes and notifies, for `Atomics.waitAsync`. */
  bell(worker: number): { readonly words: Int32Array; readonly index: number } {
    return { words: this.#words, index: rowOf(worker) + BELL };
  }

  /**
   * Forgets the calls of a dead worker; `take` is called for each place that
   * had been handed over to it.
   */
  reclaim(worker: number, take: (slot: number) => void): void {
    this.#clearHeads(worker);
    const row = rowOf(worker);
    for (let cell = 0; cell < POOLS_MAX; cell++) {
      const count = Atomics.exchange(this.#words, row + OWN_POOLS + cell, 0);
      Atomics.sub(this.#words, POOL_WAITING + cell, count);
    }
    const waiting = Atomics.exchange(this.#words, row + OWN_WAITING, 0);
    Atomics.sub(this.#words, WAITING, waiting);
    Atomics.store(this.#words, row + LONGEST_MS, 0);
    for (let level = 0; level <= LEVEL_COUNT; level++) {
      Atomics.store(this.#words, row + BY_LEVEL + level, 0);
    }
    this.takeGrants(worker, take);
  }

  #clearHeads(worker: number): void {
    for (let slot = 0; slot < ENDPOINTS_MAX; slot++) {
      this.show(worker, slot, NOBODY);
    }
  }

  #sum(word: number): number {
    let sum = 0;
    for (let worker = 0; worker < this.workerCount; worker++) {
      sum += Atomics.load(this.#words, rowOf(worker) + word);
    }
    return sum;
  }
}

function rowOf(worker: number): number {
  return ROWS + worker * ROW_WORDS;
}
