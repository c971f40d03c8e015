/**
 * One thread of the test that ends sessions which others take and hold.
 *
 * Invariant: everything it takes it gives back, so whatever is held when all
 * threads are done is a fault of the table.
 *
 * @module
 */
import type { KeyHash } from "../../src/core/hash.ts";
import { tagOf } from "../../src/core/sessions/session_owner.ts";
import { SessionTable } from "../../src/core/sessions/session_table.ts";
import { seededRandom } from "../placement_world.ts";
import { answerTasks, type ThreadTask, waitForAll } from "./threads.ts";

/** What a thread is told to do. */
export interface EndTask extends ThreadTask {
  readonly sessions: SharedArrayBuffer;
  readonly rounds: number;
  readonly keys: readonly KeyHash[];
  /** Most sessions that the thread holds at once. */
  readonly held: number;
}

/** What a thread did. */
export interface EndReport {
  readonly taken: number;
  readonly untracked: number;
  /** Sessions ended while this thread held them, and by their key. */
  readonly ended: number;
  readonly endedByKey: number;
  /** Times a session that was held and not ended was not found as its key's. */
  readonly doubles: number;
  /** Times a record had a key after its end and before its last hold. */
  readonly revived: number;
}

/** A thread's hold of a session. */
interface Hold {
  readonly key: KeyHash;
  readonly record: number;
  isEnded: boolean;
}

/** Of so many calls one ends its session, and of as many one by its key. */
const END_ONE_IN = 4;

answerTasks(endSessions);

function endSessions(task: EndTask): EndReport {
  const table = new SessionTable(task.sessions);
  const words = new Int32Array(task.sessions);
  const random = seededRandom(task.seed);
  const below = (count: number) => Math.floor(random() * count);
  const holds: Hold[] = [];
  const report = {
    taken: 0,
    untracked: 0,
    ended: 0,
    endedByKey: 0,
    doubles: 0,
    revived: 0,
  };
  const giveBack = () => {
    const hold = holds.splice(below(holds.length), 1)[0];
    if (hold === undefined) return;
    const { key, record, isEnded } = hold;
    const isFound = table.find(key) === record;
    const isPublished = Atomics.load(words, tagOf(record)) !== 0;
    if (isPublished && !isFound) report.doubles++;
    if (isEnded && (isPublished || isFound)) report.revived++;
    table.addService(record, {
      inheritedMs: 0,
      inheritedWaitMs: 0,
      serviceMs: 1,
      waitMs: 1,
    });
    table.unpin(record, 0);
  };
  waitForAll(task);
  for (let round = 0; round < task.rounds; round++) {
    const key = task.keys[below(task.keys.length)];
    if (key === undefined) continue;
    const record = table.pin(key, 0);
    if (record < 0) report.untracked++;
    else {
      report.taken++;
      const isEnded = below(END_ONE_IN) === 0;
      if (isEnded) {
        table.end(record);
        report.ended++;
      }
      holds.push({ key, record, isEnded });
    }
    const other = task.keys[below(task.keys.length * END_ONE_IN)];
    if (other !== undefined && table.endKey(other)) report.endedByKey++;
    while (holds.length > task.held) giveBack();
  }
  while (holds.length > 0) giveBack();
  return report;
}
