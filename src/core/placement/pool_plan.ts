/**
 * Which endpoints form a pool, worked out anew whenever endpoints or their
 * models change.
 *
 * A pool is a distinct set of endpoints: models that the same endpoints serve
 * share it, so a session that switches between them keeps its binding. An
 * endpoint whose list of models cannot be read serves every model.
 *
 * Bindings are kept apart by a pool's seed, which must outlive a rebuild: a
 * pool inherits name and seed from the pool that served most of its models
 * before, and each is inherited once. Otherwise an endpoint that is added
 * would unbind every session. Ranking never uses the seed, so gateways with
 * different histories still agree.
 *
 * Invariant: a plan is plain data, never changed, and can be posted to other
 * threads.
 *
 * @module
 */
import { hashBytes } from "../hash.ts";

/** Name of the pool of all endpoints, unless it inherits another. */
const WHOLE_NAME = "*";

/**
 * Models of one endpoint's list. Engines list one model and some hundred
 * adapters; an endpoint with a longer list counts as serving every model.
 */
const MODELS_MAX = 4096;

/** An endpoint as the planner sees it. */
export interface PlannedEndpoint {
  readonly id: string;
  /** Share of sessions relative to the others; over 0. */
  readonly weight: number;
  readonly slot: number;
  readonly generation: number;
  /** The models it lists; `undefined` when the list cannot be read. */
  readonly models: readonly string[] | undefined;
}

/** A pool as data; arrays run over its endpoints in the order of the list. */
export interface PoolData {
  readonly name: string;
  /** Keeps its bindings apart from those of other pools; 0 for none. */
  readonly seed: number;
  readonly ids: readonly string[];
  readonly slots: Int32Array;
  readonly generations: Int32Array;
  /** Two hash words an endpoint, of its id. */
  readonly hashes: Int32Array;
  readonly weights: Float64Array;
}

/** All pools of a gateway. */
export interface PoolPlan {
  readonly pools: readonly PoolData[];
  /** Which pool serves a model. */
  readonly models: ReadonlyMap<string, number>;
  /** The pool of all endpoints. */
  readonly whole: number;
  /** The pool of endpoints that serve every model; -1 when there is none. */
  readonly unlisted: number;
}

/** What a pool inherits. */
interface Identity {
  readonly name: string;
  readonly seed: number;
}

/** A pool that others may inherit from. */
interface FormerPool extends Identity {
  readonly ids: readonly string[];
}

/** What a plan needs of the one that it replaces. */
export interface FormerPlan {
  readonly pools: readonly FormerPool[];
  readonly models: ReadonlyMap<string, number>;
  readonly whole: number;
}

/** A pool in the making. */
interface Draft {
  readonly members: readonly number[];
  readonly models: string[];
}

/** Works out the pools; `previous` is the plan that this one replaces. */
export function buildPools(
  endpoints: readonly PlannedEndpoint[],
  previous?: FormerPlan,
): PoolPlan {
  const drafts = new Map<string, Draft>();
  const draft = (members: readonly number[]): Draft => {
    const key = members.join();
    const known = drafts.get(key);
    if (known !== undefined) return known;
    const created = { members, models: [] };
    drafts.set(key, created);
    return created;
  };
  const whole = draft([...endpoints.keys()]);
  const unlisted = [...endpoints.keys()].filter((index) =>
    listOf(endpoints[index]) === undefined
  );
  for (const [model, members] of membersByModel(endpoints, unlisted)) {
    draft(members).models.push(model);
  }
  const anyModel = unlisted.length === 0 ? undefined : draft(unlisted);
  const all = [...drafts.values()];
  const identities = identify(all, whole, previous);
  const models = new Map<string, number>();
  all.forEach((pool, index) =>
    pool.models.forEach((model) => models.set(model, index))
  );
  return {
    pools: all.map((pool, index) =>
      poolData(
        identities[index] ?? newIdentity(WHOLE_NAME),
        pool.members.flatMap((member) => endpoints[member] ?? []),
      )
    ),
    models,
    whole: all.indexOf(whole),
    unlisted: anyModel === undefined ? -1 : all.indexOf(anyModel),
  };
}

/** The models that an endpoint names, or `undefined` when it serves every. */
function listOf(
  endpoint: PlannedEndpoint | undefined,
): readonly string[] | undefined {
  const models = endpoint?.models;
  return models !== undefined && models.length > MODELS_MAX
    ? undefined
    : models;
}

/** Every named model with the indexes of its endpoints, ascending. */
function membersByModel(
  endpoints: readonly PlannedEndpoint[],
  unlisted: readonly number[],
): Map<string, number[]> {
  const members = new Map<string, Set<number>>();
  endpoints.forEach((endpoint, index) => {
    for (const model of listOf(endpoint) ?? []) {
      const known = members.get(model) ?? new Set(unlisted);
      members.set(model, known.add(index));
    }
  });
  return new Map(
    [...members]
      .sort(([one], [other]) => one < other ? -1 : 1)
      .map(([model, indexes]) => [
        model,
        [...indexes].sort((one, other) => one - other),
      ]),
  );
}

/** Finds name and seed of each pool. */
function identify(
  drafts: readonly Draft[],
  whole: Draft,
  previous: FormerPlan | undefined,
): Identity[] {
  const heirs = inherit(drafts, previous);
  const names = new Set([WHOLE_NAME]);
  const seeds = new Set([...heirs.values()].map(({ seed }) => seed));
  const identities = new Map<Draft, Identity>();
  for (const [draft, heritage] of heirs) {
    if (heritage.name === WHOLE_NAME && draft !== whole) continue;
    names.add(heritage.name);
    identities.set(draft, heritage);
  }
  for (const draft of drafts) {
    if (identities.has(draft)) continue;
    const name = draft === whole ? WHOLE_NAME : freeName(draft, names);
    names.add(name);
    // The models of a former pool of all endpoints keep its bindings.
    const former = draft === whole
      ? previous?.pools[previous.whole]
      : undefined;
    const seed = heirs.get(draft)?.seed ?? freeSeed(name, former, seeds);
    seeds.add(seed);
    identities.set(draft, { name, seed });
  }
  return drafts.map((draft) =>
    identities.get(draft) ?? newIdentity(WHOLE_NAME)
  );
}

/** Which pool inherits which identity: most models in common goes first. */
function inherit(
  drafts: readonly Draft[],
  previous: FormerPlan | undefined,
): Map<Draft, Identity> {
  const claims: { draft: Draft; pool: FormerPool; shared: number }[] = [];
  for (const draft of drafts) {
    const shared = new Map<FormerPool, number>();
    for (const model of draft.models) {
      const pool = previous?.pools[previous.models.get(model) ?? -1];
      if (pool !== undefined) shared.set(pool, (shared.get(pool) ?? 0) + 1);
    }
    for (const [pool, count] of shared) {
      claims.push({ draft, pool, shared: count });
    }
  }
  // At equal counts the larger pool has more bindings to lose.
  claims.sort((one, other) =>
    other.shared - one.shared || other.pool.ids.length - one.pool.ids.length
  );
  const heirs = new Map<Draft, Identity>();
  const spent = new Set<FormerPool>();
  for (const { draft, pool } of claims) {
    if (heirs.has(draft) || spent.has(pool)) continue;
    spent.add(pool);
    heirs.set(draft, { name: pool.name, seed: pool.seed });
  }
  return heirs;
}

/** The first of a pool's models that names no other pool. */
function freeName(draft: Draft, names: ReadonlySet<string>): string {
  const free = draft.models.find((model) => !names.has(model));
  if (free !== undefined) return free;
  const stem = draft.models[0] ?? "unlisted";
  let name = stem;
  // Bounded by the number of pools, as each has one name.
  for (let number = 2; names.has(name); number++) name = `${stem}#${number}`;
  return name;
}

/**
 * A seed that no other pool has: that of the former pool of all endpoints for
 * the new one, unless the pool of some models has inherited it.
 */
function freeSeed(
  name: string,
  former: Identity | undefined,
  seeds: ReadonlySet<number>,
): number {
  let { seed } = former ?? newIdentity(name);
  // Bounded by the number of pools, as each has one seed.
  for (let number = 1; seeds.has(seed); number++) {
    ({ seed } = newIdentity(`${name}#${number}`));
  }
  return seed;
}

function newIdentity(name: string): Identity {
  const seed = name === WHOLE_NAME
    ? 0
    : hashBytes(new TextEncoder().encode(name)).a;
  return { name, seed };
}

function poolData(
  identity: Identity,
  members: readonly PlannedEndpoint[],
): PoolData {
  const encoder = new TextEncoder();
  return {
    ...identity,
    ids: members.map((endpoint) => endpoint.id),
    slots: Int32Array.from(members, (endpoint) => endpoint.slot),
    generations: Int32Array.from(members, (endpoint) => endpoint.generation),
    hashes: Int32Array.from(
      members.flatMap((endpoint) => {
        const { a, b } = hashBytes(encoder.encode(endpoint.id));
        return [a, b];
      }),
    ),
    weights: Float64Array.from(members, (endpoint) => endpoint.weight),
  };
}
