/**
 * How long an endpoint may be silent, by what it is being waited for.
 *
 * A timer per read would cost more than the read. Instead whatever moves sets
 * a flag, and one sweep over all exchanges, now and then, turns flags into
 * points in time: a limit is kept to within two sweeps, and never early.
 *
 * Invariant: only waiting for the endpoint counts. While the client is slow to
 * send or to read, nothing here runs out; that patience is the listener's.
 *
 * @module
 */
import type { StreamedBody } from "./streamed_body.ts";
import type { Upload } from "./upload.ts";
import type { UpstreamErrorKind } from "./upstream_error.ts";

/**
 * 1 s for a refusal to arrive after the endpoint has stopped reading: it was
 * sent before the connection broke, so it is already on this machine.
 */
const LAST_WORDS_MS_MAX = 1_000;

/** Limits of silence, in milliseconds. */
export interface SilenceLimits {
  /** To open a connection, TLS included. */
  readonly connectMs: number;
  /** From the whole request to the first byte; `undefined` for no limit. */
  readonly firstByteMs: number | undefined;
  /** Between bytes, of a response or of an upload that is being taken. */
  readonly idleMs: number;
}

/** What an exchange is waiting for. */
export interface Waiting {
  readonly isConnecting: boolean;
  readonly upload: Upload | undefined;
  readonly body: StreamedBody | undefined;
  /** Whether part of the response has come, short of a body. */
  readonly hasBegun: boolean;
  /** Whether the endpoint has stopped taking the request. */
  readonly isWriteBroken: boolean;
}

/** A limit that has run out. */
export interface Silence {
  readonly kind: UpstreamErrorKind;
  /** What did not happen in time: follows "Cannot complete the request: ". */
  readonly reason: string;
}

/** Watches one exchange. */
export class SilenceWatch {
  #hasMoved = true;
  #sinceMs = 0;
  readonly #limits: SilenceLimits;

  constructor(limits: SilenceLimits) {
    this.#limits = limits;
  }

  /** Something has got on. */
  moved(): void {
    this.#hasMoved = true;
  }

  /** Counts from a point in time that is known; for waits that are short. */
  startAt(nowMs: number): void {
    this.#hasMoved = false;
    this.#sinceMs = nowMs;
  }

  /** The limit that has run out by `nowMs`, if any. */
  check(nowMs: number, waiting: Waiting): Silence | undefined {
    const limit = this.#limit(waiting);
    const { upload } = waiting;
    if (limit === undefined || this.#hasMoved || upload?.hasMoved) {
      this.startAt(nowMs);
      if (upload !== undefined) upload.hasMoved = false;
      return undefined;
    }
    return nowMs - this.#sinceMs < limit.ms ? undefined : limit;
  }

  #limit(waiting: Waiting): (Silence & { ms: number }) | undefined {
    const { connectMs, firstByteMs, idleMs } = this.#limits;
    const { body, upload } = waiting;
    if (waiting.isConnecting) {
      return {
        ms: connectMs,
        kind: "connect_timeout",
        reason: `the endpoint did not accept within ${connectMs} ms`,
      };
    }
    if (waiting.isWriteBroken) {
      return {
        ms: LAST_WORDS_MS_MAX,
        kind: "reset",
        reason: "the endpoint stopped taking it",
      };
    }
    const isIdle = upload?.isWriting === true ||
      (body === undefined ? waiting.hasBegun : body.isAwaited);
    if (isIdle) {
      return {
        ms: idleMs,
        kind: "idle_timeout",
        reason: `the endpoint was silent for ${idleMs} ms`,
      };
    }
    const isResponseDue = body === undefined && upload?.isDone === true;
    if (firstByteMs === undefined || !isResponseDue) return undefined;
    return {
      ms: firstByteMs,
      kind: "first_byte_timeout",
      reason: `the endpoint sent nothing within ${firstByteMs} ms`,
    };
  }
}
