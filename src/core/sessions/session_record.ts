/**
 * Where everything stands in the memory of the session table.
 *
 * A header of 32 words is followed by buckets of 8 records. A bucket opens with
 * its 8 A tags and 8 B tags, which are one cache line of 64 bytes: a search
 * touches that line and no other. Then come the records' fields, 8 words each,
 * so that a record's fields share one cache line too. A record costs 40 bytes.
 *
 * A record is free (`pins` 0, both tags 0), owned by one thread that is
 * claiming, renewing or evicting it (`pins` negative), idle (`pins` 0, both
 * tags set), in flight (`pins` is how many requests hold it, both tags set),
 * or ended (`pins` as in flight, tag A 0, tag B set). Tag A set and tag B 0 is
 * a record on its way in. Tag A 0, tag B set and `pins` 0 is an ended record
 * on its way out.
 *
 * Tag A alone says whether a record is to be found by its key; tag B alone
 * says whether `occupied` counts it.
 *
 * Invariant: whoever takes `pins` from 0 to -1 is the only one to write the
 * record's tags, and takes it back to 0 or to 1 as its last step. The one
 * exception is that a holder may take tag A to 0: as no thread owns a record
 * that is held, none is disturbed by that.
 *
 * @module
 */

/** Sizes, and words of the header. Counters keep off the line read by all. */
export const LAYOUT = {
  /** 8 tags of two lanes fill one cache line. */
  bucketRecords: 8,
  bucketWords: 80,
  headerWords: 32,
  /** Header words written once, or seldom. */
  buckets: 0,
  idleTtlTicks: 1,
  /** A 64-bit float: the word must be even. */
  epochMs: 2,
  /** What buckets are drawn with: `session_place.ts`. */
  secretLow: 4,
  secretHigh: 5,
  /** Header words that count. */
  occupied: 16,
  evictions: 17,
  fullBuckets: 18,
  repairs: 19,
  /**
   * Times are kept in ticks of 100 ms: 31 bits of them last 6.8 years, where
   * milliseconds would wrap after 25 days of uptime.
   */
  tickMs: 100,
} as const;

/** Words of a record, counted from its first field. */
export const FIELD = {
  /** Requests that hold the record, or negative: see the header comment. */
  pins: 0,
  /** The confirmed binding (`binding.ts`), or 0. */
  bound: 1,
  /** The binding of calls in flight that nobody has answered yet, or 0. */
  tentative: 2,
  /** Ticks since the epoch when the record was last taken or given back. */
  lastUse: 3,
  /** Calls of the session so far. */
  turns: 4,
  /** Service of all calls of the session, in milliseconds. */
  attainedService: 5,
  /** Service on the session's critical path, in milliseconds. */
  criticalPath: 6,
  /** How long calls waited on the way that waited longest, in milliseconds. */
  waited: 7,
} as const;

/** The word of a record's first field. */
export function fieldsOf(record: number): number {
  return LAYOUT.headerWords + (record >> 3) * LAYOUT.bucketWords +
    2 * LAYOUT.bucketRecords + (record & 7) * 8;
}
