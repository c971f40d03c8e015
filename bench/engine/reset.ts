/**
 * Resets a TCP connection, which Deno has no call for.
 *
 * Closing sends a FIN first, whatever is unread or lingers. What does send a
 * reset at once is to dissolve the association of a connected socket, that is
 * `connect(2)` with `AF_UNSPEC` (Linux, tcp(7)). The socket's descriptor is
 * found by its pair of addresses.
 *
 * Invariant: no descriptor is closed here, so Deno's own close stays right.
 *
 * @module
 */

const SYMBOLS = {
  getpeername: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  getsockname: { parameters: ["i32", "buffer", "buffer"], result: "i32" },
  connect: { parameters: ["i32", "buffer", "u32"], result: "i32" },
} as const;

/** Room for any socket address (`sockaddr_storage`). */
const ADDRESS_BYTES = 128;
/** An address of the family `AF_UNSPEC`, which is 0. */
const UNSPECIFIED_BYTES = 16;

type GetName = (
  descriptor: number,
  address: Uint8Array<ArrayBuffer>,
  length: Uint32Array<ArrayBuffer>,
) => number;

/**
 * Resets `conn`; the caller still closes it.
 *
 * @throws {Error} when the connection is not TCP or not found, and where the
 *   system is not Linux with glibc.
 */
export function resetConnection(conn: Deno.Conn): void {
  const { localAddr, remoteAddr } = conn;
  if (localAddr.transport !== "tcp" || remoteAddr.transport !== "tcp") {
    throw new Error(
      `Cannot reset a connection over "${localAddr.transport}": ` +
        `only TCP has resets`,
    );
  }
  const library = Deno.dlopen("libc.so.6", SYMBOLS);
  try {
    const { getpeername, getsockname, connect } = library.symbols;
    for (const { name } of Deno.readDirSync("/proc/self/fd")) {
      const descriptor = Number(name);
      if (
        portOf(getpeername, descriptor) === remoteAddr.port &&
        portOf(getsockname, descriptor) === localAddr.port &&
        connect(
            descriptor,
            new Uint8Array(UNSPECIFIED_BYTES),
            UNSPECIFIED_BYTES,
          ) === 0
      ) return;
    }
  } finally {
    library.close();
  }
  throw new Error(
    `Cannot find the connection of port ${remoteAddr.port} to reset it`,
  );
}

/** The port of one side; -1 when the descriptor is no connected socket. */
function portOf(getName: GetName, descriptor: number): number {
  const address = new Uint8Array(ADDRESS_BYTES);
  const length = Uint32Array.of(ADDRESS_BYTES);
  if (getName(descriptor, address, length) !== 0) return -1;
  // Both `sockaddr_in` and `sockaddr_in6` have the port at byte 2, big-endian.
  return ((address[2] ?? 0) << 8) | (address[3] ?? 0);
}
