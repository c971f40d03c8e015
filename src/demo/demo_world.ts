/**
 * What the demo runs: simulated engines with a gateway in front, and the same
 * again with requests sent at random, to compare with.
 *
 * Invariant: everything runs within this process on loopback, and is gone when
 * the world is disposed of.
 *
 * @module
 */
import { type Engine, startEngine } from "../../bench/engine/engine.ts";
import type { Config } from "../config/config.ts";
import { type InProcess, startInProcess } from "../wiring/in_process.ts";

/** Engines of each side. */
const ENGINE_COUNT = 3;

/** Names of the engines, and of the endpoints that lead to them. */
export const ENGINE_IDS: readonly string[] = Array.from(
  { length: ENGINE_COUNT },
  (_, index) => `gpu${index}`,
);

/** The model that the engines list. */
export const DEMO_MODEL = "demo";

/** Makes the configuration of a gateway in front of the engines. */
export type ConfigureDemo = (
  side: "sessions" | "random",
  endpoints: readonly { readonly url: string; readonly id: string }[],
) => Config;

/** A running demo. */
export interface DemoWorld extends AsyncDisposable {
  /** The gateway that knows sessions. */
  readonly gateway: InProcess;
  /** The gateway that sends every request anywhere. */
  readonly random: InProcess;
}

/** Starts both sides; resolves once all engines take work. */
export async function startDemoWorld(
  configure: ConfigureDemo,
): Promise<DemoWorld> {
  await using started = new AsyncDisposableStack();
  const gateway = await startSide("sessions", configure, started);
  const random = await startSide("random", configure, started);
  const everything = started.move();
  return {
    gateway,
    random,
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

async function startSide(
  side: "sessions" | "random",
  configure: ConfigureDemo,
  started: AsyncDisposableStack,
): Promise<InProcess> {
  const engines: Engine[] = [];
  for (const id of ENGINE_IDS) {
    // Half of the usual pace: the demo is watched, not waited for.
    const engine = await startEngine({
      id,
      models: [DEMO_MODEL],
      decodeMsPerToken: 5,
    });
    engines.push(started.use(engine));
  }
  const config = configure(
    side,
    engines.map(({ url, id }) => ({ url, id })),
  );
  const gateway = started.use(startInProcess(config, () => {}));
  await gateway.ready(ENGINE_COUNT);
  return gateway;
}
