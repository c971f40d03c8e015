/**
 * One thread of the test that hammers the limits of one tenant.
 *
 * Invariant: it gives back every place that it has taken, and no token.
 *
 * @module
 */
import {
  type TenantBuffers,
  TenantLimits,
} from "../../src/core/tenants/tenant_limits.ts";
import type { BucketLimit } from "../../src/core/tenants/token_bucket.ts";
import { answerTasks, type ThreadTask, waitForAll } from "./threads.ts";

/** What a thread is told to do. */
export interface LimitsTask extends ThreadTask {
  readonly buffers: TenantBuffers;
  readonly rounds: number;
  readonly placesMax: number;
  readonly rate: BucketLimit;
  readonly nowMs: number;
}

/** What a thread did. */
export interface LimitsReport {
  readonly tokens: number;
  readonly places: number;
  /** Times more places were held than may be. */
  readonly overLimit: number;
}

answerTasks(hammer);

function hammer(task: LimitsTask): LimitsReport {
  const { buffers, nowMs, placesMax, rate, rounds, seed } = task;
  const limits = new TenantLimits(buffers, seed - 1);
  let tokens = 0;
  let places = 0;
  let overLimit = 0;
  waitForAll(task);
  for (let round = 0; round < rounds; round++) {
    if (limits.takeToken(1, rate, nowMs).isTaken) tokens++;
    if (!limits.take("running", 1, placesMax)) continue;
    places++;
    if (limits.held("running", 1) > placesMax) overLimit++;
    limits.give("running", 1);
  }
  return { tokens, places, overLimit };
}
