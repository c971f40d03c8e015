/**
 * Conversations that a person might have, played against a base URL.
 *
 * Each has a session id, sends a growing history made of the engine's own
 * answers, and measures what the person would feel: the time to the first
 * token of every turn.
 *
 * Invariant: at most `concurrency` conversations are under way, each with one
 * request at most, and the player pulls: while nobody asks for the next event
 * at most one finished turn a conversation waits. The same options give the
 * same questions.
 *
 * @module
 */
import { playTurn, type TurnResult } from "./conversation_turn.ts";

/** Where a conversation says which session it is. */
export type KeyPlace = "header" | "body" | "none";

/** What to play. */
export interface ConversationOptions {
  /** Base URL without a trailing slash, or one chosen for every turn. */
  readonly baseUrl: string | (() => string);
  readonly model: string;
  readonly conversationCount: number;
  readonly turnCount: number;
  /** Most conversations at once. */
  readonly concurrency: number;
  /**
   * Where the session id goes. `mixed` puts it into the header of every other
   * conversation and into the body of the rest.
   */
  readonly keyPlace: KeyPlace | "mixed";
  /** Begins the session ids and the texts: two names share no prefix. */
  readonly name: string;
  /** Bytes of the opening that all later turns repeat; 6,000 unless given. */
  readonly openingBytes?: number;
  /** Tokens of each answer; 24 unless given. */
  readonly answerTokens?: number;
  /**
   * Ends everything; the iteration then ends without an error. It is the only
   * limit of a turn, since an engine may compute for as long as it likes.
   */
  readonly signal: AbortSignal;
  /** `fetch` unless given. */
  readonly fetch?: typeof fetch;
}

/** What happens. Conversations and turns count from 0. */
export type ConversationEvent =
  | {
    readonly kind: "turn";
    readonly conversation: number;
    readonly turn: number;
    readonly keyPlace: KeyPlace;
    readonly result: TurnResult;
  }
  | {
    /** A turn that got no answer; it ends its conversation. */
    readonly kind: "failed";
    readonly conversation: number;
    readonly turn: number;
    readonly message: string;
  };

/**
 * About 1,500 tokens: a system prompt and a few files, as agents send them,
 * and enough prefill for a cache hit to be felt.
 */
const OPENING_BYTES = 6000;
const ANSWER_TOKENS = 24;

const QUESTIONS = [
  "What is this about?",
  "Go on, in other words.",
  "Which part matters most, and why?",
  "Give an example of that.",
  "And what follows from it?",
];

/** Plays conversations and yields what happens, in the order of happening. */
export async function* playConversations(
  options: ConversationOptions,
): AsyncGenerator<ConversationEvent, void, undefined> {
  const stop = new AbortController();
  const signal = AbortSignal.any([options.signal, stop.signal]);
  const next = new Map<number, Promise<Step>>();
  let begun = 0;
  try {
    while (!signal.aborted) {
      while (
        next.size < options.concurrency && begun < options.conversationCount
      ) {
        next.set(begun, step(begun, converse(options, begun, signal)));
        begun++;
      }
      if (next.size === 0) return;
      const { conversation, events, result } = await Promise.race(
        next.values(),
      );
      if (result.done === true) {
        next.delete(conversation);
      } else {
        next.set(conversation, step(conversation, events));
        yield result.value;
      }
    }
  } finally {
    stop.abort();
    await Promise.all(next.values());
  }
}

/** The outcome of asking one conversation for its next event. */
interface Step {
  readonly conversation: number;
  readonly events: AsyncGenerator<ConversationEvent, void, undefined>;
  readonly result: IteratorResult<ConversationEvent, void>;
}

async function step(
  conversation: number,
  events: AsyncGenerator<ConversationEvent, void, undefined>,
): Promise<Step> {
  return { conversation, events, result: await events.next() };
}

async function* converse(
  options: ConversationOptions,
  conversation: number,
  signal: AbortSignal,
): AsyncGenerator<ConversationEvent, void, undefined> {
  const { keyPlace: wanted, name, baseUrl } = options;
  const inHeader = conversation % 2 === 0;
  const keyPlace = wanted !== "mixed" ? wanted : inHeader ? "header" : "body";
  const messages = [{
    role: "user",
    content: openingOf(
      `${name} ${conversation}`,
      options.openingBytes ?? OPENING_BYTES,
    ),
  }];
  for (let turn = 0; turn < options.turnCount && !signal.aborted; turn++) {
    const question = QUESTIONS[turn % QUESTIONS.length] ?? "";
    messages.push({ role: "user", content: question });
    try {
      const result = await playTurn({
        baseUrl: typeof baseUrl === "string" ? baseUrl : baseUrl(),
        model: options.model,
        messages,
        answerTokens: options.answerTokens ?? ANSWER_TOKENS,
        sessionId: `${name}-${conversation}`,
        keyPlace,
        signal,
        fetch: options.fetch ?? fetch,
      });
      messages.push({ role: "assistant", content: result.text });
      yield { kind: "turn", conversation, turn, keyPlace, result };
    } catch (error) {
      if (signal.aborted) return;
      const message = error instanceof Error ? error.message : String(error);
      yield { kind: "failed", conversation, turn, message };
      return;
    }
  }
}

/** A text of so many bytes that begins and goes on like no other. */
function openingOf(subject: string, byteCount: number): string {
  const sentence = `Consider the matter of ${subject} in its every aspect. `;
  return sentence.repeat(Math.ceil(byteCount / sentence.length)).slice(
    0,
    byteCount,
  );
}
