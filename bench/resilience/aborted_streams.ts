/**
 * Thousands of streams whose clients leave after the first event.
 *
 * Invariant: the warm-up is of the same kind as what is measured, so that only
 * what streams leave behind can make a difference.
 *
 * @module
 */
import { residentBytes } from "../end_to_end/usage.ts";
import { type Gateway, startEngineProcess, startGateway } from "./programs.ts";
import { socketsLeft } from "./sockets.ts";
import { requestText, Wire } from "./wire.ts";

/**
 * Heaps grow with whatever runs until they have found their size, and later
 * with what is left behind: the warm-up ends once so many streams have added
 * less than a hundredth, or after so many blocks of them.
 */
const WARM_UP = { streams: 5_000, growthMax: 0.01, blocksMax: 8 };
const STREAMS = 10_000;

/** Streams at once. */
const CLIENTS = 64;

/** Sockets to engines must be gone by then; idle ones have 4 s. */
const SOCKETS_WITHIN_MS = 8_000;

/** Memory is the lowest of some looks, as collections come when they come. */
const LOOKS = 20;
const LOOK_PAUSE_MS = 100;

/** What a run left behind. */
export interface AbortedStreams {
  readonly streams: number;
  readonly warmUpStreams: number;
  readonly beforeBytes: number;
  readonly afterBytes: number;
  readonly sockets: number;
  readonly seconds: number;
}

/** Measures once. */
export async function measureAbortedStreams(
  binary: string | undefined,
): Promise<AbortedStreams> {
  await using stack = new AsyncDisposableStack();
  const engines = [];
  for (let n = 0; n < 2; n++) {
    engines.push(stack.use(
      await startEngineProcess(new URL("../engine/main.ts", import.meta.url), [
        ...["--batch-max", "1024", "--decode-ms-per-token", "20"],
      ]),
    ));
  }
  const gateway = stack.use(
    await startGateway({
      binary,
      workers: 2,
      config: [
        "endpoints:",
        ...engines.map(({ port }) => `  - http://127.0.0.1:${port}`),
        // Probes would be counted as sockets that are left.
        "health: { interval: 1h }",
      ],
    }),
  );
  const ports = engines.map(({ port }) => port);
  const { warmUpStreams, beforeBytes } = await warmUp(gateway);
  const startedAt = performance.now();
  await abortStreams(gateway.port, STREAMS);
  const seconds = (performance.now() - startedAt) / 1_000;
  const sockets = await socketsLeft(ports, SOCKETS_WITHIN_MS);
  const afterBytes = await lowestResidentBytes(gateway.pid);
  return {
    streams: STREAMS,
    warmUpStreams,
    beforeBytes,
    afterBytes,
    sockets,
    seconds,
  };
}

async function warmUp(
  gateway: Gateway,
): Promise<Pick<AbortedStreams, "warmUpStreams" | "beforeBytes">> {
  let beforeBytes = 0;
  for (let block = 1;; block++) {
    await abortStreams(gateway.port, WARM_UP.streams);
    const bytes = await lowestResidentBytes(gateway.pid);
    const hasSettled = bytes <= beforeBytes * (1 + WARM_UP.growthMax);
    beforeBytes = bytes;
    if (hasSettled || block === WARM_UP.blocksMax) {
      return { warmUpStreams: block * WARM_UP.streams, beforeBytes };
    }
  }
}

async function abortStreams(port: number, count: number): Promise<void> {
  let left = count;
  async function client(): Promise<void> {
    while (left > 0) await abortStream(port, left--);
  }
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

async function abortStream(port: number, n: number): Promise<void> {
  using wire = await Wire.connect(port);
  await wire.send(requestText("POST", "/v1/chat/completions", {
    body: JSON.stringify({
      model: "sim",
      stream: true,
      max_tokens: 1_000,
      session_id: `session-${n % 256}`,
      messages: [{ role: "user", content: `Tell me of number ${n}.` }],
    }),
  }));
  let text = "";
  while (!text.includes("\ndata: ")) {
    const piece = await wire.receive();
    if (piece === undefined) {
      throw new Error(`Cannot measure: a stream ended after "${text}"`);
    }
    text += piece;
  }
}

async function lowestResidentBytes(pid: number): Promise<number> {
  let lowest = Infinity;
  for (let look = 0; look < LOOKS; look++) {
    lowest = Math.min(lowest, residentBytes(pid));
    await new Promise((resolve) => setTimeout(resolve, LOOK_PAUSE_MS));
  }
  return lowest;
}
