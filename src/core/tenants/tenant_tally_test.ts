/**
 * Counts of tenants over several workers.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../../tests/leakproof.ts";
import { SLOT_COUNT } from "./tenant_limits.ts";
import { TENANT_OUTCOMES, TenantTally } from "./tenant_tally.ts";

test("TenantTally adds up over workers, and keeps slots apart", () => {
  const slot = fc.constantFrom(0, 1, SLOT_COUNT - 2, SLOT_COUNT - 1);
  const step = fc.record({
    worker: fc.nat(2),
    slot,
    outcome: fc.constantFrom(...TENANT_OUTCOMES),
  });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const buffer = TenantTally.create(3);
      const tallies = [0, 1, 2].map((index) => new TenantTally(buffer, index));
      for (const { outcome, slot, worker } of steps) {
        tallies[worker]?.count(slot, outcome);
      }
      for (const one of [0, 1, 2, SLOT_COUNT - 2, SLOT_COUNT - 1]) {
        const own = steps.filter(({ slot }) => slot === one);
        assertEquals(
          tallies[1]?.sums(one),
          TENANT_OUTCOMES.map((wanted) =>
            own.filter(({ outcome }) => outcome === wanted).length
          ),
        );
      }
    }),
    { numRuns: 30 },
  );
});
