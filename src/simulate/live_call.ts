/**
 * A call of a program that runs: what it asks of an engine, and what has
 * become of it.
 *
 * Invariant: times are set once each, in the order arrived, started, first
 * token, ended.
 *
 * @module
 */
import type { BlockChain } from "../../bench/engine/prefix_cache.ts";
import type { PlannedCall } from "./programs.ts";

/** Of an unset time. */
export const NEVER = -1;

/** A call under way. */
export interface LiveCall {
  /** Counted over the run. */
  readonly id: number;
  /** Number of its program, which is its session. */
  readonly program: number;
  readonly plan: PlannedCall;
  readonly promptTokens: number;
  /** The prompt with the answer behind it, as the engine's cache sees it. */
  readonly chain: BlockChain;
  /** Work that the program has left, this call included, in milliseconds. */
  readonly remainingMs: number;
  readonly arrivedAtMs: number;
  /** When the gateway let it go to an engine. */
  startedAtMs: number;
  firstTokenAtMs: number;
  endedAtMs: number;
  /** Tokens of the prompt that the engine had in its cache. */
  cachedTokens: number;
}
