/**
 * Token buckets that all threads draw from: the generic cell rate algorithm
 * (ITU-T I.371, annex A), which keeps a bucket as one time.
 *
 * That time is when the bucket will be full again. A request moves it on by
 * what one token takes to come back, and is refused if that would be further
 * ahead than a whole bucket takes. One time is one word of 64 bits, so that a
 * compare-exchange decides, and neither a lock nor a turn of refilling exists.
 *
 * Invariant: in no time span of `t` seconds are more than
 * `burst + t * perSecond` tokens taken, over all threads. A word that lies
 * further ahead than a full bucket, since the limit was another, counts as
 * just that far.
 *
 * @module
 */

/** How fast tokens come, and how many there can be. */
export interface BucketLimit {
  /** Tokens a second; over 0. */
  readonly perSecond: number;
  /** Most tokens there can be; a whole number, at least 1. */
  readonly burst: number;
}

/** What became of a request for a token. */
export interface Taking {
  readonly isTaken: boolean;
  /** Tokens that are left. */
  readonly remaining: number;
  /** Until the bucket is full, in milliseconds. */
  readonly fullInMs: number;
  /** Until there is a token, in milliseconds; 0 when one was taken. */
  readonly waitMs: number;
}

/** Times are kept in nanoseconds since the epoch of the buckets. */
const NS_PER_MS = 1e6;

const NS_PER_SECOND = 1e9;

/**
 * The part of a token that may be missing. Times are exact for 104 days, up to
 * 2^53 ns, and lose a nanosecond here and there after that.
 */
const SLACK = 0.001;

/** The first word holds that epoch, in milliseconds. */
const HEAD_WORDS = 1;

/** The buckets of one gateway, by slot. */
export class TokenBuckets {
  readonly buffer: SharedArrayBuffer;
  readonly #words: BigInt64Array;
  readonly #epochMs: number;

  /** @param buffer Of `create`. */
  constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.#words = new BigInt64Array(buffer);
    this.#epochMs = Number(this.#words[0] ?? 0n);
  }

  /**
   * Allocates full buckets.
   *
   * @param epochMs The time of now, or an earlier one.
   */
  static create(slotCount: number, epochMs: number): TokenBuckets {
    const buffer = new SharedArrayBuffer(8 * (slotCount + HEAD_WORDS));
    new BigInt64Array(buffer)[0] = BigInt(Math.floor(epochMs));
    return new TokenBuckets(buffer);
  }

  /** Takes a token, if there is one. */
  take(slot: number, limit: BucketLimit, nowMs: number): Taking {
    const word = slot + HEAD_WORDS;
    const tokenNs = tokenNsOf(limit);
    const burstNs = tokenNs * limit.burst;
    const nowNs = Math.floor((nowMs - this.#epochMs) * NS_PER_MS);
    let seen = Atomics.load(this.#words, word);
    // Ends: whoever fails has been overtaken by one that took a token.
    for (;;) {
      const aheadNs = within(Number(seen) - nowNs, burstNs);
      const isTaken = aheadNs + tokenNs <= burstNs + tokenNs * SLACK;
      if (!isTaken) return reading(false, { aheadNs, burstNs, tokenNs });
      const nextNs = aheadNs + tokenNs;
      const next = BigInt(nowNs + nextNs);
      const found = Atomics.compareExchange(this.#words, word, seen, next);
      if (found === seen) {
        return reading(true, { aheadNs: nextNs, burstNs, tokenNs });
      }
      seen = found;
    }
  }

  /** Gives a token back that was taken for nothing. */
  giveBack(slot: number, limit: BucketLimit): void {
    const tokenNs = BigInt(tokenNsOf(limit));
    Atomics.sub(this.#words, slot + HEAD_WORDS, tokenNs);
  }

  /** Fills a bucket, for whoever is given its slot next. */
  fill(slot: number): void {
    Atomics.store(this.#words, slot + HEAD_WORDS, 0n);
  }
}

/** Whole nanoseconds, so that sums of them are exact: see `SLACK`. */
function tokenNsOf({ perSecond }: BucketLimit): number {
  return Math.round(NS_PER_SECOND / perSecond);
}

function within(ns: number, maxNs: number): number {
  return Math.min(Math.max(ns, 0), maxNs);
}

function reading(
  isTaken: boolean,
  { aheadNs, burstNs, tokenNs }: {
    readonly aheadNs: number;
    readonly burstNs: number;
    readonly tokenNs: number;
  },
): Taking {
  const freeNs = burstNs - aheadNs;
  return {
    isTaken,
    remaining: Math.max(0, Math.floor(freeNs / tokenNs + SLACK)),
    fullInMs: aheadNs / NS_PER_MS,
    waitMs: isTaken ? 0 : (tokenNs - freeNs) / NS_PER_MS,
  };
}
