/**
 * Everything that can be made to go wrong, as one set of probabilities and
 * durations.
 *
 * Each seed switches a random part of it on (swarm testing: Groce and others,
 * 2012), so that worlds without any fault and worlds with a single one occur:
 * where everything fails at once, most faults hide each other.
 *
 * Invariant: a probability of 0 draws as often as any other, so that switching
 * a fault off changes nothing but that fault.
 *
 * @module
 */
import type { Chance } from "./chance.ts";

/** Probabilities of faults; durations are drawn where they are needed. */
export const FAULTS = {
  /** Of each connection. */
  connectRefused: 0.1,
  connectHang: 0.05,
  resetOnAccept: 0.05,
  /** Of each answer, the first that is drawn. */
  slowFirstByte: 0.1,
  silentHead: 0.03,
  resetBeforeHead: 0.06,
  resetMidStream: 0.06,
  truncated: 0.06,
  stalledStream: 0.05,
  notHttp: 0.03,
  status429: 0.06,
  status500: 0.06,
  status503: 0.06,
  /** Of each answer: the connection is closed as its next request comes. */
  staleClose: 0.2,
  /** Of each request body: the engine stops reading. */
  stalledUpload: 0.03,
  /** Of each second and endpoint. */
  crash: 0.06,
  flap: 0.1,
  drain: 0.05,
  /** Of each second. */
  shrink: 0.1,
  jump: 0.05,
} as const;

/** A fault by name. */
export type FaultName = keyof typeof FAULTS;

/** How probable each fault is in one world. */
export type Faults = Readonly<Record<FaultName, number>>;

/** Nothing goes wrong. */
export const NO_FAULTS: Faults = mapFaults(() => 0);

/** One world in so many has no fault, and one in so many a single one. */
const PLAIN_WORLDS = 6;

/** Draws the faults of a world. */
export function drawFaults(chance: Chance): Faults {
  const kind = chance.below(PLAIN_WORLDS);
  const names = Object.keys(FAULTS);
  const only = chance.pick(names);
  return mapFaults((name) => {
    const isOn = chance.happens(0.4);
    if (kind === 0) return 0;
    return (kind === 1 ? name === only : isOn) ? FAULTS[name] : 0;
  });
}

function mapFaults(valueOf: (name: FaultName) => number): Faults {
  const names = Object.keys(FAULTS) as FaultName[];
  return Object.fromEntries(
    names.map((name) => [name, valueOf(name)]),
  ) as Faults;
}
