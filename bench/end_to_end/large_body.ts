/**
 * A large upload whose key is known early: what it costs in memory, and
 * whether the engine sees it before it is complete.
 *
 * Invariant: the upload is held back half-way until the engine has reported
 * its first bytes, so seeing them early is not a matter of luck.
 *
 * @module
 */
import { residentBytes } from "./usage.ts";

/** Bytes of the upload. */
const BODY_BYTES = 64 * 2 ** 20;

/** Bytes written at once. */
const PIECE_BYTES = 2 ** 18;

/** What an upload did. */
export interface LargeBody {
  /** The highest resident memory during it, less that before, in bytes. */
  readonly growthBytes: number;
  /** Share of the body sent when the engine had its first byte. */
  readonly sentAtFirstByte: number;
}

/** An engine that takes a body, tells when it begins, and answers. */
function swallow(onFirstByte: () => void): Deno.TcpListener {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  async function serve(conn: Deno.Conn): Promise<void> {
    using open = conn;
    const buffer = new Uint8Array(PIECE_BYTES);
    let left = BODY_BYTES;
    let head = "";
    for (;;) {
      const count = await open.read(buffer);
      if (count === null) return;
      let bodyBytes = count;
      if (!head.includes("\r\n\r\n")) {
        head += new TextDecoder("latin1").decode(buffer.subarray(0, count));
        const end = head.indexOf("\r\n\r\n");
        if (end < 0) continue;
        bodyBytes = head.length - end - 4;
        if (!/^POST /.test(head)) {
          await respond(open, '{"data":[{"id":"m"}]}');
          head = "";
          continue;
        }
      }
      if (bodyBytes > 0) onFirstByte();
      left -= bodyBytes;
      if (left > 0) continue;
      await respond(open, "{}");
      left = BODY_BYTES;
      head = "";
    }
  }
  (async () => {
    for await (const conn of listener) serve(conn).catch(() => {});
  })().catch(() => {});
  return listener;
}

async function respond(conn: Deno.Conn, body: string): Promise<void> {
  await conn.write(new TextEncoder().encode(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n` +
      `content-length: ${body.length}\r\n\r\n${body}`,
  ));
}

/** Uploads once through `port`, whose gateway is process `pid`. */
export async function uploadLargeBody(
  options: {
    readonly port: number;
    readonly pid: number;
    readonly keyPlace: "header" | "body";
    readonly firstByte: Promise<void>;
  },
): Promise<LargeBody> {
  const before = residentBytes(options.pid);
  let peak = before;
  using conn = await Deno.connect({
    hostname: "127.0.0.1",
    port: options.port,
  });
  const isInHeader = options.keyPlace === "header";
  const start = `{"model":"m"${
    isInHeader ? "" : ',"session_id":"large"'
  },"x":"`;
  const header = isInHeader ? "x-session-id: large\r\n" : "";
  await writeAll(
    conn,
    new TextEncoder().encode(
      `POST /upload HTTP/1.1\r\nhost: gateway\r\n${header}` +
        `content-type: application/json\r\ncontent-length: ${BODY_BYTES}\r\n` +
        `\r\n${start}`,
    ),
  );
  const piece = new Uint8Array(PIECE_BYTES).fill(0x78);
  let left = BODY_BYTES - start.length - 2;
  let sentAtFirstByte = 1;
  let hasBegun = false;
  options.firstByte.then(() => {
    hasBegun = true;
    sentAtFirstByte = 1 - left / BODY_BYTES;
  });
  while (left > 0) {
    if (left < BODY_BYTES / 2 && !hasBegun) await options.firstByte;
    const bytes = piece.subarray(0, Math.min(left, piece.length));
    await writeAll(conn, bytes);
    left -= bytes.length;
    peak = Math.max(peak, residentBytes(options.pid));
  }
  await writeAll(conn, new TextEncoder().encode('"}'));
  await conn.read(new Uint8Array(4_096));
  peak = Math.max(peak, residentBytes(options.pid));
  return { growthBytes: peak - before, sentAtFirstByte };
}

/** Starts the engine of this measurement; `next` resolves at a first byte. */
export function startSwallower(): {
  readonly port: number;
  readonly next: () => Promise<void>;
  readonly close: () => void;
} {
  let onFirstByte = () => {};
  const listener = swallow(() => onFirstByte());
  return {
    port: listener.addr.port,
    next: () => new Promise((resolve) => onFirstByte = resolve),
    close: () => listener.close(),
  };
}

async function writeAll(conn: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    at += await conn.write(bytes.subarray(at));
  }
}
