/**
 * Everything Tryst asks of the outside world, as interfaces.
 *
 * Invariant: `core`, `policies`, `session_keys`, `config`, `upstream` and
 * `gateway` reach time, chance, the network and the log only through these, so
 * that two gateways can run in one process on one virtual clock.
 *
 * @module
 */

/** The passing of time. */
export interface Clock {
  /** Milliseconds since the Unix epoch, never going backwards. */
  nowMs(): number;
  /**
   * Calls `callback` once after `delayMs`; the returned function calls it off.
   * Both a fired and a called-off timer may be called off again.
   */
  after(delayMs: number, callback: () => void): () => void;
}

/** How an endpoint's TLS is verified; files are read at every connection. */
export interface UpstreamTls {
  /** PEM certificates trusted besides the system's own. */
  readonly caFile: string | undefined;
  /** The name in its certificate; that of its address unless given. */
  readonly serverName: string | undefined;
  /** PEM, what the gateway shows of itself; with `keyFile`. */
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
  /** Verifies nothing: whoever is on the way can read and answer. */
  readonly insecure: boolean;
}

/** Where an endpoint can be reached. */
export type Address =
  | {
    readonly kind: "tcp";
    readonly hostname: string;
    readonly port: number;
    readonly tls: boolean;
    /** As usual for TLS unless given. */
    readonly trust?: UpstreamTls;
  }
  | { readonly kind: "unix"; readonly path: string };

/** A connected byte stream. */
export interface Socket {
  /** Reads into `buffer`; `null` at the end of the stream. */
  read(buffer: Uint8Array): Promise<number | null>;
  /** Writes some of `bytes`, at least one; resolves to how many. */
  write(bytes: Uint8Array): Promise<number>;
  /** Closes both directions; pending reads and writes reject. Idempotent. */
  close(): void;
}

/**
 * Opens a connection; rejects with the operating system's error. When `signal`
 * aborts it gives up at once: connecting to a machine that is gone would go on
 * for minutes.
 */
export type Dial = (address: Address, signal?: AbortSignal) => Promise<Socket>;

/** How much a log event matters. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** Values a log event may carry; never a session key, prompt or credential. */
export type LogFields = Readonly<
  Record<string, string | number | boolean | undefined>
>;

/** Takes events. */
export interface Log {
  /** Takes one: a dotted name such as `endpoint.ready`, and its fields. */
  (level: LogLevel, event: string, fields?: LogFields): void;
  /**
   * Whether events of level `debug` are kept. Who would say much, and often,
   * asks first, each time anew; absent means no.
   */
  readonly takesDebug?: boolean;
}

/** The outside world of one gateway. */
export interface Outside {
  readonly clock: Clock;
  /** A number in [0, 1), as `Math.random`. */
  readonly random: () => number;
  readonly dial: Dial;
  readonly log: Log;
}
