/**
 * A short scenario survives any single call of the network going wrong.
 *
 * Invariant: each call is spoiled in a world of its own.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { test } from "../leakproof.ts";
import { ANOMALIES, sweepAnomalies } from "./anomaly.ts";

/** Scenarios with chats and GETs, streams and whole answers. */
const SEEDS = [1, 2, 3];

for (const anomaly of ANOMALIES) {
  test(`whichever call ${anomaly}, every promise is kept`, async () => {
    let sum = 0;
    for (const seed of SEEDS) {
      const { calls, problems } = await sweepAnomalies(seed, anomaly);
      assertEquals(problems, []);
      sum += calls;
    }
    assert(sum > 100, `${sum} calls are no scenarios`);
  });
}
