/**
 * One thread of the test that settles calls of the same few sessions at once.
 *
 * Invariant: what it reports is what it added, whatever other threads do.
 *
 * @module
 */
import type { KeyHash } from "../../src/core/hash.ts";
import { SessionTable } from "../../src/core/sessions/session_table.ts";
import { seededRandom } from "../placement_world.ts";
import { answerTasks, type ThreadTask, waitForAll } from "./threads.ts";

/** What a thread is told to do. */
export interface ServiceTask extends ThreadTask {
  readonly sessions: SharedArrayBuffer;
  readonly rounds: number;
  readonly keys: readonly KeyHash[];
}

/** What a thread added to one session, in milliseconds. */
export interface Added {
  /** The largest sum of what a call inherited and its own service. */
  pathMs: number;
  waitedMs: number;
  /** The sum of the services. */
  attainedMs: number;
}

/** What a thread did. */
export interface ServiceReport {
  readonly added: readonly Added[];
  /** Times a word was below what this thread had added to it. */
  readonly losses: number;
  readonly untracked: number;
}

/** Few enough calls of up to so long stay far below what a word holds. */
const SERVICE_MS_MAX = 9;

answerTasks(settleCalls);

function settleCalls(task: ServiceTask): ServiceReport {
  const table = new SessionTable(task.sessions);
  const random = seededRandom(task.seed);
  const added = task.keys.map(() => ({
    pathMs: 0,
    waitedMs: 0,
    attainedMs: 0,
  }));
  const anyMs = () => Math.floor(random() * (SERVICE_MS_MAX + 1));
  let losses = 0;
  let untracked = 0;
  waitForAll(task);
  for (let round = 0; round < task.rounds; round++) {
    const index = Math.floor(random() * task.keys.length);
    const key = task.keys[index];
    const own = added[index];
    if (key === undefined || own === undefined) continue;
    const record = table.pin(key, 0);
    if (record < 0) {
      untracked++;
      continue;
    }
    const call = {
      inheritedMs: table.criticalPathMs(record),
      inheritedWaitMs: table.waitedMs(record),
      serviceMs: anyMs(),
      waitMs: anyMs(),
    };
    table.addService(record, call);
    own.pathMs = Math.max(own.pathMs, call.inheritedMs + call.serviceMs);
    own.waitedMs = Math.max(own.waitedMs, call.inheritedWaitMs + call.waitMs);
    own.attainedMs += call.serviceMs;
    if (
      table.criticalPathMs(record) < own.pathMs ||
      table.waitedMs(record) < own.waitedMs ||
      table.attainedMs(record) < own.attainedMs
    ) losses++;
    table.unpin(record, 0);
  }
  return { added, losses, untracked };
}
