/**
 * One thing goes wrong, at every place where one can.
 *
 * In a short scenario without other faults the n-th thing asked of the network
 * fails, for n = 1, 2, 3 and so on until there are fewer (the method of
 * SQLite's out-of-memory tests). What happens once in a million requests
 * happens once here too.
 *
 * Invariant: nothing is spoiled but the n-th call, and that is logged as a
 * fault of its endpoint.
 *
 * @module
 */
import type { Dial, Socket } from "../../src/core/outside.ts";
import { problemsOf } from "./check.ts";
import { NO_FAULTS } from "./faults.ts";
import { FRAMINGS } from "./planned_answer.ts";
import type { Scenario } from "./scenario.ts";
import { FIRST_PORT, type OutsideChange } from "./site.ts";
import { runWorld } from "./world.ts";

/**
 * - `fails`: it is refused, or reset.
 * - `ends`: a read finds the end, a write is never taken, a dial hangs.
 * - `dribbles`: one byte is read or written.
 */
export const ANOMALIES = ["fails", "ends", "dribbles"] as const;

/** A way to spoil one call. */
export type Anomaly = typeof ANOMALIES[number];

/** Two sessions of two turns each, large and small, on two endpoints. */
const SCENARIO: Partial<Scenario> = {
  gatewayCount: 1,
  endpointCount: 2,
  hasTwoModels: false,
  maxInFlight: undefined,
  requestsMax: 1_000,
  onDisconnect: "abort",
  sessionCount: 2,
  turnCountMax: 2,
  thinkMsMax: 50,
  parallelTurns: 0,
  vanishing: 0,
  isBurst: true,
  idleTtlMs: 1_800_000,
  capacity: 512,
  // Where the end of a connection ends an answer, too early an end is not seen.
  framings: FRAMINGS.filter((framing) => framing !== "close"),
  faults: NO_FAULTS,
};

/** Calls of one world; the scenario makes far fewer. */
const CALLS_MAX = 10_000;

/**
 * Spoils each call in turn and returns what is wrong then; `calls` is how many
 * there were.
 */
export async function sweepAnomalies(
  seed: number,
  anomaly: Anomaly,
): Promise<{ readonly calls: number; readonly problems: readonly string[] }> {
  const problems: string[] = [];
  for (let n = 1; n <= CALLS_MAX; n++) {
    let hasStruck = false;
    const outside = spoil(n, anomaly, () => hasStruck = true);
    const events = await runWorld({ seed, scenario: SCENARIO, outside });
    problems.push(
      ...problemsOf(events).map((problem) =>
        `call ${n} ${anomaly} with seed ${seed}: ${problem}`
      ),
    );
    if (!hasStruck) return { calls: n - 1, problems };
  }
  throw new Error(`Cannot sweep more than ${CALLS_MAX} calls`);
}

/** Spoils the n-th call of the network. */
function spoil(
  n: number,
  anomaly: Anomaly,
  onStrike: () => void,
): OutsideChange {
  let calls = 0;
  return (outside, { log, isTroubled }) => {
    function strikes(endpoint: string): boolean {
      if (!isTroubled() || ++calls !== n) return false;
      onStrike();
      log.add({ kind: "fault", name: anomaly, endpoint, request: undefined });
      return true;
    }
    const dial: Dial = async (address, signal) => {
      const port = address.kind === "tcp" ? address.port : 0;
      const endpoint = `e${port - FIRST_PORT}`;
      if (strikes(endpoint)) await spoilDial(anomaly, signal);
      const socket = await outside.dial(address, signal);
      return spoiledSocket(socket, anomaly, () => strikes(endpoint));
    };
    return { ...outside, dial };
  };
}

async function spoilDial(
  anomaly: Anomaly,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (anomaly === "dribbles") return;
  if (anomaly === "fails") {
    throw new Deno.errors.ConnectionRefused("Connection refused");
  }
  await new Promise((_, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason));
  });
}

function spoiledSocket(
  socket: Socket,
  anomaly: Anomaly,
  strikes: () => boolean,
): Socket {
  function reset(): never {
    socket.close();
    throw new Deno.errors.ConnectionReset("Connection reset by peer");
  }
  return {
    async read(buffer) {
      if (!strikes()) return await socket.read(buffer);
      if (anomaly === "fails") reset();
      if (anomaly === "ends") return null;
      return await socket.read(buffer.subarray(0, 1));
    },
    async write(bytes) {
      if (!strikes()) return await socket.write(bytes);
      if (anomaly === "fails") reset();
      if (anomaly === "ends") await untilClosed(socket);
      return await socket.write(bytes.subarray(0, 1));
    },
    close: () => socket.close(),
  };
}

/** The write is not taken: it fails when the socket is closed. */
function untilClosed(socket: Socket): Promise<void> {
  const { promise, reject } = Promise.withResolvers<void>();
  const close = socket.close.bind(socket);
  socket.close = () => {
    close();
    reject(new Deno.errors.BadResource("Cannot use a closed socket"));
  };
  return promise;
}
