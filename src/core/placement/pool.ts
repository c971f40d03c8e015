/**
 * The pools of a gateway as a worker thread uses them: the data of a plan with
 * the live counts of the endpoint table behind it.
 *
 * Invariant: looking a pool up and asking it anything allocates nothing and
 * takes the same time however many pools there are.
 *
 * @module
 */
import { packBinding, slotOfBinding } from "../sessions/binding.ts";
import {
  ENDPOINTS_MAX,
  type EndpointTable,
} from "../endpoints/endpoint_table.ts";
import { finalize32, type KeyHash } from "../hash.ts";
import type { PoolData, PoolPlan } from "./pool_plan.ts";
import type { Candidates } from "../routing_policy.ts";

/** Spreads the seed into the second lane, unlike into the first. */
const SEED_FOLD = 0x9e3779b1;

/**
 * Requests in flight up to which an endpoint never counts as overloaded. An
 * engine takes that many into its batch, and below it the agreement of
 * gateways on a session's endpoint is worth more than evenness.
 */
const IMBALANCE_FLOOR = 8;

/** The endpoints that serve some models, by index. */
export class Pool implements Candidates {
  readonly name: string;
  readonly count: number;
  readonly ids: readonly string[];
  readonly hashes: Int32Array;
  readonly weights: Float64Array;
  /** Unlike that of any other pool; 0 for the pool of all endpoints. */
  readonly seed: number;
  readonly #table: EndpointTable;
  readonly #slots: Int32Array;
  readonly #generations: Int32Array;
  /** The index of each slot's endpoint, or -1. */
  readonly #indexes = new Int16Array(ENDPOINTS_MAX).fill(-1);

  constructor(data: PoolData, table: EndpointTable) {
    this.name = data.name;
    this.count = data.ids.length;
    this.ids = data.ids;
    this.hashes = data.hashes;
    this.weights = data.weights;
    this.seed = data.seed;
    this.#table = table;
    this.#slots = data.slots;
    this.#generations = data.generations;
    data.slots.forEach((slot, index) => this.#indexes[slot] = index);
  }

  /** The slot of an endpoint in the endpoint table. */
  slot(index: number): number {
    return this.#slots[index] ?? 0;
  }

  /** The index of a slot's endpoint, or -1 when none of the pool. */
  indexAt(slot: number): number {
    return this.#indexes[slot] ?? -1;
  }

  inFlight(index: number): number {
    return this.#table.inFlight(this.slot(index));
  }

  /**
   * Whether an endpoint takes work. False also when its slot has been given to
   * another endpoint since the plan was made.
   */
  isEligible(index: number): boolean {
    return this.#table.isEligible(
      this.slot(index),
      this.#generations[index] ?? -1,
    );
  }

  /**
   * Whether one more request would load an endpoint above `imbalance` times
   * its share, by weight, of what is in flight on the eligible endpoints, that
   * request included (consistent hashing with bounded loads: Mirrokni, Thorup
   * and Zadimoghaddam, 2018).
   */
  isOverloaded(index: number, imbalance: number): boolean {
    const next = this.inFlight(index) + 1;
    if (next <= IMBALANCE_FLOOR) return false;
    let total = 1;
    let weights = 0;
    for (let other = 0; other < this.count; other++) {
      if (!this.isEligible(other)) continue;
      total += this.inFlight(other);
      weights += this.weights[other] ?? 1;
    }
    const share = total * (this.weights[index] ?? 1) / weights;
    return next > imbalance * share;
  }

  /** Whether an endpoint's engine has asked to be left alone for now. */
  isBusy(index: number, nowMs: number): boolean {
    return this.#table.isBusy(this.slot(index), nowMs);
  }

  /** Takes a place on an endpoint; false when it is at its limit. */
  tryReserve(index: number): boolean {
    return this.#table.tryReserve(this.slot(index));
  }

  /** The binding word that names an endpoint: see `binding.ts`. */
  bindingOf(index: number): number {
    return packBinding(this.slot(index), this.#generations[index] ?? -1);
  }

  /** The endpoint that a binding word names, or -1 when none of the pool. */
  indexOf(binding: number): number {
    if (binding === 0) return -1;
    const index = this.#indexes[slotOfBinding(binding)] ?? -1;
    return index >= 0 && this.bindingOf(index) === binding ? index : -1;
  }

  /**
   * The key under which this pool's bindings are kept: another one in each
   * pool, so that two pools without common endpoints can both bind a session.
   */
  scope(key: KeyHash): KeyHash {
    const { seed } = this;
    if (seed === 0) return key;
    return {
      a: finalize32(key.a ^ seed),
      b: finalize32(key.b ^ Math.imul(seed, SEED_FOLD)),
    };
  }
}

/** All pools, by model. */
export class Pools {
  /** The pool of all endpoints. */
  readonly whole: Pool;
  readonly all: readonly Pool[];
  readonly #byModel: ReadonlyMap<string, Pool>;
  readonly #unlisted: Pool | undefined;

  constructor(plan: PoolPlan, table: EndpointTable) {
    this.all = plan.pools.map((data) => new Pool(data, table));
    const poolAt = (index: number): Pool => {
      const pool = this.all[index];
      if (pool === undefined) {
        throw new RangeError(
          `Cannot use a plan of ${this.all.length} pools: it names pool ${index}`,
        );
      }
      return pool;
    };
    this.whole = poolAt(plan.whole);
    this.#unlisted = plan.unlisted < 0 ? undefined : poolAt(plan.unlisted);
    this.#byModel = new Map(
      [...plan.models].map(([model, index]) => [model, poolAt(index)]),
    );
  }

  /**
   * The pool that serves `model`: all endpoints when the request names none,
   * and for a model that nobody lists, the endpoints that serve every model.
   *
   * @returns `undefined` when no endpoint serves the model.
   */
  poolFor(model: string | undefined): Pool | undefined {
    if (model === undefined) return this.whole;
    return this.#byModel.get(model) ?? this.#unlisted;
  }
}
