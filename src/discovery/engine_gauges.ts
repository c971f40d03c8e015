/**
 * Asks ready endpoints every few seconds how busy their engines are.
 *
 * The answer is the engine's own account of its running and waiting requests
 * and of its cache. It lags by seconds, so it only supplements what the
 * gateway counts itself. Whether an endpoint is well is not asked here: one
 * that does not answer has no fresh reading, and that is all.
 *
 * Invariant: an endpoint has at most one question open, as the next one is
 * planned when the last one has ended; and one that is not watched any more is
 * neither asked nor reported.
 *
 * @module
 */
import type { EndpointSpec } from "../core/endpoint.ts";
import type { EngineGauges } from "../core/engines/engine_metrics.ts";
import type { Outside } from "../core/outside.ts";
import type { UpstreamClient } from "../upstream/client.ts";
import { askForPage, pageTargets } from "./gauge_page.ts";
import type { CredentialOf } from "./question.ts";

/** Milliseconds until an endpoint without a page of metrics is asked again. */
const REST_MS = 60_000;

/**
 * Milliseconds for which a reading says something about now: engines are late
 * with their gauges by 3 to 6 s, and a question or two may fail.
 */
const FRESH_MS = 10_000;

/** Intervals vary by 10 % each way, so that gateways do not fall into step. */
const JITTER = 0.2;

/** Where and how often to ask. */
export interface GaugeSettings {
  /** Path of the page; starts with a slash. */
  readonly path: string;
  /** Milliseconds from an answer to the next question, on average. */
  readonly intervalMs: number;
}

/** What a watch is made of. */
export interface GaugeWatchParts
  extends Pick<Outside, "clock" | "log" | "random"> {
  readonly upstream: UpstreamClient;
  readonly credentialOf: CredentialOf;
  /** Whether an endpoint takes work; others are not asked. */
  readonly isReady: (endpointId: string) => boolean;
  /** Takes every reading, at the time at which it comes. */
  readonly report: (endpointId: string, gauges: EngineGauges) => void;
}

/** The last that an engine has said. */
export interface GaugeReading {
  readonly gauges: EngineGauges;
  /** When it came, by the clock. */
  readonly atMs: number;
  /** Whether it still says something about now. */
  readonly isFresh: boolean;
}

/** One endpoint that is watched. */
interface Watched {
  readonly endpoint: EndpointSpec;
  /** Where its page may be. */
  readonly targets: readonly string[];
  readonly settings: GaugeSettings;
  /** Where it was last time. */
  target: string | undefined;
  reading: Omit<GaugeReading, "isFresh"> | undefined;
  /** Calls off what is planned, or breaks off what is under way. */
  cancel: () => void;
  isOver: boolean;
  /** Whether the log has been told that there is no page. */
  isTold: boolean;
}

/** Watches the engines of a list of endpoints. */
export class GaugeWatch {
  readonly #parts: GaugeWatchParts;
  /** By id; bounded by the list. */
  readonly #watched = new Map<string, Watched>();

  constructor(parts: GaugeWatchParts) {
    this.#parts = parts;
  }

  /**
   * Watches exactly these endpoints from now on, or none at all. Readings of
   * endpoints that were watched before stay.
   */
  watch(
    endpoints: readonly EndpointSpec[],
    settings: GaugeSettings | "none",
  ): void {
    const before = new Map(this.#watched);
    this.stop();
    if (settings === "none") return;
    for (const [endpoint, targets] of pageTargets(endpoints, settings.path)) {
      const watched: Watched = {
        endpoint,
        targets,
        settings,
        target: undefined,
        reading: before.get(endpoint.id)?.reading,
        cancel: () => {},
        isOver: false,
        isTold: false,
      };
      this.#watched.set(endpoint.id, watched);
      // Spread over an interval, so that not all are asked at once.
      this.#later(watched, settings.intervalMs * this.#parts.random());
    }
  }

  /** Asks no more, breaks off what is open, and forgets all readings. */
  stop(): void {
    for (const watched of this.#watched.values()) {
      watched.isOver = true;
      watched.cancel();
    }
    this.#watched.clear();
  }

  /** The last reading of an endpoint; `undefined` while there is none. */
  reading(endpointId: string): GaugeReading | undefined {
    const reading = this.#watched.get(endpointId)?.reading;
    if (reading === undefined) return undefined;
    const ageMs = this.#parts.clock.nowMs() - reading.atMs;
    return { ...reading, isFresh: ageMs < FRESH_MS };
  }

  #later(watched: Watched, delayMs: number): void {
    watched.cancel = this.#parts.clock.after(delayMs, () => {
      if (this.#parts.isReady(watched.endpoint.id)) this.#ask(watched);
      else this.#later(watched, this.#varied(watched.settings.intervalMs));
    });
  }

  #varied(intervalMs: number): number {
    return intervalMs * (1 - JITTER / 2 + JITTER * this.#parts.random());
  }

  /** Asks once and plans the next question; never rejects. */
  async #ask(watched: Watched): Promise<void> {
    const { endpoint, settings, target, targets } = watched;
    const question = askForPage(
      this.#parts,
      endpoint,
      target === undefined ? targets : [target],
    );
    watched.cancel = question.cancel;
    const outcome = await question.outcome;
    // The list may have been replaced meanwhile.
    if (watched.isOver) return;
    if (outcome.kind === "read") {
      const { gauges } = outcome;
      watched.target = outcome.target;
      watched.reading = { gauges, atMs: this.#parts.clock.nowMs() };
      watched.isTold = false;
      this.#parts.report(endpoint.id, gauges);
    }
    // A page that has moved is looked for everywhere the next time.
    const hasMoved = outcome.kind === "missing" && target !== undefined;
    if (hasMoved) watched.target = undefined;
    const isAbsent = outcome.kind === "missing" && !hasMoved;
    if (isAbsent) this.#tell(watched, outcome.detail);
    const delayMs = isAbsent ? REST_MS : settings.intervalMs;
    this.#later(watched, this.#varied(delayMs));
  }

  /** Tells the log once that there is no page, until there has been one. */
  #tell(watched: Watched, detail: string): void {
    if (watched.isTold) return;
    watched.isTold = true;
    const { id } = watched.endpoint;
    this.#parts.log("debug", "endpoint.gauges_missing", { id, detail });
  }
}
