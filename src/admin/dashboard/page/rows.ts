/**
 * The rows of a table, kept in step with a list.
 *
 * Invariant: an item keeps its row for as long as it is listed, whatever moves
 * around it, and there are never more rows than items.
 *
 * @module
 */
/// <reference lib="dom" />

/** One row. */
export interface Row<Item> {
  readonly element: HTMLElement;
  update(item: Item): void;
  /** Gives back what the row holds besides its element. */
  remove?(): void;
}

/** How rows are told apart and made. */
export interface RowPlan<Item> {
  key(item: Item): string;
  create(item: Item): Row<Item>;
}

/** Rows in a parent that holds nothing else. */
export class Rows<Item> {
  readonly #parent: HTMLElement;
  readonly #plan: RowPlan<Item>;
  readonly #rows = new Map<string, Row<Item>>();

  constructor(parent: HTMLElement, plan: RowPlan<Item>) {
    this.#parent = parent;
    this.#plan = plan;
  }

  /** Shows exactly these items; of two with one key the first. */
  update(items: readonly Item[]): void {
    const listed = new Map<string, Item>();
    for (const item of items) {
      const key = this.#plan.key(item);
      if (!listed.has(key)) listed.set(key, item);
    }
    for (const [key, row] of this.#rows) {
      if (listed.has(key)) continue;
      row.element.remove();
      row.remove?.();
      this.#rows.delete(key);
    }
    let before: Element | null = this.#parent.firstElementChild;
    for (const [key, item] of listed) {
      const row = this.#rowOf(key, item);
      row.update(item);
      if (row.element === before) before = before.nextElementSibling;
      else this.#parent.insertBefore(row.element, before);
    }
  }

  #rowOf(key: string, item: Item): Row<Item> {
    const known = this.#rows.get(key);
    if (known !== undefined) return known;
    const row = this.#plan.create(item);
    this.#rows.set(key, row);
    return row;
  }
}
