/**
 * The health of every listed endpoint: what probes, traffic and operators say
 * goes through the state machine, and its state into the shared table.
 *
 * Kept by the main thread alone. Worker threads eject in the shared table by
 * themselves; that is taken over here before anything else is decided.
 *
 * Invariant: an endpoint's state in the table is that of its health, but for
 * an ejection by traffic that has not been looked at yet.
 *
 * @module
 */
import type { EndpointSpec } from "../core/endpoint.ts";
import {
  ENDPOINTS_MAX,
  type EndpointTable,
} from "../core/endpoints/endpoint_table.ts";
import {
  type Health,
  type HealthEvent,
  newHealth,
  PROBE_RESULTS,
  type ProbeResult,
  stepHealth,
} from "../core/endpoints/health.ts";
import type { Outside } from "../core/outside.ts";

/** Why endpoints are ejected. */
export const EJECTION_CAUSES = [
  "failures",
  "probe_failed",
  "probe_timed_out",
] as const;

/** Why an endpoint was ejected. */
export type EjectionCause = typeof EJECTION_CAUSES[number];

/** What a probe came to, and what was seen. */
export interface ProbeOutcome {
  readonly result: ProbeResult;
  /** For the log, for example `GET /health answered 503`. */
  readonly detail: string;
}

/** What a book is made of. */
export interface HealthBookParts {
  readonly table: EndpointTable;
  readonly outside: Pick<Outside, "clock" | "log" | "random">;
}

/** What is known of an endpoint's past. */
export interface HealthRecord {
  readonly health: Health;
  readonly ejections: ReadonlyMap<EjectionCause, number>;
  readonly probes: ReadonlyMap<ProbeResult, number>;
}

/** One listed endpoint. */
interface Entry {
  spec: EndpointSpec;
  readonly slot: number;
  health: Health;
  readonly ejections: Map<EjectionCause, number>;
  readonly probes: Map<ProbeResult, number>;
  /** The last failed probe that was logged, so that it is logged once. */
  loggedDetail: string | undefined;
}

/** Why a step is made: for the log, and for counting. */
interface Reason {
  readonly text: string;
  readonly cause: EjectionCause;
}

/** Keeps the health of all endpoints. */
export class HealthBook {
  readonly #parts: HealthBookParts;
  #entries = new Map<string, Entry>();
  /**
   * Ids that an operator has drained. Those not listed are kept as well, for
   * a discovery source that blinks must not bring an endpoint back.
   */
  readonly #drained = new Set<string>();

  constructor(parts: HealthBookParts) {
    this.#parts = parts;
  }

  /** Keeps exactly these endpoints; what is known of those kept stays. */
  replace(
    specs: readonly EndpointSpec[],
    slotOf: (id: string) => number,
  ): void {
    const entries = new Map<string, Entry>();
    for (const spec of specs) {
      const slot = slotOf(spec.id);
      this.#parts.table.setFailuresMax(slot, spec.health.failures);
      const known = this.#entries.get(spec.id);
      const entry = known?.slot === slot ? known : this.#newEntry(spec, slot);
      if (!arePlacedAlike(entry.spec, spec)) {
        // It is asked again at once, and serves meanwhile if it did: traffic
        // ejects it soon enough if nobody is there.
        const probeAtMs = this.#parts.outside.clock.nowMs();
        entry.health = { ...entry.health, probeAtMs };
      }
      entry.spec = spec;
      entries.set(spec.id, entry);
    }
    this.#entries = entries;
    for (const entry of entries.values()) {
      if (this.#drained.has(entry.spec.id)) this.#drain(entry);
    }
    this.#forgetDrains();
  }

  /** Takes over what traffic has shown; called some times a second. */
  look(): void {
    for (const entry of this.#entries.values()) this.#look(entry);
  }

  /** Endpoints whose probe is due, longest first. */
  due(): EndpointSpec[] {
    const nowMs = this.#parts.outside.clock.nowMs();
    return [...this.#entries.values()]
      .filter(({ health }) => health.probeAtMs <= nowMs)
      .sort((one, other) => one.health.probeAtMs - other.health.probeAtMs)
      .map(({ spec }) => spec);
  }

  /** Whether an endpoint takes work. */
  isReady(id: string): boolean {
    return this.#entries.get(id)?.health.state === "ready";
  }

  /** What is known of a listed endpoint. */
  record(id: string): HealthRecord | undefined {
    return this.#entries.get(id);
  }

  /** Takes what a probe came to; one of an endpoint that is gone is nothing. */
  probed(id: string, { result, detail }: ProbeOutcome): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    entry.probes.set(result, (entry.probes.get(result) ?? 0) + 1);
    this.#look(entry);
    this.#logProbe(entry, result, detail);
    this.#step(entry, { kind: "probed", result }, {
      text: detail,
      cause: result === "timed_out" ? "probe_timed_out" : "probe_failed",
    });
  }

  /**
   * Has an endpoint finish its requests and take no more, until it is
   * restored; false when it is not listed.
   */
  drain(id: string): boolean {
    const entry = this.#entries.get(id);
    if (entry === undefined) return false;
    this.#drained.add(id);
    this.#drain(entry);
    return true;
  }

  /** Ends draining; false when the endpoint is not listed. */
  restore(id: string): boolean {
    this.#drained.delete(id);
    const entry = this.#entries.get(id);
    if (entry === undefined) return false;
    this.#step(entry, { kind: "restored" }, reasonOf("restored"));
    return true;
  }

  #newEntry(spec: EndpointSpec, slot: number): Entry {
    return {
      spec,
      slot,
      health: newHealth(this.#parts.outside.clock.nowMs()),
      // A series that starts at 0 shows its first rise.
      ejections: new Map(EJECTION_CAUSES.map((cause) => [cause, 0])),
      probes: new Map(PROBE_RESULTS.map((result) => [result, 0])),
      loggedDetail: undefined,
    };
  }

  #drain(entry: Entry): void {
    this.#look(entry);
    this.#step(entry, { kind: "drained" }, reasonOf("drained"));
  }

  /** Takes over an ejection by traffic, and when it was last answered. */
  #look(entry: Entry): void {
    const { table } = this.#parts;
    const { slot, health } = entry;
    const atMs = table.answeredAtMs(slot);
    if (atMs !== undefined && atMs > health.answeredAtMs) {
      this.#step(entry, { kind: "answered", atMs }, reasonOf("answered"));
    }
    if (health.state !== "ready" || table.state(slot) !== "ejected") return;
    const kind = table.lastFailure(slot) ?? "unknown";
    // An answer that came after the ejection has ended the row by now.
    const count = Math.max(table.failures(slot), table.failuresMax(slot));
    this.#step(entry, {
      kind: "failures_reached",
      atMs: table.ejectedAtMs(slot) ?? this.#parts.outside.clock.nowMs(),
    }, {
      text: `${count} requests failed in a row, last: ${kind}`,
      cause: "failures",
    });
  }

  #step(entry: Entry, event: HealthEvent, reason: Reason): void {
    const { outside: { clock, random }, table } = this.#parts;
    const before = entry.health.state;
    entry.health = stepHealth(entry.health, event, {
      settings: entry.spec.health,
      nowMs: clock.nowMs(),
      random,
    });
    const { state } = entry.health;
    if (state === before) return;
    // What it was ejected for must not count again.
    if (state === "ready") table.clearFailures(entry.slot);
    table.setState(entry.slot, state);
    if (state === "ejected") {
      const count = entry.ejections.get(reason.cause) ?? 0;
      entry.ejections.set(reason.cause, count + 1);
    }
    this.#logState(entry, reason);
  }

  #logState({ spec, health }: Entry, { text }: Reason): void {
    const { clock, log } = this.#parts.outside;
    const level = health.state === "ejected" ? "warn" : "info";
    const inMs = Math.round(health.probeAtMs - clock.nowMs());
    log(level, `endpoint.${health.state}`, {
      id: spec.id,
      reason: text,
      ...(health.state === "ejected" ? { probe_in_ms: inMs } : {}),
    });
  }

  /** Each reason why an endpoint does not pass is told once in a row. */
  #logProbe(entry: Entry, result: ProbeResult, detail: string): void {
    if (result === "passed") {
      entry.loggedDetail = undefined;
      return;
    }
    if (entry.loggedDetail === detail) return;
    entry.loggedDetail = detail;
    this.#parts.outside.log("info", "endpoint.probe_failed", {
      id: entry.spec.id,
      state: entry.health.state,
      reason: detail,
    });
  }

  /** Bounds the drained ids that are not listed. */
  #forgetDrains(): void {
    for (const id of this.#drained) {
      if (this.#drained.size <= ENDPOINTS_MAX) return;
      if (!this.#entries.has(id)) this.#drained.delete(id);
    }
  }
}

/** Whether two entries of one id are asked at the same address. */
function arePlacedAlike(one: EndpointSpec, other: EndpointSpec): boolean {
  const placeOf = ({ address, basePath, health, host }: EndpointSpec) =>
    JSON.stringify([address, basePath, host, health.path]);
  return placeOf(one) === placeOf(other);
}

function reasonOf(text: string): Reason {
  return { text, cause: "failures" };
}
