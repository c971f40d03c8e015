/**
 * The event log of a simulated world: all that checkers look at.
 *
 * Invariant: everything that a checker needs stands in the log, and nothing in
 * it depends on anything but the seed.
 *
 * @module
 */
import type { Clock } from "../../src/core/outside.ts";

/** How a client's request ended, as the client saw it. */
export type Ending = "complete" | "broken" | "canceled";

/** What can happen. */
export type EventBody =
  /** The world and its limits, first of all events. */
  | {
    readonly kind: "world";
    readonly seed: number;
    readonly gateways: number;
    readonly areTablesShared: boolean;
    readonly hasTwoModels: boolean;
    readonly idleTtlMs: number;
    /** Time after the end of faults within which everything must settle. */
    readonly livenessMs: number;
    readonly faults: string;
  }
  /** From here on nothing goes wrong any more. */
  | { readonly kind: "faults_over" }
  /** The state of an endpoint in the tables of some gateways. */
  | {
    readonly kind: "state";
    readonly table: number;
    readonly endpoint: string;
    readonly state: string;
  }
  /** An endpoint takes no more for now, at its limit or by its own word. */
  | {
    readonly kind: "full";
    readonly table: number;
    readonly endpoint: string;
    readonly isFull: boolean;
  }
  /** Sessions that gave way to others, or found no room, so far. */
  | {
    readonly kind: "evictions";
    readonly table: number;
    readonly count: number;
  }
  /** Something was made to go wrong. */
  | {
    readonly kind: "fault";
    readonly name: string;
    readonly endpoint: string | undefined;
    readonly request: string | undefined;
  }
  /** A client has begun to send a request. */
  | {
    readonly kind: "begin";
    readonly request: string;
    readonly gateway: number;
    readonly table: number;
    /** The session and the model it asks for; `undefined` without a key. */
    readonly session: string | undefined;
    readonly method: string;
    /** Whether it was sent after all faults, to see that everything works. */
    readonly isProof: boolean;
    /** Whether its key may lie beyond the sniff window. */
    readonly isKeyLate: boolean;
    readonly bodyHash: number;
  }
  /** The client went away. */
  | { readonly kind: "gone"; readonly request: string; readonly phase: string }
  /** The gateway answered. */
  | {
    readonly kind: "answer";
    readonly request: string;
    readonly status: number;
    readonly endpoint: string;
    readonly affinity: string;
    readonly attempts: number;
    /** The gateway's own error; `undefined` when an engine answered. */
    readonly error: string | undefined;
    readonly isEvents: boolean;
  }
  /** The client's side of a request is over. */
  | {
    readonly kind: "end";
    readonly request: string;
    readonly how: Ending;
    readonly received: string;
  }
  /** An engine has read the head of a request. */
  | {
    readonly kind: "engine_begin";
    readonly endpoint: string;
    readonly request: string;
    readonly method: string;
  }
  /** An engine has read a whole request. */
  | {
    readonly kind: "engine_read";
    readonly endpoint: string;
    readonly request: string;
    readonly bodyHash: number;
  }
  /** An engine is done with a request; `sent` is its payload so far. */
  | {
    readonly kind: "engine_end";
    readonly endpoint: string;
    readonly request: string;
    readonly status: number;
    readonly sent: string;
    readonly isWhole: boolean;
  }
  /** An engine was sent something that is not a request. */
  | {
    readonly kind: "engine_refused";
    readonly endpoint: string;
    readonly reason: string;
  }
  /** Something bounded is larger than ever before. */
  | {
    readonly kind: "gauge";
    readonly name: string;
    readonly value: number;
    readonly max: number;
  }
  /** What is left when everything is over. */
  | {
    readonly kind: "left";
    readonly name: string;
    readonly value: number;
    readonly wanted: number;
  }
  /** A gateway's own log. */
  | {
    readonly kind: "log";
    readonly gateway: number;
    readonly event: string;
    readonly text: string;
  };

/** An event and its time. */
export type SimulationEvent = EventBody & { readonly atMs: number };

/**
 * 1,000,000: a world has some thousand events; one that has so many is stuck
 * in a circle.
 */
const EVENTS_MAX = 1_000_000;

/** Collects events. */
export class EventLog {
  readonly events: SimulationEvent[] = [];
  /** Called before each event, to note what has changed unseen. */
  look: () => void = () => {};
  readonly #clock: Clock;
  #isLooking = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @throws {Error} when the world does not come to an end. */
  add(body: EventBody): void {
    if (!this.#isLooking) {
      this.#isLooking = true;
      this.look();
      this.#isLooking = false;
    }
    if (this.events.length >= EVENTS_MAX) {
      throw new Error(`Cannot log more than ${EVENTS_MAX} events`);
    }
    this.events.push({ atMs: this.#clock.nowMs(), ...body });
  }
}

/** The events of some kinds, with their types. */
export function eventsOf<Kind extends EventBody["kind"]>(
  events: readonly SimulationEvent[],
  kind: Kind,
): Extract<SimulationEvent, { readonly kind: Kind }>[] {
  return events.filter((event) => event.kind === kind) as Extract<
    SimulationEvent,
    { readonly kind: Kind }
  >[];
}
