/**
 * What the APIs of the simulated engine have in common: a prompt goes in, and
 * tokens come out in their time.
 *
 * Invariant: the same prompt text gives the same answer, and the text of a
 * conversation's next turn begins with the text of this turn and its answer,
 * so that the prefix cache works as it does for a real chat template.
 *
 * @module
 */
import type { Batch } from "./batch.ts";
import { isObject } from "./json.ts";
import { type FirstToken, type PacedCall, Pacer, pause } from "./pacer.ts";
import { chainOf } from "./prefix_cache.ts";
import { answerLength, answerTokens } from "./seeded.ts";

/** Longest answer whatever is asked for. */
const ANSWER_TOKENS_MAX = 4096;
const ASSISTANT_MARK = "<|assistant|>";
const END_MARK = "<|end|>";

const encoder = new TextEncoder();

/** An answer on its way. */
export interface Generation {
  /** Counted from 0 over the life of the engine. */
  readonly number: number;
  readonly text: string;
  readonly answerTokens: number;
  /** The prompt with the answer, as the next turn will begin. */
  readonly transcript: string;
  readonly firstToken: Promise<FirstToken>;
  /** Resolves with the last token. */
  readonly finished: Promise<void>;
  /** The tokens, each in its time. */
  tokens(): AsyncGenerator<string>;
}

/** Turns prompts into answers at the pace of a `Batch`. */
export class Generator {
  readonly #pacer: Pacer;
  readonly #tokenMs: number;
  #count = 0;
  #answerTokens = 0;

  /** @param tokenMs Milliseconds between two tokens of a stream. */
  constructor(batch: Batch, tokenMs: number) {
    this.#pacer = new Pacer(batch);
    this.#tokenMs = tokenMs;
  }

  /** Tokens of all answers that were begun. */
  get answerTokens(): number {
    return this.#answerTokens;
  }

  /** Begins an answer; `undefined` when the engine's queue is full. */
  start(
    prompt: string,
    options: { readonly tokensMax: unknown; readonly signal: AbortSignal },
  ): Generation | undefined {
    const promptBytes = encoder.encode(prompt);
    const tokens = answerTokens(
      promptBytes,
      lengthOf(options.tokensMax, promptBytes),
    );
    const text = tokens.join("");
    const transcript = `${prompt}${text.trimEnd()}${END_MARK}`;
    const call = this.#pacer.start({
      chain: chainOf(encoder.encode(transcript)),
      promptBytes: promptBytes.length,
      answerTokens: tokens.length,
    }, options.signal);
    if (call === undefined) return undefined;
    this.#answerTokens += tokens.length;
    return {
      number: this.#count++,
      text: text.trimEnd(),
      answerTokens: tokens.length,
      transcript,
      firstToken: call.firstToken,
      finished: call.finished,
      tokens: () => this.#pace(tokens, call, options.signal),
    };
  }

  async *#pace(
    tokens: readonly string[],
    call: PacedCall,
    signal: AbortSignal,
  ): AsyncGenerator<string> {
    const { atMs } = await call.firstToken;
    for (const [at, token] of tokens.entries()) {
      // From the first token's moment, so that delays do not add up.
      const waitMs = atMs + at * this.#tokenMs - performance.now();
      if (at > 0 && waitMs > 0) await pause(waitMs, signal);
      yield at === tokens.length - 1 ? token.trimEnd() : token;
    }
  }
}

/** The text of a chat, ready for the assistant's turn. */
export function chatPrompt(messages: unknown, system?: unknown): string {
  let prompt = system === undefined ? "" : messageText("system", system);
  for (const message of Array.isArray(messages) ? messages : []) {
    if (!isObject(message)) continue;
    prompt += messageText(message["role"], message["content"]);
  }
  return prompt + ASSISTANT_MARK;
}

/** The text of a content: a string, a part, or a list of parts. */
export function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map(contentText).join("");
  if (!isObject(content)) return "";
  const text: unknown = content["text"];
  return typeof text === "string" ? text : JSON.stringify(content);
}

function messageText(role: unknown, content: unknown): string {
  const name = typeof role === "string" ? role : "user";
  return `<|${name}|>${contentText(content)}${END_MARK}`;
}

function lengthOf(tokensMax: unknown, prompt: Uint8Array): number {
  const isGiven = typeof tokensMax === "number" && tokensMax >= 1;
  const length = isGiven ? Math.floor(tokensMax) : answerLength(prompt);
  return Math.min(length, ANSWER_TOKENS_MAX);
}
