/**
 * The HTTP/1.1 client that speaks to endpoints (RFC 9110, RFC 9112).
 *
 * `fetch` would resend POSTs, rewrite targets and headers and decode bodies on
 * its own account; this client does what it is told and says what happened.
 *
 * Invariant: after `close()` nothing of it is open or pending. Its one timer
 * runs only while something is in flight or idle. What is in flight is bounded
 * by whoever admits requests, what is idle by the pool.
 *
 * @module
 */
import type { Outside } from "../core/outside.ts";
import { Roster } from "../core/roster.ts";
import {
  Exchange,
  type ExchangeHost,
  type UpstreamExchange,
} from "./exchange.ts";
import { FieldTexts } from "./field_text.ts";
import { IDLE_MS_MAX, IdlePool } from "./idle_pool.ts";
import type { SilenceLimits } from "./silence_watch.ts";
import { type UpstreamRequest, WriteBuffers } from "./upstream_request.ts";

export type { UpstreamExchange } from "./exchange.ts";
export { UpstreamError, type UpstreamErrorKind } from "./upstream_error.ts";
export type { UpstreamBody, UpstreamRequest } from "./upstream_request.ts";
export type { UpstreamResponse } from "./upstream_response.ts";

/** 3 s: a reachable machine accepts in milliseconds, with TLS in some more. */
const CONNECT_MS = 3_000;

/** 300 s: no engine is silent for so long between two tokens. */
const IDLE_MS = 300_000;

/** 1 s: how coarse limits of minutes may be; each sweep visits everything. */
const SWEEP_MS_MAX = 1_000;

/** Limits under a few seconds are kept to within half of themselves. */
const SWEEPS_PER_LIMIT = 4;

/** Limits of silence in milliseconds; see `SilenceLimits`. */
export interface UpstreamClientOptions {
  /** 3,000 by default. */
  readonly connectMs?: number | undefined;
  /** None by default: a long prefill is silent for many minutes. */
  readonly firstByteMs?: number | undefined;
  /** 300,000 by default. */
  readonly idleMs?: number | undefined;
}

/** Sends requests to endpoints and keeps connections for the next ones. */
export class UpstreamClient {
  readonly #host: ExchangeHost;
  readonly #active = new Roster<Exchange>();
  readonly #sweepMs: number;
  #stopTimer: (() => void) | undefined;
  #isClosed = false;

  constructor(
    outside: Pick<Outside, "clock" | "dial">,
    options: UpstreamClientOptions = {},
  ) {
    const limits: SilenceLimits = {
      connectMs: options.connectMs ?? CONNECT_MS,
      firstByteMs: options.firstByteMs,
      idleMs: options.idleMs ?? IDLE_MS,
    };
    this.#sweepMs = sweepMs(limits);
    this.#host = {
      clock: outside.clock,
      dial: outside.dial,
      limits,
      pool: new IdlePool(),
      texts: new FieldTexts(),
      buffers: new WriteBuffers(),
      count: { open: 0 },
      settled: (exchange) => this.#active.delete(exchange),
    };
  }

  /** Connections that wait for a request. */
  get idleCount(): number {
    return this.#host.pool.count;
  }

  /** Open connections, the idle ones included. */
  get openCount(): number {
    return this.#host.count.open;
  }

  /** Requests that are not over, response bodies included. */
  get inFlightCount(): number {
    return this.#active.size;
  }

  /**
   * Sends `request` on its way.
   *
   * @throws {TypeError} when its head may not be sent; then nothing was.
   * @throws {Error} when the client is closed.
   */
  start(request: UpstreamRequest): UpstreamExchange {
    if (this.#isClosed) {
      throw new Error("Cannot start a request: the client is closed");
    }
    const exchange = new Exchange(this.#host, request);
    this.#active.add(exchange);
    exchange.run();
    if (this.#stopTimer === undefined) this.#sweepLater();
    return exchange;
  }

  /** Aborts what is in flight and closes every connection. */
  close(): void {
    this.#isClosed = true;
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#active.forEach((exchange) => exchange.abort());
    this.#host.pool.close();
  }

  #sweepLater(): void {
    this.#stopTimer = this.#host.clock.after(this.#sweepMs, () => {
      const nowMs = this.#host.clock.nowMs();
      this.#stopTimer = undefined;
      this.#host.pool.sweep(nowMs);
      this.#active.forEach((exchange) => exchange.check(nowMs));
      if (this.#active.size > 0 || this.idleCount > 0) this.#sweepLater();
    });
  }
}

function sweepMs({ connectMs, firstByteMs, idleMs }: SilenceLimits): number {
  const shortest = Math.min(
    connectMs,
    firstByteMs ?? Infinity,
    idleMs,
    IDLE_MS_MAX,
  );
  return Math.min(SWEEP_MS_MAX, Math.ceil(shortest / SWEEPS_PER_LIMIT));
}
