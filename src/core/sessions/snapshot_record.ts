/**
 * One session as a snapshot keeps it: eight words of 32 bits.
 *
 * Invariant: what is read is what was written, but for counts that do not fit
 * a word, which are kept as the nearest that does.
 *
 * @module
 */

/** Eight words. */
export const RECORD_BYTES = 32;

const WORD_MAX = 2 ** 32 - 1;

/** A session; one object serves one record after the other. */
export class SessionRecord {
  /** The two lanes of the key's hash, as the table keeps them. */
  a = 0;
  b = 0;
  /** Which of the endpoints of the head it is bound to. */
  endpoint = 0;
  /** Milliseconds from its last use to the snapshot; 0 while in flight. */
  idleMs = 0;
  /** Calls so far. */
  turns = 0;
  /** What its calls have used so far, in whole milliseconds. */
  attainedMs = 0;
  criticalPathMs = 0;
  waitedMs = 0;

  /** Writes itself at byte `at`. */
  write(view: DataView, at: number): void {
    view.setInt32(at, this.a, true);
    view.setInt32(at + 4, this.b, true);
    view.setUint32(at + 8, wordOf(this.endpoint), true);
    view.setUint32(at + 12, wordOf(this.idleMs), true);
    view.setUint32(at + 16, wordOf(this.turns), true);
    view.setUint32(at + 20, wordOf(this.attainedMs), true);
    view.setUint32(at + 24, wordOf(this.criticalPathMs), true);
    view.setUint32(at + 28, wordOf(this.waitedMs), true);
  }

  /** Becomes the record at byte `at`. */
  read(view: DataView, at: number): void {
    this.a = view.getInt32(at, true);
    this.b = view.getInt32(at + 4, true);
    this.endpoint = view.getUint32(at + 8, true);
    this.idleMs = view.getUint32(at + 12, true);
    this.turns = view.getUint32(at + 16, true);
    this.attainedMs = view.getUint32(at + 20, true);
    this.criticalPathMs = view.getUint32(at + 24, true);
    this.waitedMs = view.getUint32(at + 28, true);
  }
}

function wordOf(count: number): number {
  return Math.min(WORD_MAX, Math.max(0, Math.round(count)));
}
