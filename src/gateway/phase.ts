/**
 * The phases of a request and what may follow each: the state machine's table.
 *
 * The table is written once, as a value. The compiler reads it to refuse
 * transitions that it does not list (`transitions.ts`), the gateway to refuse
 * them again where a reference to a call has gone stale, and tests to judge
 * what requests have gone through.
 *
 * Invariant: every phase but the last may go to `settle`, `settle` goes
 * nowhere, and no way but a failed attempt leads back.
 *
 * @module
 */

/** All phases, in the order of a request that meets no trouble. */
export const PHASES = [
  "accept",
  "sniff",
  "key",
  "rank",
  "admit",
  "attempt",
  "relay",
  "settle",
] as const;

/** One phase in the life of a request. */
export type Phase = typeof PHASES[number];

/** What may follow each phase. */
export const SUCCESSORS = {
  accept: ["sniff", "settle"],
  sniff: ["key", "settle"],
  key: ["rank", "settle"],
  rank: ["admit", "settle"],
  admit: ["attempt", "settle"],
  // Failover: another endpoint is admitted, of the same pool.
  attempt: ["relay", "admit", "settle"],
  relay: ["settle"],
  settle: [],
} as const satisfies Readonly<Record<Phase, readonly Phase[]>>;

/** Every phase that has a successor. */
export type OpenPhase = Exclude<Phase, "settle">;

/**
 * The phases that may follow `From`; where that is several phases, those that
 * may follow each of them.
 */
export type Successor<From extends Phase> = {
  [To in Phase]: [From] extends [Predecessor<To>] ? To : never;
}[Phase];

/** The phases that `To` may follow. */
type Predecessor<To extends Phase> = {
  [From in Phase]: To extends typeof SUCCESSORS[From][number] ? From : never;
}[Phase];
