/**
 * What is going to happen, on a clock that stands still in between.
 *
 * Invariant: entries come in the order of their time, and those of one time in
 * the order in which they were noted, so that a run can be repeated.
 *
 * @module
 */
import { type HeapEntry, IndexedHeap } from "../core/queue/indexed_heap.ts";

/** Something that will happen. */
interface Entry extends HeapEntry {
  readonly atMs: number;
  readonly order: number;
  readonly run: (nowMs: number) => void;
}

/** The entries to come. */
export class Agenda {
  readonly #entries = new IndexedHeap<Entry>((one, other) =>
    one.atMs < other.atMs ||
    (one.atMs === other.atMs && one.order < other.order)
  );
  #order = 0;

  /** When the next entry is due; `Infinity` for never. */
  get nextAtMs(): number {
    return this.#entries.peek()?.atMs ?? Infinity;
  }

  /** Notes that `run` is to happen at a time. */
  note(atMs: number, run: (nowMs: number) => void): void {
    this.#entries.push({ atMs, order: this.#order++, run, heapPlace: -1 });
  }

  /** Has the next entry happen. */
  runNext(): void {
    const entry = this.#entries.peek();
    if (entry === undefined) return;
    this.#entries.remove(entry);
    entry.run(entry.atMs);
  }
}
