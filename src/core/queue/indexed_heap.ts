/**
 * A binary heap whose entries know their place, so that any of them can leave.
 *
 * Invariant: no entry comes before the one it hangs under, and an entry's
 * `heapPlace` is its index in the heap, or -1 outside of one.
 *
 * @module
 */

/** Something that can be in one heap at a time. */
export interface HeapEntry {
  /** Written by the heap alone; -1 outside of one. */
  heapPlace: number;
}

/** The entries, of which the first is always at hand. */
export class IndexedHeap<Entry extends HeapEntry> {
  readonly #isBefore: (one: Entry, other: Entry) => boolean;
  readonly #entries: Entry[] = [];

  /** @param isBefore A strict order; entries of equal rank come in any order. */
  constructor(isBefore: (one: Entry, other: Entry) => boolean) {
    this.#isBefore = isBefore;
  }

  get size(): number {
    return this.#entries.length;
  }

  /** The first entry, which stays. */
  peek(): Entry | undefined {
    return this.#entries[0];
  }

  /** Takes an entry in; one that is in a heap already stays as it is. */
  push(entry: Entry): void {
    if (entry.heapPlace >= 0) return;
    this.#entries.push(entry);
    this.#rise(entry, this.#entries.length - 1);
  }

  /** Takes an entry out; false when it was not there. */
  remove(entry: Entry): boolean {
    const place = entry.heapPlace;
    if (place < 0 || this.#entries[place] !== entry) return false;
    entry.heapPlace = -1;
    const last = this.#entries.pop();
    if (last !== undefined && last !== entry) this.#settle(last, place);
    return true;
  }

  /** Puts an entry right whose rank has changed. */
  update(entry: Entry): void {
    if (entry.heapPlace >= 0) this.#settle(entry, entry.heapPlace);
  }

  /** All entries, in no order to rely on. */
  entries(): readonly Entry[] {
    return this.#entries;
  }

  #settle(entry: Entry, place: number): void {
    this.#rise(entry, place);
    if (entry.heapPlace === place) this.#sink(entry, place);
  }

  #rise(entry: Entry, from: number): void {
    let place = from;
    while (place > 0) {
      const above = this.#entries[(place - 1) >> 1];
      if (above === undefined || !this.#isBefore(entry, above)) break;
      this.#put(above, place);
      place = (place - 1) >> 1;
    }
    this.#put(entry, place);
  }

  #sink(entry: Entry, from: number): void {
    let place = from;
    for (;;) {
      const left = this.#entries[2 * place + 1];
      const right = this.#entries[2 * place + 2];
      if (left === undefined) break;
      const isRight = right !== undefined && this.#isBefore(right, left);
      const below = isRight ? right : left;
      if (!this.#isBefore(below, entry)) break;
      const next = below.heapPlace;
      this.#put(below, place);
      place = next;
    }
    this.#put(entry, place);
  }

  #put(entry: Entry, place: number): void {
    this.#entries[place] = entry;
    entry.heapPlace = place;
  }
}
