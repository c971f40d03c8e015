/**
 * One thread of the tests that hammer the shared tables.
 *
 * It waits until all threads are up, then takes and gives back sessions of a
 * few buckets as fast as it can, and reports what it did.
 *
 * Invariant: everything it takes it gives back, so whatever is held when all
 * threads are done is a fault of the tables.
 *
 * @module
 */
import { packBinding } from "../../src/core/sessions/binding.ts";
import { EndpointTable } from "../../src/core/endpoints/endpoint_table.ts";
import type { KeyHash } from "../../src/core/hash.ts";
import { SessionTable } from "../../src/core/sessions/session_table.ts";
import { seededRandom } from "../placement_world.ts";
import { answerTasks, type ThreadTask, waitForAll } from "./threads.ts";

/** What a thread is told to do. */
export interface HammerTask extends ThreadTask {
  readonly sessions: SharedArrayBuffer;
  readonly endpoints: SharedArrayBuffer;
  readonly rounds: number;
  readonly keys: readonly KeyHash[];
  /** Whether keys are taken in turn instead of at random. */
  readonly inTurn: boolean;
  /** Most sessions that the thread holds at once. */
  readonly held: number;
}

/** What a thread did. */
export interface HammerReport {
  /** Successful takes of each key. */
  readonly turns: readonly number[];
  readonly untracked: number;
  /** Times two records were seen for one key that was held. */
  readonly doubles: number;
  /** Times parallel calls did not agree on an unconfirmed binding. */
  readonly disagreements: number;
  /** Times more than the limit was in flight on an endpoint. */
  readonly overLimit: number;
}

/** A thread's hold of a session. */
interface Hold {
  readonly key: number;
  readonly record: number;
  readonly binding: number;
}

answerTasks(hammer);

function hammer(task: HammerTask): HammerReport {
  const sessions = new SessionTable(task.sessions);
  const endpoints = new EndpointTable(task.endpoints);
  const random = seededRandom(task.seed);
  const turns: number[] = task.keys.map(() => 0);
  const holds: Hold[] = [];
  const report = { untracked: 0, doubles: 0, disagreements: 0, overLimit: 0 };
  const giveBack = () => {
    const hold = holds.splice(Math.floor(random() * holds.length), 1)[0];
    const key = task.keys[hold?.key ?? -1];
    if (hold === undefined || key === undefined) return;
    if (sessions.find(key) !== hold.record) report.doubles++;
    if (sessions.tentative(hold.record) !== hold.binding) {
      report.disagreements++;
    }
    sessions.unpin(hold.record, 0);
  };
  waitForAll(task);
  for (let round = 0; round < task.rounds; round++) {
    const index = task.inTurn
      ? round % task.keys.length
      : Math.floor(random() * task.keys.length);
    const key = task.keys[index];
    if (key === undefined) continue;
    const record = sessions.pin(key, 0);
    if (record < 0) report.untracked++;
    else {
      sessions.addTurn(record);
      turns[index] = (turns[index] ?? 0) + 1;
      const word = packBinding(round & 0xff, task.seed);
      const binding = sessions.bindTentative(record, 0, word);
      holds.push({ key: index, record, binding });
    }
    if (endpoints.tryReserve(0)) {
      if (endpoints.inFlight(0) > endpoints.limit(0)) report.overLimit++;
      endpoints.release(0);
    }
    while (holds.length > task.held) giveBack();
  }
  while (holds.length > 0) giveBack();
  return { turns, ...report };
}
