/**
 * A session moves only for a cause, and is only sent where work is taken.
 *
 * The checker keeps, for each session in each table, the endpoints that its
 * binding may name: those that answered it last. Whoever is served elsewhere
 * must show in the log why: the endpoint was not eligible, full or failed the
 * request; the binding was lost to failures, to idleness or to other sessions.
 * Without faults none of that happens, so no session ever moves.
 *
 * Invariant: where the log leaves open which binding was in force, all are
 * accepted; nothing else is.
 *
 * @module
 */
import { eventsOf, type SimulationEvent } from "../events.ts";

type Answer = Extract<SimulationEvent, { readonly kind: "answer" }>;
type Begin = Extract<SimulationEvent, { readonly kind: "begin" }>;

/** Failures after which a binding is dropped: see `core/sessions/binding.ts`. */
const FAILURES_MAX = 3;

/** The table keeps times in steps of 100 ms, so idleness may seem longer. */
const IDLE_STEP_MS = 100;

/** How long a session may have been idle. */
interface Idleness {
  /** When a request of it last ended. */
  usedAtMs: number;
  /** Requests of it that were placed and answered and have not ended. */
  openCount: number;
}

/** What is known of a session in a table. */
interface Bound extends Idleness {
  /** Endpoints that the binding may name. */
  readonly homes: Set<string>;
  /** When it was last confirmed. */
  confirmedAtMs: number;
  /** When the request began that confirmed it: its pool is of that time. */
  poolAtMs: number;
  /** Attempts that failed since. */
  failures: number;
  /** How many sessions had given way to others when it was last used. */
  evictions: number;
}

/** Finds requests that went where nothing in the log sends them. */
export function affinityCause(events: readonly SimulationEvent[]): string[] {
  const history = new History(events);
  const sessions = new Map<string, Bound>();
  const begins = new Map<string, Begin>();
  const placed = new Map<string, Bound>();
  const idleAtBegin = new Map<string, Idleness>();
  const problems: string[] = [];
  for (const event of events) {
    if (event.kind === "begin") {
      begins.set(event.request, event);
      const { openCount, usedAtMs } = boundOf(sessions, event);
      idleAtBegin.set(event.request, { openCount, usedAtMs });
    } else if (event.kind === "answer") {
      const begin = begins.get(event.request);
      if (begin === undefined || event.endpoint === "none") continue;
      if (!history.tookWork(event.endpoint, begin, event.atMs)) {
        problems.push(`${event.request} went to ${event.endpoint}, not ready`);
      }
      if (begin.session === undefined) continue;
      if (event.affinity === "none") {
        if (begin.isKeyLate) continue;
        problems.push(`${event.request} was not recognized by its key`);
      }
      const bound = boundOf(sessions, begin);
      const hadExpired = [bound, idleAtBegin.get(event.request) ?? bound]
        .some((idleness) => history.isExpired(idleness, event.atMs));
      if (!hadExpired && !history.hasCause(bound, begin, event)) {
        problems.push(
          `${event.request} of ${begin.session} went to ${event.endpoint} ` +
            `(${event.affinity}) without a cause, instead of ` +
            [...bound.homes].join(" or "),
        );
      }
      bound.failures += event.attempts - 1;
      if (event.error?.startsWith("upstream") === true) bound.failures++;
      confirm(bound, begin, event);
      placed.set(event.request, bound);
      bound.openCount++;
    } else if (event.kind === "end") {
      const bound = placed.get(event.request);
      const begin = begins.get(event.request);
      if (bound === undefined || begin === undefined) continue;
      if (event.how === "broken") bound.failures++;
      bound.openCount--;
      bound.usedAtMs = event.atMs;
      bound.evictions = history.evictions(begin.table, event.atMs);
    }
  }
  return problems;
}

function boundOf(sessions: Map<string, Bound>, begin: Begin): Bound {
  const name = `${begin.table} ${begin.session}`;
  const known = sessions.get(name);
  if (known !== undefined) return known;
  const bound: Bound = {
    homes: new Set(),
    confirmedAtMs: 0,
    poolAtMs: 0,
    usedAtMs: begin.atMs,
    failures: 0,
    openCount: 0,
    evictions: 0,
  };
  sessions.set(name, bound);
  return bound;
}

/** An engine that answers below 500 binds the session, unless it spilled. */
function confirm(bound: Bound, begin: Begin, answer: Answer): void {
  // Another answer since this request began may have been the one that bound.
  const isAlone = bound.confirmedAtMs < begin.atMs;
  // The session had lost its binding, for a cause that has been looked for.
  if (answer.affinity === "new" && isAlone) bound.homes.clear();
  if (answer.error !== undefined || answer.status >= 500) return;
  if (answer.affinity === "spilled") return;
  if (isAlone) bound.homes.clear();
  bound.homes.add(answer.endpoint);
  bound.failures = 0;
  bound.confirmedAtMs = answer.atMs;
  bound.poolAtMs = begin.atMs;
}

/** What the log says about endpoints over time. */
class History {
  readonly #idleTtlMs: number;
  readonly #hasTwoModels: boolean;
  readonly #faults: Extract<SimulationEvent, { readonly kind: "fault" }>[];
  readonly #evictions: Extract<
    SimulationEvent,
    { readonly kind: "evictions" }
  >[];
  /** When endpoints or their models changed in a table. */
  readonly #listChanges: { table: number; atMs: number }[] = [];
  /** Changes of each endpoint in each table, oldest first. */
  readonly #states = new Map<string, { atMs: number; state: string }[]>();
  readonly #fulls = new Map<string, { atMs: number; state: string }[]>();

  constructor(events: readonly SimulationEvent[]) {
    const [world] = eventsOf(events, "world");
    this.#idleTtlMs = world?.idleTtlMs ?? 0;
    this.#hasTwoModels = world?.hasTwoModels ?? false;
    this.#faults = eventsOf(events, "fault");
    this.#evictions = eventsOf(events, "evictions");
    for (const { table, endpoint, state, atMs } of eventsOf(events, "state")) {
      const name = `${table} ${endpoint}`;
      const former = this.#states.get(name)?.at(-1)?.state;
      // With its first probe the models of an endpoint become known.
      const isChange = state === "removed" || former === "removed" ||
        former === "probing";
      if (isChange) this.#listChanges.push({ table, atMs });
      append(this.#states, name, { atMs, state });
    }
    for (const { table, endpoint, isFull, atMs } of eventsOf(events, "full")) {
      append(this.#fulls, `${table} ${endpoint}`, {
        atMs,
        state: isFull ? "full" : "free",
      });
    }
  }

  /** Whether the endpoint was ready at some time between two. */
  tookWork(endpoint: string, begin: Begin, atMs: number): boolean {
    const states = this.#states.get(`${begin.table} ${endpoint}`) ?? [];
    return during(states, begin.atMs, atMs).includes("ready");
  }

  /** Whether a session that was last used so has been idle for too long. */
  isExpired({ openCount, usedAtMs }: Idleness, atMs: number): boolean {
    return openCount === 0 && atMs - usedAtMs >= this.#idleTtlMs - IDLE_STEP_MS;
  }

  evictions(table: number, atMs: number): number {
    return this.#evictions.findLast((event) =>
      event.table === table && event.atMs <= atMs
    )?.count ?? 0;
  }

  /** Whether the log explains where a request went. */
  hasCause(bound: Bound, begin: Begin, answer: Answer): boolean {
    const { homes } = bound;
    if (homes.size === 0) return true;
    if (this.#wasLost(bound, begin, answer)) return true;
    const isParallel = bound.confirmedAtMs >= begin.atMs;
    if (homes.has(answer.endpoint)) {
      return answer.affinity !== "new" || isParallel;
    }
    // Parallel first calls part when one of them fails where both were.
    if (isParallel && this.#faultCount(answer.endpoint, begin, answer) > 0) {
      return true;
    }
    return [...homes].some((home) =>
      this.#wasShut(home, begin, answer.atMs) ||
      (answer.attempts > 1 && this.#faultCount(home, begin, answer) > 0)
    );
  }

  /** Whether the binding may have been lost before the request was placed. */
  #wasLost(bound: Bound, begin: Begin, answer: Answer): boolean {
    const known = Math.min(
      bound.evictions,
      this.evictions(begin.table, begin.atMs - 1),
    );
    return this.#hasOtherPools(bound, begin, answer.atMs) ||
      this.evictions(begin.table, answer.atMs) > known ||
      bound.failures >= FAILURES_MAX;
  }

  /** Whether the list has changed since, and with it the pools of models. */
  #hasOtherPools(bound: Bound, { table }: Begin, atMs: number): boolean {
    return this.#hasTwoModels &&
      this.#listChanges.some((change) =>
        change.table === table && change.atMs >= bound.poolAtMs &&
        change.atMs <= atMs
      );
  }

  /** Whether an endpoint was full or not ready while the request ran. */
  #wasShut(endpoint: string, begin: Begin, atMs: number): boolean {
    const name = `${begin.table} ${endpoint}`;
    const states = during(this.#states.get(name) ?? [], begin.atMs, atMs);
    const fulls = during(this.#fulls.get(name) ?? [], begin.atMs, atMs);
    return states.some((state) => state !== "ready") || fulls.includes("full");
  }

  /** How often an endpoint was made to fail between two times. */
  #faultCount(
    endpoint: string,
    from: { readonly atMs: number },
    to: { readonly atMs: number },
  ): number {
    return this.#faults.filter((fault) =>
      fault.endpoint === endpoint && fault.atMs >= from.atMs &&
      fault.atMs <= to.atMs
    ).length;
  }
}

function append<Item>(
  lists: Map<string, Item[]>,
  name: string,
  item: Item,
): void {
  const list = lists.get(name);
  if (list === undefined) lists.set(name, [item]);
  else list.push(item);
}

/** The states that held at some moment from `fromMs` to `toMs`. */
function during(
  changes: readonly { atMs: number; state: string }[],
  fromMs: number,
  toMs: number,
): string[] {
  const before = changes.findLast(({ atMs }) => atMs < fromMs);
  const within = changes.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs);
  return [...(before === undefined ? [] : [before]), ...within]
    .map(({ state }) => state);
}
