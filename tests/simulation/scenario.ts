/**
 * What kind of world a seed makes: how many of everything, which limits, which
 * faults.
 *
 * Invariant: a scenario is plain data; a world adds nothing to it but time.
 *
 * @module
 */
import type { Chance } from "./chance.ts";
import { drawFaults, type Faults } from "./faults.ts";
import { type AnswerFraming, FRAMINGS } from "./planned_answer.ts";

/** Models of the endpoints; an even one serves the first. */
export const MODELS = ["model-a", "model-b"] as const;

/** Sniff window of the gateways: small, so that documents are beyond it. */
export const WINDOW_BYTES = 16_384;

/** A world to be. */
export interface Scenario {
  readonly gatewayCount: number;
  /** Whether gateways share tables, as worker threads do. */
  readonly areTablesShared: boolean;
  readonly endpointCount: number;
  /** Whether half of the endpoints serve another model. */
  readonly hasTwoModels: boolean;
  /** `undefined` for no limit. */
  readonly maxInFlight: number | undefined;
  /** Most requests at once in all gateways that share tables. */
  readonly requestsMax: number;
  readonly onDisconnect: "abort" | "finish";
  readonly sessionCount: number;
  readonly turnCountMax: number;
  readonly thinkMsMax: number;
  /** Probability that a turn is sent twice in parallel. */
  readonly parallelTurns: number;
  /** Probability that a client goes away, or stops sending. */
  readonly vanishing: number;
  /** Whether all sessions start at once. */
  readonly isBurst: boolean;
  /** How engines frame their answers. */
  readonly framings: readonly AnswerFraming[];
  readonly idleTtlMs: number;
  readonly capacity: number;
  readonly faults: Faults;
  /** Whether gateways hear at once what others hand over to them. */
  readonly hearsBells: boolean;
}

/** Draws the scenario of a seed. */
export function drawScenario(chance: Chance): Scenario {
  const gatewayCount = chance.between(1, 2);
  return {
    gatewayCount,
    areTablesShared: chance.oneIn(2),
    endpointCount: chance.between(2, 5),
    hasTwoModels: chance.oneIn(4),
    maxInFlight: chance.oneIn(3) ? chance.between(1, 4) : undefined,
    requestsMax: chance.oneIn(8) ? chance.between(2, 8) : 1_000,
    onDisconnect: chance.pick(["abort", "abort", "finish"] as const),
    sessionCount: chance.between(2, 20),
    turnCountMax: chance.between(2, 8),
    thinkMsMax: chance.pick([50, 500, 3_000]),
    parallelTurns: chance.pick([0, 0.2]),
    vanishing: chance.pick([0, 0.15]),
    isBurst: chance.oneIn(3),
    framings: FRAMINGS,
    idleTtlMs: chance.pick([2_000, 1_800_000, 1_800_000]),
    capacity: chance.pick([8, 512, 512]),
    faults: drawFaults(chance),
    hearsBells: !chance.oneIn(4),
  };
}
