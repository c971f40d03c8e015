/**
 * Keeps the page supplied with the status of the gateway, over restarts.
 *
 * `EventSource` cannot send a token and gives up for good on a refusal, so the
 * stream is fetched, and fetched again when it ends or falls silent.
 *
 * Invariant: there is one request at a time, each ends when it has been silent
 * for longer than the bound, and no two follow each other without a pause.
 *
 * @module
 */
/// <reference lib="dom" />
import type { GatewayStatus } from "../../status.ts";
import { EventText } from "./event_text.ts";
import type { TokenKeeper } from "./token_keeper.ts";

/** Who is told. */
export interface StreamListener {
  received(status: GatewayStatus): void;
  /** Why nothing comes; called once for each time it stops. */
  lost(reason: string): void;
}

/** Milliseconds of silence after which the connection counts as dead. */
const SILENT_MS_MAX = 5_000;

/** Milliseconds before the gateway is asked again: a restart takes about one. */
const PAUSE_MS = 1_000;

/** Reads `/events` for as long as the page is open. */
export async function followStatus(
  tokens: TokenKeeper,
  listener: StreamListener,
): Promise<never> {
  for (;;) {
    let reason = "it closed the connection";
    try {
      const refusal = await readOnce(tokens, listener);
      if (refusal !== undefined) reason = refusal;
    } catch (error) {
      reason = reasonOf(error);
    }
    listener.lost(reason);
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

/** @returns Why there was no stream; `undefined` when it has ended. */
async function readOnce(
  tokens: TokenKeeper,
  listener: StreamListener,
): Promise<string | undefined> {
  const silence = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), SILENT_MS_MAX);
  };
  try {
    heard();
    const response = await fetch("/events", {
      headers: tokens.headers(),
      cache: "no-store",
      signal: silence.signal,
    });
    clearTimeout(timer);
    if (response.status === 401) {
      await tokens.ask();
      return "it asks for its token";
    }
    if (!response.ok || response.body === null) {
      return `it answered ${response.status}`;
    }
    await readBody(response.body, listener, heard);
    return undefined;
  } finally {
    clearTimeout(timer);
    silence.abort();
  }
}

async function readBody(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  listener: StreamListener,
  heard: () => void,
): Promise<void> {
  const events = new EventText();
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    heard();
    const { value, done } = await reader.read();
    if (done) return;
    // Of several at once only the last one is of interest.
    const latest = events.push(value).at(-1);
    if (latest !== undefined) listener.received(JSON.parse(latest));
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof DOMException && error.name === "AbortError") {
    return `it has been silent for ${SILENT_MS_MAX / 1_000} s`;
  }
  if (error instanceof SyntaxError) return "it sent what is not JSON";
  return "it cannot be reached";
}
