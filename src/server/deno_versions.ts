/**
 * What served connections lack on one version of Deno or another, in one place.
 *
 * Deno 2.9.6 and later is the target; 2.7.11 is kept working because its
 * `deno compile` can be proved without a network. On 2.7 the HTTP server
 *
 * - leaves Nagle's algorithm on, so that small events can be up to 40 ms late;
 * - lets Content-Length pass before Transfer-Encoding, and two Hosts: both are
 *   refused by `gateway/accept.ts`; behind it, it drops the length by itself;
 * - can lose an answer when the request's body has not been read;
 * - compresses answers by itself: `cache-control: no-transform` prevents it;
 * - drops what was written just before a response stream breaks, so the event
 *   that says why a stream broke may not arrive;
 * - reports a client that left only to those who listened before it left;
 * - leaves WebSockets open when it shuts down: the gateway closes its tunnels
 *   before that on every version.
 *
 * On 2.9 it makes the bodies of open requests unreadable as soon as it is told
 * to shut down (denoland/deno #36809), and keeps a connection open after an
 * answer that says `connection: close`.
 *
 * Invariant: no other file of the project asks for the version of Deno.
 *
 * @module
 */

/** How the running version's HTTP server has to be handled. */
export interface ServerQuirks {
  /** Whether answers are compressed unless marked `no-transform`. */
  readonly compressesAnswers: boolean;
  /** Whether a disconnect must be listened for from the start. */
  readonly forgetsDisconnects: boolean;
  /** Whether the last bytes before a broken end of a stream arrive. */
  readonly deliversBeforeBreak: boolean;
  /** Whether a connection stays open after an answer that says `close`. */
  readonly ignoresClose: boolean;
  /** Whether shutting down breaks request bodies that have not come whole. */
  readonly breaksUploads: boolean;
}

/** The quirks of a version such as `2.9.6`. */
export function serverQuirks(version: string): ServerQuirks {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isOld = major < 2 || (major === 2 && minor < 8);
  return {
    compressesAnswers: isOld,
    forgetsDisconnects: isOld,
    deliversBeforeBreak: !isOld,
    ignoresClose: !isOld,
    breaksUploads: !isOld,
  };
}
