/**
 * Counts by endpoint: summed over workers, and never passed on to another
 * endpoint in the same slot.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../../tests/leakproof.ts";
import { ENDPOINTS_MAX } from "./endpoint_table.ts";
import { EndpointTraffic } from "./endpoint_traffic.ts";

const NOTHING = {
  attempts: 0,
  failures: 0,
  hits: 0,
  firstByteCount: 0,
  firstByteMsSum: 0,
  responseBytes: 0,
};

function newTraffic(workerCount: number): EndpointTraffic {
  const bytes = EndpointTraffic.bytesFor(workerCount);
  return new EndpointTraffic(new SharedArrayBuffer(bytes));
}

test("EndpointTraffic keeps slots and kinds apart, and sums workers", () => {
  const traffic = newTraffic(2);
  const last = ENDPOINTS_MAX - 1;
  for (const slot of [0, last]) traffic.begin(slot, 0);
  const [one, other] = [traffic.tally(0), traffic.tally(1)];
  one.attempted(last, false);
  other.attempted(last, true);
  other.failed(last);
  one.firstByte(last, 20);
  other.firstByte(last, 300);
  one.relayed(last, 1_024);
  assertEquals(traffic.totals(last), {
    attempts: 2,
    failures: 1,
    hits: 1,
    firstByteCount: 2,
    firstByteMsSum: 320,
    responseBytes: 1_024,
  });
  assertEquals(traffic.totals(0), NOTHING);
  assertEquals(traffic.totals(last - 1), NOTHING);
});

test("EndpointTraffic begins at 0 with a new generation alone", () => {
  const traffic = newTraffic(1);
  const tally = traffic.tally(0);
  traffic.begin(3, 7);
  tally.attempted(3, true);
  traffic.begin(3, 7);
  assertEquals(traffic.totals(3).attempts, 1);
  traffic.begin(3, 8);
  assertEquals(traffic.totals(3), NOTHING);
  tally.attempted(3, false);
  assertEquals(traffic.totals(3), { ...NOTHING, attempts: 1 });
});

test("EndpointTraffic never mixes endpoints, whatever is counted", () => {
  const step = fc.record({
    worker: fc.nat(2),
    slot: fc.nat(4),
    isNew: fc.boolean(),
  });
  fc.assert(fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
    const traffic = newTraffic(3);
    const generations = [0, 0, 0, 0, 0];
    const wanted = [0, 0, 0, 0, 0];
    generations.forEach((generation, slot) => traffic.begin(slot, generation));
    for (const { worker, slot, isNew } of steps) {
      if (isNew) {
        generations[slot] = (generations[slot] ?? 0) + 1;
        traffic.begin(slot, generations[slot] ?? 0);
        wanted[slot] = 0;
      }
      traffic.tally(worker).attempted(slot, false);
      wanted[slot] = (wanted[slot] ?? 0) + 1;
    }
    assertEquals(
      wanted.map((_, slot) => traffic.totals(slot).attempts),
      wanted,
    );
  }));
});
