/**
 * Ten times the requests that fit.
 *
 * What fits is measured first, by as many clients as there are places, each
 * sending one request after another.
 *
 * Invariant: the same gateway and engines meet both loads.
 *
 * @module
 */
import { median, openLoop } from "./open_loop.ts";
import { startEngineProcess, startGateway } from "./programs.ts";
import { requestText, Wire } from "./wire.ts";

const ENGINES = 2;
const IN_FLIGHT_MAX = 10;

/** Tokens of an answer, and the engine's time for each. */
const TOKENS = 10;
const TOKEN_MS = 10;

const SECONDS = 5;
const OVERLOAD = 10;

/** More than are ever in flight while refusals are quick. */
const CONNECTIONS = 128;

/** What came of it. */
export interface Overload {
  /** Answers a second that fit. */
  readonly capacity: number;
  readonly offered: number;
  /** Answers a second under overload. */
  readonly goodput: number;
  readonly refused: number;
  /** Median from due to the end of the refusal, in milliseconds. */
  readonly refusalMs: number;
  /** Neither answered nor refused. */
  readonly failed: number;
}

const REQUEST = requestText("POST", "/v1/chat/completions", {
  body: JSON.stringify({
    model: "sim",
    max_tokens: TOKENS,
    messages: [{ role: "user", content: "hello" }],
  }),
});

/** Measures once. */
export async function measureOverload(
  binary: string | undefined,
): Promise<Overload> {
  await using stack = new AsyncDisposableStack();
  const ports: number[] = [];
  for (let n = 0; n < ENGINES; n++) {
    const engine = await startEngineProcess(
      new URL("../engine/main.ts", import.meta.url),
      [
        ...["--decode-ms-per-token", String(TOKEN_MS)],
        ...["--prefill-ms-per-token", "0"],
      ],
    );
    stack.use(engine);
    ports.push(engine.port);
  }
  const gateway = stack.use(
    await startGateway({
      binary,
      workers: 1,
      config: [
        "endpoints:",
        ...ports.map((port) =>
          `  - { url: "http://127.0.0.1:${port}", ` +
          `max_in_flight: ${IN_FLIGHT_MAX} }`
        ),
      ],
    }),
  );
  await closedLoop(gateway.port, 1);
  const capacity = await closedLoop(gateway.port, SECONDS);
  const offered = Math.round(capacity * OVERLOAD);
  const outcomes = await openLoop({
    port: gateway.port,
    requestsPerSecond: offered,
    seconds: SECONDS,
    connections: CONNECTIONS,
    request: () => REQUEST,
  });
  const of = (status: number) =>
    outcomes.filter(({ answer }) => answer?.status === status);
  const refused = of(429);
  // What is still on its way when the load ends was not done within it.
  const inTime = of(200).filter(({ endedAtMs }) =>
    endedAtMs <= SECONDS * 1_000
  );
  return {
    capacity,
    offered,
    goodput: inTime.length / SECONDS,
    refused: refused.length,
    refusalMs: median(refused.map(({ ms }) => ms)),
    failed: outcomes.length - of(200).length - refused.length,
  };
}

/** Answers a second with as many clients as there are places. */
async function closedLoop(port: number, seconds: number): Promise<number> {
  const endsAt = performance.now() + seconds * 1_000;
  let count = 0;
  async function client(): Promise<void> {
    using wire = await Wire.connect(port);
    while (performance.now() < endsAt) {
      const { status } = await wire.exchange(REQUEST);
      if (status === 200 && performance.now() <= endsAt) count += 1;
    }
  }
  await Promise.all(
    Array.from({ length: ENGINES * IN_FLIGHT_MAX }, client),
  );
  return count / seconds;
}
