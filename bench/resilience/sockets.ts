/**
 * Sockets as Linux lists them.
 *
 * Invariant: sockets that wait out their time (TIME_WAIT) are nobody's and do
 * not count.
 *
 * @module
 */

/** States of `/proc/net/tcp`: TIME_WAIT, CLOSE, LISTEN. */
const HELD_BY_NOBODY: ReadonlySet<string> = new Set(["06", "07", "0A"]);

/** Connections on loopback to one of these ports, counted at their clients. */
export function socketsTo(ports: readonly number[]): number {
  return Deno.readTextFileSync("/proc/net/tcp").split("\n").slice(1)
    .filter((line) => {
      const [, , remote = "", state = ""] = line.trim().split(/\s+/);
      const port = parseInt(remote.slice(remote.indexOf(":") + 1), 16);
      return ports.includes(port) && !HELD_BY_NOBODY.has(state);
    }).length;
}

/** Looks until there is none or the time is up; how many are left. */
export async function socketsLeft(
  ports: readonly number[],
  withinMs: number,
): Promise<number> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const count = socketsTo(ports);
    if (count === 0 || performance.now() > deadline) return count;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
