/**
 * Simulated engines on a virtual clock: the model that the simulated HTTP
 * engine runs in real time (`bench/engine/batch.ts`).
 *
 * Invariant: what the engines report comes in the order of time, and of two
 * engines at one time the one of lower index is first.
 *
 * @module
 */
import {
  Batch,
  type BatchEvent,
  type BatchOptions,
} from "../../bench/engine/batch.ts";
import { TOKEN_BYTES } from "../../bench/engine/prefix_cache.ts";
import type { LiveCall } from "./live_call.ts";

/** The pace and size of each engine. */
export type EngineModel = Omit<BatchOptions, "speed">;

/**
 * A mid-sized model on one GPU: 10,000 tokens a second of prefill, 67 tokens a
 * second of decoding for each of at most 32 calls, and a prefix cache of
 * 262,144 tokens. That is 8,192 for each call of a full batch, or 32 GiB at the
 * 128 KiB a token of a model of 8 billion parameters.
 */
export const ENGINE_MODEL: EngineModel = {
  prefillMsPerToken: 0.1,
  decodeMsPerToken: 15,
  batchMax: 32,
  cacheBlocks: 16_384,
};

/** Engines of one kind. */
export class Engines {
  readonly #batches: readonly Batch[];
  /** When each engine next has something to report. */
  readonly #nextAtMs: Float64Array;

  constructor(count: number, model: EngineModel) {
    this.#batches = Array.from(
      { length: count },
      () => new Batch({ ...model, speed: 1 }),
    );
    this.#nextAtMs = new Float64Array(count).fill(Infinity);
  }

  /** When `advance` next has something to report; `Infinity` for never. */
  get nextAtMs(): number {
    return this.#nextAtMs[this.#soonest()] ?? Infinity;
  }

  /** Tokens of prompts looked up, and found, in all prefix caches. */
  get cacheTokens(): { readonly looked: number; readonly found: number } {
    let looked = 0;
    let found = 0;
    for (const { cache } of this.#batches) {
      looked += cache.queryTokens;
      found += cache.hitTokens;
    }
    return { looked, found };
  }

  /** @throws {RangeError} when the engine's queue is full. */
  submit(engine: number, call: LiveCall, nowMs: number): void {
    const batch = this.#batchAt(engine);
    const isTaken = batch.submit({
      id: call.id,
      chain: call.chain,
      promptBytes: call.promptTokens * TOKEN_BYTES,
      answerTokens: call.plan.answerTokens,
    }, nowMs);
    if (!isTaken) {
      throw new RangeError(
        `Cannot submit to engine ${engine}: ${batch.waitingCount} calls wait`,
      );
    }
    this.#nextAtMs[engine] = batch.nextAtMs ?? Infinity;
  }

  /** What the next engine to report has to say, up to that moment. */
  advance(): readonly BatchEvent[] {
    const engine = this.#soonest();
    const atMs = this.#nextAtMs[engine] ?? Infinity;
    if (atMs === Infinity) return [];
    const batch = this.#batchAt(engine);
    const events = batch.advance(atMs);
    this.#nextAtMs[engine] = batch.nextAtMs ?? Infinity;
    return events;
  }

  #soonest(): number {
    let soonest = 0;
    for (let engine = 1; engine < this.#nextAtMs.length; engine++) {
      const atMs = this.#nextAtMs[engine] ?? Infinity;
      if (atMs < (this.#nextAtMs[soonest] ?? Infinity)) soonest = engine;
    }
    return soonest;
  }

  #batchAt(engine: number): Batch {
    const batch = this.#batches[engine];
    if (batch !== undefined) return batch;
    throw new RangeError(
      `Cannot find engine ${engine}: there are ${this.#batches.length}`,
    );
  }
}
