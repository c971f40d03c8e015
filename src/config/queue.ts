/**
 * The keys under `queue`: who waits, for how long, and who goes first.
 *
 * Invariant: the time after which a call goes before all others comes before
 * the one at which it is given up; else the first would never be reached. Of
 * the two, one that is not given follows the other.
 *
 * @module
 */
import { Refusal } from "./complaint.ts";
import type { Config } from "./config.ts";
import { durationText, readDurationOrNone } from "./duration.ts";
import { DURATION_MS_MAX } from "./duration_limit.ts";
import { complain, type Field, knownNames, type Spot } from "./field.ts";
import { parseInteger, parseNumber } from "./number.ts";

/** 0 never waits; what waits holds memory and a connection of its client. */
const MAX_BOUNDS = { min: 0, max: 100_000 };

/** More calls at once than any agent fans out to. */
const SESSION_MAX_BOUNDS = { min: 1, max: 10_000 };

/** Below nearly every call is promoted, above none before it is overdue. */
const BOOST_RATIO_BOUNDS = { min: 0.1, max: 100 };

/** As many steps as there are levels to move a call by, both ways. */
const PRIORITY_BOUNDS = { min: -29, max: 29 };

/** The key of how long a call waits at most. */
const TIMEOUT_PATH = "timeouts.queue";

/** What share of `timeouts.queue` is over by then, as in the defaults. */
const OVERDUE_SHARE = 0.75;

/** What is configured of waiting. */
export interface QueueSettings {
  /** Name of the scheduling policy. */
  readonly policy: string;
  /** Most calls that wait for one pool, over all workers; 0 for none. */
  readonly max: number;
  /** Most calls of one session at once, running and waiting. */
  readonly sessionMax: number;
  /** Time waited in relation to time served that promotes to the top level. */
  readonly boostRatio: number;
  /** Wait after which a call goes before all others; `undefined` for none. */
  readonly overdueMs: number | undefined;
  /** Between two comments to a stream that waits; `undefined` sends none. */
  readonly keepaliveMs: number | undefined;
  /** What a client's priority is raised to; not over `priorityMax`. */
  readonly priorityMin: number;
  /** What a client's priority is lowered to. */
  readonly priorityMax: number;
}

/** The keys of the `queue` section. */
export const QUEUE_FIELDS = {
  queuePolicy: {
    path: "queue.policy",
    initial: "critical_path",
    doc: "Scheduling policy of requests that wait for a full endpoint",
    read: readPolicy,
  },
  queueMax: {
    path: "queue.max",
    initial: 1_024,
    doc:
      "Requests that may wait for a pool, over all workers, before more are" +
      " refused, 0 to 100000",
    read: (value) => parseInteger(value, MAX_BOUNDS),
  } satisfies Field<number>,
  queueSessionMax: {
    path: "queue.session_max",
    initial: 64,
    doc: "Requests of one session at once, running and waiting, before more" +
      " are refused, 1 to 10000",
    read: (value) => parseInteger(value, SESSION_MAX_BOUNDS),
  } satisfies Field<number>,
  queueBoostRatio: {
    path: "queue.boost_ratio",
    initial: 2,
    doc: "Time waited in relation to time served at which a request goes to" +
      " the top level, 0.1 to 100",
    read: (value) => parseNumber(value, BOOST_RATIO_BOUNDS),
  } satisfies Field<number>,
  queueOverdue: {
    path: "queue.overdue",
    initial: "45s",
    doc: "Duration after which a waiting request goes before all others," +
      " oldest first, below timeouts.queue, or none",
    read: readDurationOrNone,
  },
  queueKeepalive: {
    path: "queue.keepalive",
    initial: "none",
    doc: "Duration between comments to the client of an event stream that" +
      " waits, or none",
    read: readDurationOrNone,
  },
  queuePriorityMin: {
    path: "queue.priority_min",
    initial: -29,
    doc: "Lowest priority that a client can ask for with x-tryst-priority," +
      " -29 to 29",
    read: (value) => parseInteger(value, PRIORITY_BOUNDS),
  } satisfies Field<number>,
  queuePriorityMax: {
    path: "queue.priority_max",
    initial: 0,
    doc: "Highest priority that a client can ask for; up to 0 it may yield," +
      " but not push ahead, -29 to 29",
    read: (value) => parseInteger(value, PRIORITY_BOUNDS),
  } satisfies Field<number>,
} satisfies Readonly<Record<string, Field<unknown>>>;

/**
 * Has what was not given of overdue and timeout make room for what was.
 *
 * @param isGiven Whether the key of a path was given.
 */
export function followQueue(
  { queue, timeouts }: Pick<Config, "queue" | "timeouts">,
  isGiven: (path: string) => boolean,
): Pick<Config, "queue" | "timeouts"> {
  const { overdueMs } = queue;
  const { queueMs } = timeouts;
  const fits = (overdueMs ?? 0) < (queueMs ?? Infinity);
  if (fits || overdueMs === undefined || queueMs === undefined) {
    return { queue, timeouts };
  }
  if (!isGiven(QUEUE_FIELDS.queueOverdue.path)) {
    const followingMs = Math.floor(queueMs * OVERDUE_SHARE);
    return { queue: { ...queue, overdueMs: followingMs }, timeouts };
  }
  if (isGiven(TIMEOUT_PATH)) return { queue, timeouts };
  const followingMs = Math.min(
    Math.ceil(overdueMs / OVERDUE_SHARE),
    DURATION_MS_MAX,
  );
  return { queue, timeouts: { ...timeouts, queueMs: followingMs } };
}

/**
 * Complains on settings that contradict each other.
 *
 * @param timeoutMs How long a call waits at most; `undefined` for no limit.
 * @param spot At the configuration as a whole.
 */
export function checkQueue(
  queue: QueueSettings,
  timeoutMs: number | undefined,
  spot: Spot,
): void {
  const { overdueMs, priorityMin, priorityMax } = queue;
  if (overdueMs !== undefined && overdueMs >= (timeoutMs ?? Infinity)) {
    const timeout = timeoutMs === undefined ? "none" : durationText(timeoutMs);
    const wanted = `must be below "${TIMEOUT_PATH}", which is ${timeout}`;
    const origin = QUEUE_FIELDS.queueOverdue.path;
    complain({ ...spot, origin }, { value: durationText(overdueMs) }, wanted);
  }
  if (priorityMin > priorityMax) {
    const wanted =
      `must not be below "queue.priority_min", which is ${priorityMin}`;
    const origin = QUEUE_FIELDS.queuePriorityMax.path;
    complain({ ...spot, origin }, { value: priorityMax }, wanted);
  }
}

function readPolicy(value: unknown, { names }: Spot): string {
  const known = names.schedulingNames;
  if (typeof value === "string" && known.includes(value)) return value;
  throw new Refusal(
    `must be a scheduling policy: ${knownNames(value, known)}`,
  );
}
