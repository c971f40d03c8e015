/**
 * What the demo has seen so far, counted from the events of conversations.
 *
 * Invariant: memory is bounded whatever is played: sessions and samples have
 * limits, after which the oldest make room.
 *
 * @module
 */
import type { ConversationEvent } from "./conversations.ts";

/** One engine, as the table shows it. */
export interface DemoEngine {
  readonly id: string;
  /** Sessions whose latest turn it served. */
  readonly sessionCount: number;
  readonly requestCount: number;
  /** Prompt tokens looked up in its prefix cache. */
  readonly queryTokens: number;
  /** Of these, tokens found. */
  readonly hitTokens: number;
}

/** Everything the table shows. */
export interface DemoState {
  readonly engines: readonly DemoEngine[];
  /** Turns by affinity outcome, in the order of `AFFINITY_OUTCOMES`. */
  readonly affinity: Readonly<Record<string, number>>;
  /** Times to first token after the first turn, with the session known. */
  readonly known: readonly number[];
  /** The same of conversations that were routed at random. */
  readonly random: readonly number[];
  readonly failedCount: number;
}

/** The outcomes of the gateway's affinity, in the order of the table. */
export const AFFINITY_OUTCOMES = ["none", "new", "hit", "moved", "spilled"];

/** More samples than the demo plays turns. */
const SAMPLES_MAX = 10_000;
/** More sessions than the demo plays. */
const SESSIONS_MAX = 10_000;

/** Counts for one endpoint. */
interface Counts {
  requestCount: number;
  queryTokens: number;
  hitTokens: number;
}

/** Counts the events of conversations that go through the gateway. */
export class DemoTally {
  readonly #counts = new Map<string, Counts>();
  readonly #endpointOf = new Map<number, string>();
  readonly #affinity = new Map<string, number>();
  readonly #known: number[] = [];
  readonly #random: number[] = [];
  #failedCount = 0;

  /** @param endpointIds As the gateway names them in its answers. */
  constructor(endpointIds: readonly string[]) {
    for (const id of endpointIds) {
      this.#counts.set(id, { requestCount: 0, queryTokens: 0, hitTokens: 0 });
    }
  }

  /** Counts a turn whose session the gateway could know. */
  addKnown(event: ConversationEvent): void {
    if (event.kind === "failed") {
      this.#failedCount++;
      return;
    }
    const { result, turn, conversation } = event;
    if (turn > 0) addSample(this.#known, result.firstTokenMs);
    const outcome = result.affinity;
    if (outcome !== undefined && AFFINITY_OUTCOMES.includes(outcome)) {
      this.#affinity.set(outcome, (this.#affinity.get(outcome) ?? 0) + 1);
    }
    const counts = this.#counts.get(result.endpoint ?? "");
    if (counts === undefined || result.endpoint === undefined) return;
    counts.requestCount++;
    counts.queryTokens += result.promptTokens;
    counts.hitTokens += result.cachedTokens;
    this.#endpointOf.delete(conversation);
    this.#endpointOf.set(conversation, result.endpoint);
    for (const oldest of this.#endpointOf.keys()) {
      if (this.#endpointOf.size <= SESSIONS_MAX) break;
      this.#endpointOf.delete(oldest);
    }
  }

  /** Counts a turn that was routed at random, for the comparison only. */
  addRandom(event: ConversationEvent): void {
    if (event.kind === "failed") this.#failedCount++;
    else if (event.turn > 0) {
      addSample(this.#random, event.result.firstTokenMs);
    }
  }

  /** The state now; a copy. */
  state(): DemoState {
    const sessions = new Map<string, number>();
    for (const id of this.#endpointOf.values()) {
      sessions.set(id, (sessions.get(id) ?? 0) + 1);
    }
    const affinity: Record<string, number> = {};
    for (const outcome of AFFINITY_OUTCOMES) {
      const count = this.#affinity.get(outcome);
      if (count !== undefined) affinity[outcome] = count;
    }
    return {
      engines: [...this.#counts].map(([id, counts]) => ({
        id,
        sessionCount: sessions.get(id) ?? 0,
        ...counts,
      })),
      affinity,
      known: [...this.#known],
      random: [...this.#random],
      failedCount: this.#failedCount,
    };
  }
}

function addSample(samples: number[], value: number): void {
  samples.push(value);
  if (samples.length > SAMPLES_MAX) samples.shift();
}
