/**
 * What tenants and their keys use of what they may: requests at once, requests
 * that wait, and tokens of their rate. All threads share one truth.
 *
 * Each tenant and each key has a slot. Counts stand beside each worker's own
 * share of them, so that the share of a worker that died can be given back, as
 * in `budget.ts`; tokens are spent and need no giving back.
 *
 * Invariant: a count is the sum of the shares, and no thread ever takes it
 * above the limit. There are `SLOT_COUNT` slots, whatever is configured.
 *
 * @module
 */
import { type BucketLimit, type Taking, TokenBuckets } from "./token_bucket.ts";

/**
 * Tenants and keys together: at most 1,024 and 4,096 are configured, and the
 * rest is for keys that take the place of others while requests go on.
 */
export const SLOT_COUNT = 8_192;

/** What is counted; the position is the word of a slot. */
const COUNTED = ["running", "waiting"] as const;

/** One of `COUNTED`. */
export type Counted = typeof COUNTED[number];

const WORD: Readonly<Record<Counted, number>> = { running: 0, waiting: 1 };

const ROW_WORDS = SLOT_COUNT * COUNTED.length;

/** Buffers that can be posted to a thread. */
export interface TenantBuffers {
  /** A row of totals, and one for each worker. */
  readonly counts: SharedArrayBuffer;
  readonly buckets: SharedArrayBuffer;
}

/** One worker's view of the limits. */
export class TenantLimits {
  readonly #words: Int32Array;
  readonly #row: number;
  readonly #buckets: TokenBuckets;

  /** @param index Of the worker; row 0 holds the totals. */
  constructor({ buckets, counts }: TenantBuffers, index: number) {
    this.#words = new Int32Array(counts);
    this.#row = (index + 1) * ROW_WORDS;
    this.#buckets = new TokenBuckets(buckets);
  }

  /** Allocates what `workerCount` workers share: 64 KiB each, and 128 KiB. */
  static create(workerCount: number, epochMs: number): TenantBuffers {
    return {
      counts: new SharedArrayBuffer(4 * ROW_WORDS * (workerCount + 1)),
      buckets: TokenBuckets.create(SLOT_COUNT, epochMs).buffer,
    };
  }

  /** Takes one more; false when there are `max` already. */
  take(counted: Counted, slot: number, max: number): boolean {
    const word = slot * COUNTED.length + WORD[counted];
    let seen = Atomics.load(this.#words, word);
    // Ends: whoever fails has been overtaken by one that took or gave back.
    for (;;) {
      if (seen >= max) return false;
      const found = Atomics.compareExchange(this.#words, word, seen, seen + 1);
      if (found === seen) break;
      seen = found;
    }
    Atomics.add(this.#words, this.#row + word, 1);
    return true;
  }

  /** Gives back what `take` took. */
  give(counted: Counted, slot: number): void {
    const word = slot * COUNTED.length + WORD[counted];
    Atomics.sub(this.#words, this.#row + word, 1);
    Atomics.sub(this.#words, word, 1);
  }

  /** How many there are now, over all workers. */
  held(counted: Counted, slot: number): number {
    return Atomics.load(this.#words, slot * COUNTED.length + WORD[counted]);
  }

  /** Takes a token of a slot's rate, if there is one. */
  takeToken(slot: number, limit: BucketLimit, nowMs: number): Taking {
    return this.#buckets.take(slot, limit, nowMs);
  }

  /** Gives a token back that was taken for nothing. */
  giveToken(slot: number, limit: BucketLimit): void {
    this.#buckets.giveBack(slot, limit);
  }

  /** Forgets whose a slot was: its next owner's bucket is full. */
  clear(slot: number): void {
    this.#buckets.fill(slot);
  }

  /** Gives back all that this row's worker held; after it has ended. */
  reclaim(): void {
    for (let word = 0; word < ROW_WORDS; word++) {
      const share = Atomics.exchange(this.#words, this.#row + word, 0);
      if (share !== 0) Atomics.sub(this.#words, word, share);
    }
  }
}
