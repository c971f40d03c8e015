/**
 * Sessions under load: an engine that many of them belong to must neither be
 * overrun nor be left at the first opportunity.
 *
 * Admission, placement, queue and tables are the real ones, on a clock that is
 * moved by hand; an engine is a place that is held for so long.
 *
 * Invariant: everything here is a count, and comes out the same each time.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { EndpointTable } from "../../src/core/endpoints/endpoint_table.ts";
import type {
  AffinityOutcome,
  Placed,
} from "../../src/core/placement/placement.ts";
import { QueueBoard } from "../../src/core/queue/queue_board.ts";
import { WaitQueue } from "../../src/core/queue/wait_queue.ts";
import { Admission } from "../../src/gateway/admission.ts";
import { NO_HINTS } from "../../src/gateway/hints.ts";
import { fcfs } from "../../src/scheduling/fcfs.ts";
import { test } from "../leakproof.ts";
import { keyOf, World, type WorldEndpoint } from "../placement_world.ts";
import { SimulatedClock } from "../simulation/virtual_clock.ts";

/** Milliseconds that an engine takes for a turn. */
const SERVICE_MS = 1_000;

/** Far longer than any script here. */
const FOR_EVER_MS = 10_000_000;

/** A turn that has been served. */
interface Turn {
  readonly session: string;
  readonly by: string;
  readonly outcome: AffinityOutcome;
  readonly waitedMs: number;
}

/** Engines with few places behind one admission. */
class Engines {
  readonly clock = new SimulatedClock();
  readonly turns: Turn[] = [];
  /** Most turns at once, by endpoint. */
  readonly peaks = new Map<string, number>();
  readonly world: World;
  readonly #admission: Admission;
  readonly #startMs = this.clock.nowMs();

  constructor(endpoints: readonly WorldEndpoint[], patienceMs: number) {
    const queueOf = (table: EndpointTable) =>
      new WaitQueue({
        board: QueueBoard.create(1),
        endpoints: table,
        worker: 0,
        callsMax: 1_000,
      });
    let queue: WaitQueue | undefined;
    this.world = new World({
      endpoints,
      idleTtlMs: FOR_EVER_MS,
      places: (table) => queue = queueOf(table),
    });
    this.#admission = new Admission({
      outside: {
        clock: this.clock,
        random: () => 0.5,
        dial: () => Promise.reject(new Error("Cannot dial here")),
        log: () => {},
      },
      placement: this.world.placement,
      queue: queue ?? queueOf(this.world.endpoints),
      scheduling: fcfs.create(),
      sessions: this.world.sessions,
      settings: {
        isOn: true,
        sessionMax: 64,
        boostRatio: 2,
        overdueMs: FOR_EVER_MS,
        timeoutMs: FOR_EVER_MS,
        patienceMs,
        priorityMin: 0,
        priorityMax: 0,
      },
    });
  }

  /** Milliseconds since the start. */
  get atMs(): number {
    return this.clock.nowMs() - this.#startMs;
  }

  /** One turn of a session, served to its end. */
  async turn(session: string, serviceMs = SERVICE_MS): Promise<Turn> {
    const { clock, world } = this;
    const fromMs = clock.nowMs();
    const placed = await this.#admission.admit({
      request: { key: keyOf(session), pool: world.pool(), nowMs: fromMs },
      hints: NO_HINTS,
      poolNow: () => world.pool(),
      onGone: () => {},
    });
    const turn = {
      session,
      by: world.idOf(placed),
      outcome: placed.outcome,
      waitedMs: clock.nowMs() - fromMs,
    };
    this.#note(placed, turn.by);
    await clock.sleep(serviceMs);
    world.placement.answered(placed);
    const ending = { isServed: true, isFinal: false };
    this.#admission.settle(placed, clock.nowMs(), ending);
    this.turns.push(turn);
    return turn;
  }

  /** Lets time pass until all of `work` is done. */
  async until<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const done = work.finally(() => isOver = true);
    await this.clock.run(this.clock.nowMs() + FOR_EVER_MS, {
      isOver: () => isOver,
      afterStep: () => {},
    });
    return await done;
  }

  /** Binds sessions to an endpoint while it is the only one with places. */
  async bind(sessions: readonly string[], id: string): Promise<void> {
    const { endpoints, pools: { whole } } = this.world;
    for (const other of whole.ids) {
      const state = other === id ? "ready" : "draining";
      endpoints.setState(this.world.slot(other), state);
    }
    for (const session of sessions) await this.until(this.turn(session, 1));
    for (const other of whole.ids) {
      endpoints.setState(this.world.slot(other), "ready");
    }
    this.turns.length = 0;
  }

  count(matches: (turn: Turn) => boolean): number {
    return this.turns.filter(matches).length;
  }

  #note({ slot }: Placed, id: string): void {
    const inFlight = this.world.endpoints.inFlight(slot);
    this.peaks.set(id, Math.max(this.peaks.get(id) ?? 0, inFlight));
  }
}

function names(count: number, prefix = "s"): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
}

const FOUR = ["a", "b", "c", "d"].map((id) => ({ id, limit: 4 }));

/** Sessions that all rank the same endpoint first. */
function rivals(count: number, id: string): string[] {
  const { world } = new Engines(FOUR, 0);
  const found: string[] = [];
  for (let index = 0; found.length < count; index++) {
    const name = `rival-${index}`;
    const placed = world.place(name);
    if (world.idOf(placed) === id) found.push(name);
    world.placement.settle(placed, 0);
  }
  return found;
}

async function playRivals(): Promise<Engines> {
  const engines = new Engines(FOUR, 500);
  const converse = async (session: string) => {
    for (let turn = 0; turn < 10; turn++) await engines.turn(session);
  };
  await engines.until(Promise.all(rivals(20, "a").map(converse)));
  return engines;
}

test("sessions that all rank one engine first fill every engine (B1 prime-rl #3255)", async () => {
  const engines = await playRivals();
  assertEquals(engines.turns.length, 200);
  for (const { id, limit } of FOUR) {
    const share = engines.count(({ by }) => by === id);
    assert(share >= 40 && share <= 60, `${id} has served ${share} of 200`);
    assertEquals(engines.peaks.get(id), limit);
  }
  // 200 turns on 16 places take 13 rounds of a second; a fourth on top.
  assert(engines.atMs <= 13_000 * 1.25, `it took ${engines.atMs} ms`);
  assertEquals(engines.count(({ outcome }) => outcome === "moved"), 0);
  // Afterwards each returns to where it is bound.
  for (const session of rivals(20, "a")) {
    assertEquals((await engines.until(engines.turn(session))).outcome, "hit");
  }
});

test("who spills where is the same each time (B1 prime-rl #3255)", async () => {
  const [one, other] = [await playRivals(), await playRivals()];
  assertEquals(one.turns, other.turns);
});

const PAIR = [{ id: "a", limit: 50 }, { id: "b", limit: 50 }];

test("no session moves for an imbalance that its engine can carry (A10 verl #6533)", async () => {
  const engines = new Engines(PAIR, 500);
  const [many, few] = [names(50), names(2, "t")];
  await engines.bind(many, "a");
  await engines.bind(few, "b");
  const converse = async (session: string) => {
    for (let turn = 0; turn < 5; turn++) await engines.turn(session);
  };
  await engines.until(Promise.all([...many, ...few].map(converse)));
  assertEquals(engines.count(({ outcome }) => outcome === "hit"), 5 * 52);
  assertEquals(engines.peaks, new Map([["a", 50], ["b", 2]]));
});

test("no engine stays idle while another's sessions wait, and none moves (A10 verl #7435)", async () => {
  const engines = new Engines(PAIR.map((it) => ({ ...it, limit: 8 })), 500);
  const [many, few] = [names(50), names(2, "t")];
  await engines.bind(many, "a");
  await engines.bind(few, "b");
  const converse = async (session: string) => {
    for (let turn = 0; turn < 4; turn++) await engines.turn(session);
  };
  await engines.until(Promise.all([...many, ...few].map(converse)));
  const spilled = engines.count(({ outcome }) => outcome === "spilled");
  const shares = ["a", "b"].map((id) => engines.count(({ by }) => by === id));
  // 208 turns over 16 places: both engines work all the time.
  assert(Math.abs((shares[0] ?? 0) - (shares[1] ?? 0)) <= 20, `${shares}`);
  assert(spilled > 60, `${spilled} turns have spilled`);
  assertEquals(engines.count(({ outcome }) => outcome === "moved"), 0);
  assert(engines.atMs <= 13_000 * 1.25, `it took ${engines.atMs} ms`);
  engines.turns.length = 0;
  for (const session of many) await engines.until(engines.turn(session));
  assertEquals(
    engines.count(({ by, outcome }) => by === "a" && outcome === "hit"),
    50,
  );
});

const NARROW = [{ id: "a", limit: 1 }, { id: "b", limit: 1 }];
const ARRIVALS: [
  what: string,
  options: { readonly patienceMs: number; readonly heldMs: number },
  turn: Omit<Turn, "session">,
][] = [
  ["without patience it spills at once", { patienceMs: 0, heldMs: 900 }, {
    by: "b",
    outcome: "spilled",
    waitedMs: 0,
  }],
  ["it waits while its patience lasts", { patienceMs: 901, heldMs: 900 }, {
    by: "a",
    outcome: "hit",
    waitedMs: 900,
  }],
  ["it spills when its patience is over", { patienceMs: 500, heldMs: 900 }, {
    by: "b",
    outcome: "spilled",
    waitedMs: 500,
  }],
];
for (const [what, { heldMs, patienceMs }, wanted] of ARRIVALS) {
  test(`a session comes to its full engine: ${what} (HomeLab #661)`, async () => {
    const engines = new Engines(NARROW, patienceMs);
    await engines.bind(["s", "hot"], "a");
    const hot = engines.turn("hot", heldMs);
    const turn = engines.turn("s");
    await engines.until(Promise.all([hot, turn]));
    assertEquals(await turn, { session: "s", ...wanted });
    assertEquals((await engines.until(engines.turn("s"))).outcome, "hit");
  });
}

test("a session's own engine is its first, before strangers who came earlier (HomeLab #661)", async () => {
  const engines = new Engines(NARROW, 5_000);
  await engines.bind(["s", "hot"], "a");
  await engines.bind(["cold"], "b");
  const all = [
    engines.turn("hot"),
    engines.turn("cold", 5_000),
    engines.turn("stranger"),
    engines.turn("s"),
  ];
  await engines.until(Promise.all(all));
  const turns = engines.turns.map(({ by, session }) => [session, by]);
  assertEquals(turns.slice(0, 3), [["hot", "a"], ["s", "a"], [
    "stranger",
    "a",
  ]]);
});
