/**
 * Asks endpoints how they are, whenever their health says that it is time.
 *
 * Every probe opens a connection of its own and closes it: a stale one would
 * say nothing about the endpoint, and whether it still accepts connections is
 * half of the question.
 *
 * Invariant: an endpoint has at most one probe at a time, which ends within
 * its timeout, and all of them together are bounded.
 *
 * @module
 */
import type { EndpointSpec } from "../core/endpoint.ts";
import type { Clock } from "../core/outside.ts";
import { type UpstreamClient, UpstreamError } from "../upstream/client.ts";
import type { ProbeOutcome } from "./health_book.ts";
import { type CredentialOf, questionHeaders } from "./question.ts";

/**
 * Probes at once. With every endpoint hanging for its timeout of 2 s, all 256
 * are still probed within 16 s.
 */
const PROBES_MAX = 32;

/** What `auto` asks for, best first. */
const AUTO_PATHS = ["/health", "/v1/models"] as const;

/** Statuses that say that a path is not there, or not for GET. */
const MISSING: ReadonlySet<number> = new Set([404, 405, 501]);

/** What a prober is made of. */
export interface ProberParts {
  readonly clock: Clock;
  /** Makes a client for one request, which is closed after it. */
  readonly connect: () => UpstreamClient;
  readonly credentialOf: CredentialOf;
  /** Endpoints whose probe is due, longest first. */
  readonly due: () => readonly EndpointSpec[];
  /**
   * Runs between a passed probe and its report. It MUST NOT reject, and MUST
   * end within some seconds.
   */
  readonly prepare: (endpoint: EndpointSpec) => Promise<void>;
  readonly report: (id: string, outcome: ProbeOutcome) => void;
}

/** One probe under way. */
interface Probe {
  client: UpstreamClient | undefined;
  /** Broken off; nobody wants to know how it ends. */
  isOver: boolean;
  isLate: boolean;
}

/** Probes endpoints. */
export class Prober {
  readonly #parts: ProberParts;
  readonly #open = new Map<string, Probe>();
  /** Where `auto` was answered; bounded by the list of endpoints. */
  readonly #autoPaths = new Map<string, string>();

  constructor(parts: ProberParts) {
    this.#parts = parts;
  }

  /** Starts the probes that are due, as far as there is room. */
  run(): void {
    for (const endpoint of this.#parts.due()) {
      if (this.#open.size >= PROBES_MAX) return;
      if (!this.#open.has(endpoint.id)) this.#start(endpoint);
    }
  }

  /** Breaks all probes off, unreported, and forgets what they found. */
  stop(): void {
    for (const probe of this.#open.values()) {
      probe.isOver = true;
      probe.client?.close();
    }
    this.#open.clear();
    this.#autoPaths.clear();
  }

  async #start(endpoint: EndpointSpec): Promise<void> {
    const { clock, prepare, report } = this.#parts;
    const { timeoutMs } = endpoint.health;
    const probe: Probe = { client: undefined, isOver: false, isLate: false };
    this.#open.set(endpoint.id, probe);
    const cancel = clock.after(timeoutMs, () => {
      probe.isLate = true;
      probe.client?.close();
    });
    const outcome = await this.#ask(endpoint, probe);
    cancel();
    if (outcome.result === "passed" && !probe.isOver) await prepare(endpoint);
    // The list may have been replaced meanwhile.
    if (probe.isOver) return;
    this.#open.delete(endpoint.id);
    report(endpoint.id, outcome);
    this.run();
  }

  async #ask(endpoint: EndpointSpec, probe: Probe): Promise<ProbeOutcome> {
    const paths = this.#pathsOf(endpoint);
    try {
      for (const path of paths) {
        const status = await this.#statusOf(endpoint, path, probe);
        if (path !== paths.at(-1) && MISSING.has(status)) continue;
        const isPassed = status < 500 || status === 501;
        if (isPassed) this.#autoPaths.set(endpoint.id, path);
        else this.#autoPaths.delete(endpoint.id);
        return {
          result: isPassed ? "passed" : "failed",
          detail: `GET ${path} answered ${status}`,
        };
      }
      throw new Error("Cannot probe without a path");
    } catch (error) {
      this.#autoPaths.delete(endpoint.id);
      if (!probe.isLate) return outcomeOf(error);
      const { timeoutMs } = endpoint.health;
      return {
        result: "timed_out",
        detail: `no answer within health.timeout, ${timeoutMs} ms`,
      };
    }
  }

  #pathsOf({ id, health: { path } }: EndpointSpec): readonly string[] {
    if (path !== "auto") return [path];
    const known = this.#autoPaths.get(id);
    return known === undefined ? AUTO_PATHS : [known];
  }

  async #statusOf(
    endpoint: EndpointSpec,
    path: string,
    probe: Probe,
  ): Promise<number> {
    if (probe.isLate || probe.isOver) throw new Error("It is too late to ask");
    const { connect, credentialOf } = this.#parts;
    const client = connect();
    probe.client = client;
    try {
      const { response } = client.start({
        address: endpoint.address,
        method: "GET",
        target: endpoint.basePath + path,
        headers: questionHeaders(endpoint, credentialOf, [
          "connection",
          "close",
        ]),
        body: undefined,
      });
      return (await response).status;
    } finally {
      client.close();
    }
  }
}

/** What a probe without an answer came to. */
function outcomeOf(error: unknown): ProbeOutcome {
  const isSilence = error instanceof UpstreamError &&
    /_timeout$/.test(error.kind);
  return { result: isSilence ? "timed_out" : "failed", detail: textOf(error) };
}

/** The message with that of its cause, which names the system's error. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error
    ? `${error.message}: ${error.cause.message}`
    : error.message;
}
