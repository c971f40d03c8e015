/**
 * Clients of a gateway that is being replaced: some connect for each request,
 * others keep their connection, and all of them tell what went wrong.
 *
 * None of them sends a request twice, as a client that retries would hide what
 * is measured. A connection whose answer says `connection: close` is closed
 * and opened anew, as RFC 9112, 9.6 wants it of clients.
 *
 * Invariant: each request that was begun is counted once.
 *
 * @module
 */
import { requestText, Wire } from "../resilience/wire.ts";
import type { SeededSession } from "./seeded_state.ts";

/** One request in so many is of a session that nobody has seen yet. */
const NEW_EVERY = 10;

/** Milliseconds that those who stay wait between two requests. */
const PAUSE_MS = 20;

/** Most kinds of failures that are told apart. */
const CAUSES_MAX = 16;

/** What to send. */
export interface VisitorOptions {
  readonly port: number;
  /** Requests a second on a connection of their own. */
  readonly connectsPerSecond: number;
  /** Clients that keep their connection. */
  readonly stayingCount: number;
  readonly sessions: readonly SeededSession[];
}

/** What has come of it so far. */
export interface Tally {
  requests: number;
  /** Requests on connections that were used before. */
  reused: number;
  failed: number;
  /** How often each kind of failure came. */
  readonly causes: Map<string, number>;
  /** Each session that has been asked for, and its last endpoint. */
  readonly homes: Map<string, string>;
}

/** Sessions that called within some time. */
export interface Callers {
  readonly count: number;
  /** How many of them met another endpoint than before, by outcome. */
  readonly strayed: ReadonlyMap<string, number>;
}

/** A load that goes on until it is ended. */
export class Visitors {
  readonly #options: VisitorOptions;
  readonly #running = new Set<Promise<void>>();
  readonly #loops: Promise<void>[];
  #callers = new Set<string>();
  #strayed = new Map<string, string>();
  #next = 0;
  #isOver = false;
  readonly tally: Tally = {
    requests: 0,
    reused: 0,
    failed: 0,
    causes: new Map(),
    homes: new Map(),
  };

  constructor(options: VisitorOptions) {
    this.#options = options;
    this.#loops = [
      this.#pass(),
      ...Array.from({ length: options.stayingCount }, () => this.#stay()),
    ];
  }

  /** The sessions that have called since this was asked before. */
  callers(): Callers {
    const strayed = new Map<string, number>();
    for (const outcome of this.#strayed.values()) {
      strayed.set(outcome, (strayed.get(outcome) ?? 0) + 1);
    }
    const count = this.#callers.size;
    this.#callers.clear();
    this.#strayed.clear();
    return { count, strayed };
  }

  /** Begins nothing more; resolves when all has ended. */
  async end(): Promise<Tally> {
    this.#isOver = true;
    await Promise.all(this.#loops);
    await Promise.all(this.#running);
    return this.tally;
  }

  async #pass(): Promise<void> {
    const startedAt = performance.now();
    for (let n = 0; !this.#isOver;) {
      const elapsedMs = performance.now() - startedAt;
      const dueCount = elapsedMs * this.#options.connectsPerSecond / 1_000;
      for (; n < dueCount; n++) {
        const visit = this.#visit().finally(() => this.#running.delete(visit));
        this.#running.add(visit);
      }
      await pause(1);
    }
  }

  async #visit(): Promise<void> {
    const wire = await this.#connect();
    if (wire === undefined) return;
    await this.#ask(wire, "connection: close");
    wire.close();
  }

  async #stay(): Promise<void> {
    let wire: Wire | undefined;
    while (!this.#isOver) {
      if (wire !== undefined) this.tally.reused++;
      wire ??= await this.#connect();
      if (wire === undefined) continue;
      const isKept = await this.#ask(wire, "connection: keep-alive");
      if (!isKept) {
        wire.close();
        wire = undefined;
      }
      await pause(PAUSE_MS);
    }
    wire?.close();
  }

  async #connect(): Promise<Wire | undefined> {
    try {
      return await Wire.connect(this.#options.port);
    } catch (error) {
      this.tally.requests++;
      this.#fail(`connecting: ${error}`);
      await pause(PAUSE_MS);
      return undefined;
    }
  }

  /** Resolves to whether the connection can be used again. */
  async #ask(wire: Wire, line: string): Promise<boolean> {
    const { homes } = this.tally;
    const { key, endpoint } = this.#session();
    this.tally.requests++;
    try {
      const { head, status } = await wire.exchange(requestText(
        "POST",
        "/v1/chat/completions",
        { lines: [`x-session-id: ${key}`, line], body: '{"model":"m"}' },
      ));
      if (status !== 200) {
        const code = /\r\nx-tryst-error: (\S+)/.exec(head)?.[1];
        this.#fail(`status ${status} ${code}`);
      }
      const met = /\r\nx-tryst-endpoint: (\S+)/.exec(head)?.[1] ?? "none";
      const home = homes.get(key) ?? endpoint ?? met;
      homes.set(key, met);
      this.#callers.add(key);
      if (met !== home) {
        const outcome = /\r\nx-tryst-affinity: (\S+)/.exec(head)?.[1];
        this.#strayed.set(key, outcome ?? "none");
      }
      return !/\r\nconnection: close/.test(head);
    } catch (error) {
      this.#fail(`${line}: ${error}`);
      return false;
    }
  }

  #session(): { readonly key: string; readonly endpoint?: string } {
    const { sessions } = this.#options;
    const n = this.#next++;
    if (n % NEW_EVERY === 0) return { key: `later-${n}` };
    // The later ones come back as well.
    if (n % NEW_EVERY === 1) return { key: `later-${n - 1 - n % 1_000}` };
    return sessions[Math.floor(Math.random() * sessions.length)] ??
      { key: "none" };
  }

  #fail(cause: string): void {
    this.tally.failed++;
    const { causes } = this.tally;
    const isKnown = causes.has(cause) || causes.size < CAUSES_MAX;
    const kind = isKnown ? cause : "others";
    causes.set(kind, (causes.get(kind) ?? 0) + 1);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
