/**
 * Listening with the address in the complaint: what the operating system says
 * names none, and a gateway has up to three.
 *
 * Invariant: what is listened with is the caller's; nothing is tried twice.
 *
 * @module
 */
import type { ListenAddress } from "../config/config.ts";

/**
 * Runs `listen`, which listens at an address.
 *
 * @param key The key of the configuration that the address comes from.
 * @throws {Error} that names key and address, for what is wrong with these;
 * a `TypeError` of the caller's as it is.
 */
export function listeningAt<Listening>(
  key: string,
  { hostname, port }: ListenAddress,
  listen: () => Listening,
): Listening {
  try {
    return listen();
  } catch (cause) {
    if (cause instanceof TypeError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    const host = hostname.includes(":") ? `[${hostname}]` : hostname;
    throw new Error(
      `Cannot listen at "${key}", which is ${host}:${port}: ${reason}`,
      { cause },
    );
  }
}
