/**
 * The limits of a tenant under threads that take of them all at once: every
 * count is exact, so nothing depends on how threads are scheduled.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { TenantLimits } from "../../src/core/tenants/tenant_limits.ts";
import { test } from "../leakproof.ts";
import type { LimitsReport, LimitsTask } from "./limits_worker.ts";
import { runThreads } from "./threads.ts";

const THREADS = 3;

const NOW_MS = 1_796_000_000_000;

test("threads together take what a tenant has, and no more", async () => {
  const buffers = TenantLimits.create(THREADS, NOW_MS);
  // So slow that no token comes back: the clock of the test stands.
  const rate = { perSecond: 0.001, burst: 20_000 };
  const reports = await runThreads<LimitsTask, LimitsReport>(
    "limits_worker.ts",
    {
      threads: THREADS,
      buffers,
      rounds: 20_000,
      placesMax: 2,
      rate,
      nowMs: NOW_MS,
    },
  );
  const sum = (what: keyof LimitsReport) =>
    reports.reduce((total, report) => total + report[what], 0);
  assertEquals(sum("tokens"), rate.burst);
  assertEquals(sum("overLimit"), 0);
  assert(sum("places") > 0);
  const limits = new TenantLimits(buffers, 0);
  assertEquals(limits.held("running", 1), 0);
});
