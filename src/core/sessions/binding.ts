/**
 * The binding of a session to an endpoint, packed into one 32-bit word, so
 * that it is read, replaced and compared in a single atomic step.
 *
 * Bits 0 to 7 hold the endpoint's slot, 8 to 23 the slot's generation, 24 and
 * 25 the consecutive failures, and bit 30 tells a binding from none. The
 * generation makes a binding to a slot that has been given to another endpoint
 * unlike every binding to the new one.
 *
 * Invariant: 0 is no binding, and no binding is 0.
 *
 * @module
 */

const SLOT_BITS = 8;
const GENERATION_MASK = 0xffff;
const PRESENT = 1 << 30;

/**
 * How failures stand in the word. Three in a row drop a binding: one is
 * chance, two may be a restart, the third says that the cache is gone anyway.
 */
export const FAILURES = { shift: 24, mask: 3 << 24, max: 3 } as const;

/** A binding without failures to `slot` (0 to 255) of `generation`. */
export function packBinding(slot: number, generation: number): number {
  return PRESENT | ((generation & GENERATION_MASK) << SLOT_BITS) | slot;
}

/** The slot of a binding; meaningless for 0. */
export function slotOfBinding(word: number): number {
  return word & ((1 << SLOT_BITS) - 1);
}
