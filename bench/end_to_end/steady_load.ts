/**
 * A steady load: requests leave when they are due, whether or not earlier ones
 * have been answered, and are timed from when they were due.
 *
 * A closed loop, as wrk's, waits when the program under test is slow and so
 * hides what people would feel (coordinated omission).
 *
 * Invariant: a request that finds no free connection waits for one, and its
 * wait counts.
 *
 * @module
 */
import { setImmediate } from "node:timers";

/** What to send. */
export interface SteadyOptions {
  readonly port: number;
  readonly requestsPerSecond: number;
  readonly seconds: number;
  readonly connections: number;
}

const encoder = new TextEncoder();

/** The end of the fixed answer of the stand-in: its body closes so. */
const ANSWER_END = encoder.encode("}]}");

/** Times from due to first byte, in milliseconds, sorted. */
export async function steadyLoad(
  options: SteadyOptions,
): Promise<readonly number[]> {
  const times: number[] = [];
  const due: number[] = [];
  const waiting: (() => void)[] = [];
  let isOver = false;
  const bytes = Array.from({ length: 64 }, (_, n) => requestBytes(n));
  let sent = 0;

  async function connection(): Promise<void> {
    using conn = await Deno.connect({
      hostname: "127.0.0.1",
      port: options.port,
    });
    conn.setNoDelay(true);
    const buffer = new Uint8Array(16_384);
    for (;;) {
      if (due.length === 0) {
        if (isOver) return;
        await new Promise<void>((resolve) => waiting.push(resolve));
        continue;
      }
      const dueAt = due.shift() ?? 0;
      const request = bytes[sent++ % bytes.length] ?? new Uint8Array();
      await conn.write(request);
      let isFirst = true;
      for (;;) {
        const count = await conn.read(buffer);
        if (count === null) throw new Error("Cannot measure: connection ended");
        if (isFirst) times.push(performance.now() - dueAt);
        isFirst = false;
        if (endsAnswer(buffer.subarray(0, count))) break;
      }
    }
  }

  const connections = Array.from({ length: options.connections }, connection);
  const startedAt = performance.now();
  const total = options.requestsPerSecond * options.seconds;
  for (let n = 0; n < total;) {
    const now = performance.now();
    const dueCount = (now - startedAt) * options.requestsPerSecond / 1_000;
    for (; n < Math.min(dueCount, total); n++) {
      due.push(startedAt + n * 1_000 / options.requestsPerSecond);
      waiting.shift()?.();
    }
    // Timers come a millisecond late and would send requests in bursts.
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  isOver = true;
  for (const wake of waiting) wake();
  await Promise.all(connections);
  return times.sort((a, b) => a - b);
}

function requestBytes(n: number): Uint8Array {
  const body = JSON.stringify({
    model: "m",
    messages: [{ role: "user", content: "lorem ipsum dolor ".repeat(48) }],
    session_id: `session-${n}`,
  });
  return encoder.encode(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n` +
      `\r\n${body}`,
  );
}

function endsAnswer(bytes: Uint8Array): boolean {
  return ANSWER_END.every((byte, index) =>
    bytes[bytes.length - ANSWER_END.length + index] === byte
  );
}
