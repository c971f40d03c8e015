/**
 * The configured client of engines.
 *
 * Invariant: two configurations of the same timeouts make the same client, so
 * that its idle connections outlive a change of anything else.
 *
 * @module
 */
import type { Config } from "../config/config.ts";
import type { Outside } from "../core/outside.ts";
import { UpstreamClient } from "../upstream/client.ts";

/** Whether both configurations make the same client. */
export function haveSameTimeouts(one: Config, other: Config): boolean {
  return one.timeouts.connectMs === other.timeouts.connectMs &&
    one.timeouts.firstByteMs === other.timeouts.firstByteMs &&
    one.timeouts.idleMs === other.timeouts.idleMs;
}

/** The client of a checked configuration. */
export function upstreamOf(config: Config, outside: Outside): UpstreamClient {
  const { connectMs, firstByteMs, idleMs } = config.timeouts;
  return new UpstreamClient(outside, {
    connectMs,
    firstByteMs,
    // The configuration says `none` where the client wants a number.
    idleMs: idleMs ?? Infinity,
  });
}
