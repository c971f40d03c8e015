/**
 * `tryst demo`: conversations sticking to simulated engines, to be watched.
 *
 * Invariant: it needs nothing else on the machine, and after the conversations
 * it goes on serving until it is told to stop.
 *
 * @module
 */
import type { Config } from "../config/config.ts";
import { complaintsText, parseConfig } from "../config/parse.ts";
import { playConversations } from "../demo/conversations.ts";
import { drawDemoTable, redraw } from "../demo/demo_table.ts";
import { DemoTally } from "../demo/demo_tally.ts";
import {
  DEMO_MODEL,
  type DemoWorld,
  ENGINE_IDS,
  startDemoWorld,
} from "../demo/demo_world.ts";
import { SignalQueue } from "../system/signals.ts";
import { type Command, EXIT } from "./command.ts";
import type { Edge } from "./edge.ts";
import { LISTEN_FLAG } from "./flags.ts";
import { LOAD_NAMES } from "./load_names.ts";

/** Where the demo listens unless it is told otherwise. */
const LISTEN = "127.0.0.1:8080";

/** Conversations played on each side, a few more than engines can share. */
const CONVERSATION_COUNT = 12;

/** Turns of each: enough for a history to be worth keeping. */
const TURN_COUNT = 6;

/** Conversations at once: all, as people do not wait for each other. */
const CONCURRENCY = CONVERSATION_COUNT;

/** Columns of a terminal that does not say. */
const COLUMNS = 80;

/** The command. */
export const demoCommand: Command = {
  name: "demo",
  summary: "Run the gateway before three simulated engines and watch it",
  flags: [LISTEN_FLAG],
  async run(args, edge) {
    const listen = args.values.get(LISTEN_FLAG.name)?.[0] ??
      edge.env(LISTEN_FLAG.env) ?? LISTEN;
    const config = demoConfig(listen, []);
    if (typeof config === "string") {
      edge.err(config);
      return EXIT.refused;
    }
    return await runDemo(listen, edge);
  },
};

async function runDemo(listen: string, edge: Edge): Promise<number> {
  const signals = new SignalQueue(["SIGINT", "SIGTERM"]);
  const stopping = new AbortController();
  const stopped = signals.next().then(() => stopping.abort());
  try {
    await using world = await startDemoWorld((side, endpoints) => {
      const config = demoConfig(
        side === "sessions" ? listen : "127.0.0.1:0",
        endpoints,
        side === "random",
      );
      if (typeof config === "string") throw new Error(config);
      return config;
    });
    const { url } = world.gateway;
    edge.out(
      `Tryst listens on ${url} before ${ENGINE_IDS.length} simulated engines\n`,
    );
    await play(world, edge, stopping.signal);
    if (!stopping.signal.aborted) edge.out(invitation(url));
    await stopped;
    return EXIT.ok;
  } catch (error) {
    edge.err(
      `Cannot run the demo: ${error instanceof Error ? error.message : error}`,
    );
    return EXIT.failed;
  } finally {
    signals.close();
  }
}

/** Plays both sides at once and shows the table, live on a terminal. */
async function play(
  world: DemoWorld,
  edge: Edge,
  signal: AbortSignal,
): Promise<void> {
  const tally = new DemoTally(ENGINE_IDS);
  const isTerminal = Deno.stdout.isTerminal();
  const encoder = new TextEncoder();
  let drawn = 0;
  function draw(): readonly string[] {
    return drawDemoTable(tally.state(), {
      hasColors: isTerminal && !Deno.noColor,
      columns: isTerminal ? Deno.consoleSize().columns : COLUMNS,
    });
  }
  function show(): void {
    if (!isTerminal) return;
    const lines = draw();
    Deno.stdout.writeSync(encoder.encode(redraw(lines, drawn)));
    drawn = lines.length;
  }
  const common = {
    model: DEMO_MODEL,
    conversationCount: CONVERSATION_COUNT,
    turnCount: TURN_COUNT,
    concurrency: CONCURRENCY,
    signal,
  };
  const known = playConversations({
    ...common,
    baseUrl: world.gateway.url,
    keyPlace: "mixed",
    name: "known",
  });
  const random = playConversations({
    ...common,
    baseUrl: world.random.url,
    keyPlace: "none",
    name: "random",
  });
  await Promise.all([
    forEach(known, (event) => (tally.addKnown(event), show())),
    forEach(random, (event) => (tally.addRandom(event), show())),
  ]);
  if (!isTerminal) edge.out(draw().join("\n"));
}

async function forEach<T>(
  events: AsyncIterable<T>,
  take: (event: T) => void,
): Promise<void> {
  for await (const event of events) take(event);
}

/** The configuration of one side, or what is wrong with `listen`. */
function demoConfig(
  listen: string,
  endpoints: readonly { readonly url: string; readonly id: string }[],
  isRandom = false,
): Config | string {
  const result = parseConfig({
    listen,
    endpoints,
    ...(isRandom ? { session: { fallback: "random" } } : {}),
  }, { names: LOAD_NAMES });
  return result.kind === "accepted"
    ? result.config
    : complaintsText(result.complaints);
}

/** What a person can try now. */
function invitation(url: string): string {
  return `
Still serving. Try it, and look at x-tryst-endpoint and x-tryst-affinity:

  curl -i ${url}/v1/chat/completions -d '{
    "model": "${DEMO_MODEL}",
    "messages": [{"role": "user", "content": "Hello"}],
    "session_id": "my-conversation"}'

Ctrl-C ends it.`;
}
