/**
 * Clients that hold connections and hardly use them, in a process of their
 * own: `slow_clients_process.ts PORT IDLE READERS`.
 *
 * Each idle client has made one request and keeps its connection; each reader
 * takes 1 KiB a second of an endless answer. It says "held" once all are
 * there, and ends with its standard input.
 *
 * Invariant: a client whose connection ends ends the process with a failure.
 *
 * @module
 */
import { requestText, Wire } from "./wire.ts";

/** What a slow reader takes at once, and how often, in milliseconds. */
const READ_BYTES = 1_024;
const READ_PAUSE_MS = 1_000;

/** Connections that are opened at once. */
const OPENING = 32;

async function holdIdle(port: number): Promise<void> {
  const wire = await Wire.connect(port);
  const { status } = await wire.exchange(requestText("GET", "/"));
  if (status !== 200) throw new Error(`Cannot hold: status ${status}`);
}

async function holdReading(port: number): Promise<void> {
  const conn = await Deno.connect({ hostname: "127.0.0.1", port });
  await conn.write(new TextEncoder().encode(requestText("GET", "/endless")));
  const buffer = new Uint8Array(READ_BYTES);
  if (await conn.read(buffer) === null) throw new Error("Cannot hold: it ends");
  // Not all at the same moment.
  setTimeout(() => read(conn, buffer), Math.random() * READ_PAUSE_MS);
}

async function read(
  conn: Deno.Conn,
  buffer: Uint8Array,
): Promise<void> {
  for (;;) {
    if (await conn.read(buffer) === null) {
      throw new Error("Cannot go on reading: an endless answer has ended");
    }
    await new Promise((resolve) => setTimeout(resolve, READ_PAUSE_MS));
  }
}

/** Does something `count` times, a few at once. */
async function times(count: number, hold: () => Promise<void>): Promise<void> {
  let left = count;
  async function lane(): Promise<void> {
    while (left-- > 0) await hold();
  }
  await Promise.all(Array.from({ length: OPENING }, lane));
}

async function main(port: number, idle: number, readers: number) {
  await times(idle, () => holdIdle(port));
  await times(readers, () => holdReading(port));
  Deno.stdout.writeSync(new TextEncoder().encode("held\n"));
  for await (const _bytes of Deno.stdin.readable);
  Deno.exit(0);
}

if (import.meta.main) {
  const [port, idle, readers] = Deno.args.map(Number);
  await main(port ?? 0, idle ?? 0, readers ?? 0);
}
