/**
 * Where the programs of a measurement run: their processors and ports.
 *
 * Invariant: a port is free when it is given out, and the kernel gives it to
 * nobody by itself.
 *
 * @module
 */
/** Below the ports that the kernel gives to clients, so that none takes one. */
const PORTS = { min: 20_000, max: 30_000 };

/**
 * Lists of processors, as `taskset` takes them: a gateway of one worker has one
 * to itself, and all else the other.
 */
export const CPUS = { gateway: "0", load: "1", both: "0-1" };

/** A port on loopback that nobody has at the moment. */
export function freePort(): number {
  for (;;) {
    const port = PORTS.min +
      Math.floor(Math.random() * (PORTS.max - PORTS.min));
    try {
      Deno.listen({ hostname: "127.0.0.1", port }).close();
      return port;
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
  }
}
