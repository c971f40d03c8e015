/**
 * The heap, against a list that is sorted anew each time.
 *
 * @module
 */
import { assert, assertEquals, assertFalse } from "@std/assert";
import fc from "fast-check";
import { test } from "../../../tests/leakproof.ts";
import { type HeapEntry, IndexedHeap } from "./indexed_heap.ts";

/** An entry; names are unlike, so that the order is total. */
interface Ranked extends HeapEntry {
  readonly name: number;
  rank: number;
}

function isBefore(one: Ranked, other: Ranked): boolean {
  return one.rank === other.rank
    ? one.name < other.name
    : one.rank < other.rank;
}

function entry(name: number, rank = name): Ranked {
  return { name, rank, heapPlace: -1 };
}

test("an entry that is in no heap, or in another, is not taken out", () => {
  const [one, other] = [new IndexedHeap(isBefore), new IndexedHeap(isBefore)];
  const [stranger, first] = [entry(1), entry(2)];
  one.push(first);
  assertFalse(one.remove(stranger));
  assertFalse(other.remove(first));
  assertEquals([one.size, other.size, first.heapPlace], [1, 0, 0]);
  other.push(stranger);
  assertFalse(one.remove(stranger));
  assertEquals(other.peek(), stranger);
});

test("an entry that is in a heap already is not taken in again", () => {
  const heap = new IndexedHeap(isBefore);
  const only = entry(1);
  heap.push(only);
  heap.push(only);
  assertEquals(heap.size, 1);
  assert(heap.remove(only));
  assertFalse(heap.remove(only));
  assertEquals([heap.size, heap.peek()], [0, undefined]);
});

test("update() of an entry outside of the heap changes nothing", () => {
  const heap = new IndexedHeap(isBefore);
  const outside = entry(0);
  heap.push(entry(1));
  heap.update(outside);
  assertEquals([heap.size, outside.heapPlace], [1, -1]);
});

const steps = fc.array(
  fc.record({
    kind: fc.constantFrom("push", "push", "remove", "pop", "rank"),
    name: fc.nat({ max: 19 }),
    rank: fc.nat({ max: 9 }),
  }),
  { maxLength: 200 },
);

test("the first entry is the first of a sorted list, whatever happens", () => {
  fc.assert(
    fc.property(steps, (list) => {
      const heap = new IndexedHeap<Ranked>(isBefore);
      const all = Array.from({ length: 20 }, (_, name) => entry(name));
      const model = new Set<Ranked>();
      for (const { kind, name, rank } of list) {
        const chosen = kind === "pop" ? heap.peek() : all[name];
        if (chosen === undefined) continue;
        if (kind === "push") {
          heap.push(chosen);
          model.add(chosen);
        } else if (kind === "rank") {
          chosen.rank = rank;
          heap.update(chosen);
        } else assertEquals(heap.remove(chosen), model.delete(chosen));
        const sorted = [...model].sort((a, b) => isBefore(a, b) ? -1 : 1);
        assertEquals(heap.peek(), sorted[0]);
        assertEquals(heap.size, model.size);
        for (const one of all) {
          assertEquals(one.heapPlace >= 0, model.has(one));
        }
        heap.entries().forEach((one, at) => assertEquals(one.heapPlace, at));
      }
    }),
    { numRuns: 300 },
  );
});
