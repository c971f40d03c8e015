/**
 * An upstream client and a scripted server, over real sockets.
 *
 * Invariant: both are closed when the test is over, however it ends.
 *
 * @module
 */
import type { Clock } from "../src/core/outside.ts";
import { createDial } from "../src/system/dial.ts";
import {
  UpstreamClient,
  type UpstreamExchange,
  type UpstreamRequest,
  type UpstreamResponse,
} from "../src/upstream/client.ts";
import { type Peer, ScriptedServer } from "./scripted_server.ts";

const decoder = new TextDecoder();

const clock: Clock = {
  nowMs: () => performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};

/** Sends a POST of two bytes, or what is said otherwise. */
export type Send = (changes?: Partial<UpstreamRequest>) => UpstreamExchange;

/** Runs `use` with a client and a server whose connections run `play`. */
export async function between(
  play: (peer: Peer) => Promise<void>,
  use: (
    send: Send,
    parts: { client: UpstreamClient; server: ScriptedServer },
  ) => Promise<void>,
): Promise<void> {
  await using server = new ScriptedServer(play);
  const client = new UpstreamClient({ clock, dial: createDial() });
  try {
    const send: Send = (changes) =>
      client.start({
        address: server.address,
        method: "POST",
        target: "/v1/chat/completions",
        headers: [["host", "engine"]],
        body: new TextEncoder().encode("{}"),
        ...changes,
      });
    await use(send, { client, server });
  } finally {
    client.close();
  }
}

/** The whole body as text. */
export async function textOf(response: UpstreamResponse): Promise<string> {
  const { body } = response;
  if (body === undefined) return "";
  if (body instanceof Uint8Array) return decoder.decode(body);
  let text = "";
  for (;;) {
    const chunk = await body.read();
    if (chunk === undefined) return text;
    text += decoder.decode(chunk);
  }
}

/** Waits in real time. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
