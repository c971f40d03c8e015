/**
 * What operators have set of endpoints while the gateway runs, on top of the
 * configuration.
 *
 * It outlives a reload, and an endpoint that is gone from the list for a
 * while, until the configuration says something else of that very setting:
 * whoever changes it there means it.
 *
 * Invariant: an override remembers what it has replaced, and is never applied
 * to anything else.
 *
 * @module
 */
import type { EndpointSpec } from "../core/endpoint.ts";
import { ENDPOINTS_MAX } from "../core/endpoints/endpoint_table.ts";

/** The settings that can be overridden. */
export type Overridable = Pick<EndpointSpec, "weight" | "maxInFlight">;

/** A setting of one endpoint, to be set. */
export interface Change<Name extends keyof Overridable> {
  readonly id: string;
  readonly name: Name;
  /** What is to hold; `undefined` for what is configured. */
  readonly to: { readonly value: Overridable[Name] } | undefined;
}

/** One setting: what was configured when it was set, and what holds. */
interface Override<Value> {
  readonly configured: Value;
  readonly value: Value;
}

/** The overrides of one endpoint. */
interface Overrides {
  weight?: Override<EndpointSpec["weight"]>;
  maxInFlight?: Override<EndpointSpec["maxInFlight"]>;
}

/** Keeps what has been set. */
export class EndpointOverrides {
  readonly #byId = new Map<string, Overrides>();

  /** Puts the overrides on a configured list, and forgets outdated ones. */
  apply(configured: readonly EndpointSpec[]): EndpointSpec[] {
    const specs = configured.map((spec) => {
      const overrides = this.#byId.get(spec.id);
      if (overrides === undefined) return spec;
      const { maxInFlight, weight } = overrides;
      if (weight?.configured !== spec.weight) delete overrides.weight;
      if (maxInFlight?.configured !== spec.maxInFlight) {
        delete overrides.maxInFlight;
      }
      return overridden(spec, overrides);
    });
    this.#bound(configured);
    return specs;
  }

  /**
   * Sets something of one endpoint.
   *
   * @param specs The list in force, with the overrides so far.
   * @returns The list with the change; `undefined` when `id` is not in it.
   */
  set<Name extends keyof Overridable>(
    specs: readonly EndpointSpec[],
    { id, name, to }: Change<Name>,
  ): EndpointSpec[] | undefined {
    const spec = specs.find((spec) => spec.id === id);
    if (spec === undefined) return undefined;
    const overrides = this.#byId.get(id) ?? {};
    const former = overrides[name];
    const configured = former === undefined ? spec[name] : former.configured;
    const value = to === undefined ? configured : to.value;
    if (value === configured) delete overrides[name];
    else Object.assign(overrides, { [name]: { configured, value } });
    this.#byId.set(id, overrides);
    return specs.map((other) =>
      other === spec ? { ...spec, [name]: value } : other
    );
  }

  /** Bounds what is kept of endpoints that are not listed. */
  #bound(listed: readonly EndpointSpec[]): void {
    const ids = new Set(listed.map(({ id }) => id));
    for (const [id, { maxInFlight, weight }] of this.#byId) {
      const isEmpty = weight === undefined && maxInFlight === undefined;
      const isOver = this.#byId.size > ENDPOINTS_MAX && !ids.has(id);
      if (isEmpty || isOver) this.#byId.delete(id);
    }
  }
}

function overridden(
  spec: EndpointSpec,
  { maxInFlight, weight }: Overrides,
): EndpointSpec {
  return {
    ...spec,
    weight: weight === undefined ? spec.weight : weight.value,
    maxInFlight: maxInFlight === undefined
      ? spec.maxInFlight
      : maxInFlight.value,
  };
}
