/**
 * An engine with an answer that never ends, and a short one:
 * `endless_engine.ts --port N --unix PATH`.
 *
 * It writes at the pace of its reader and holds nothing, so that many slow
 * readers cost it no memory. Over a unix socket they cost the kernel little as
 * well: a connection on loopback buffers megabytes before anybody is held up.
 *
 * Invariant: `GET /endless` never ends; everything else is answered at once.
 *
 * @module
 */

/** One chunk of the endless answer. */
const CHUNK_BYTES = 16_384;

const encoder = new TextEncoder();

const SHORT = encoder.encode(
  "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n" +
    "content-length: 2\r\n\r\n{}",
);
const ENDLESS_HEAD = encoder.encode(
  "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n" +
    "transfer-encoding: chunked\r\n\r\n",
);
const ENDLESS_CHUNK = encoder.encode(
  `${CHUNK_BYTES.toString(16)}\r\n${"x".repeat(CHUNK_BYTES)}\r\n`,
);

if (import.meta.main) {
  const [, port, , path = ""] = Deno.args;
  accept(Deno.listen({ transport: "unix", path }));
  accept(Deno.listen({ hostname: "127.0.0.1", port: Number(port) }));
}

async function accept(listener: Deno.Listener): Promise<void> {
  for await (const conn of listener) {
    // The gateway may leave at any time.
    serve(conn).catch(() => {});
  }
}

/** Requests come one at a time and fit into one read, as they are short. */
async function serve(conn: Deno.Conn): Promise<void> {
  using open = conn;
  const buffer = new Uint8Array(65_536);
  for (;;) {
    const count = await open.read(buffer);
    if (count === null) return;
    const start = new TextDecoder().decode(buffer.subarray(0, 12));
    if (!start.startsWith("GET /endless")) {
      await write(open, SHORT);
      continue;
    }
    await write(open, ENDLESS_HEAD);
    for (;;) await write(open, ENDLESS_CHUNK);
  }
}

async function write(conn: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    at += await conn.write(bytes.subarray(at));
  }
}
