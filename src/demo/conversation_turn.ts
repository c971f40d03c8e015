/**
 * One turn of a conversation over the Chat Completions API, streamed.
 *
 * Invariant: the time to the first token is that of the first event with text
 * in it, not of the head, which engines send before they have computed
 * anything.
 *
 * @module
 */

/** One turn to play. */
export interface Turn {
  readonly baseUrl: string;
  readonly model: string;
  /** The history, ending with the question. */
  readonly messages: readonly {
    readonly role: string;
    readonly content: string;
  }[];
  readonly answerTokens: number;
  readonly sessionId: string;
  /** Where the session id goes. */
  readonly keyPlace: "header" | "body" | "none";
  readonly signal: AbortSignal;
  readonly fetch: typeof fetch;
}

/** What came of a turn. */
export interface TurnResult {
  readonly text: string;
  /** Milliseconds from the request to the first text. */
  readonly firstTokenMs: number;
  /** Milliseconds from the request to the end of the answer. */
  readonly totalMs: number;
  /** The endpoint that the gateway names; `undefined` without a gateway. */
  readonly endpoint: string | undefined;
  /** The affinity outcome that the gateway names. */
  readonly affinity: string | undefined;
  readonly promptTokens: number;
  readonly cachedTokens: number;
}

/** Longest event accepted; an event of one token is some 200 bytes. */
const EVENT_CHARACTERS_MAX = 1024 * 1024;

/**
 * Plays one turn.
 *
 * @throws {Error} when the answer is an error, breaks off or is no stream.
 */
export async function playTurn(turn: Turn): Promise<TurnResult> {
  const startedAtMs = performance.now();
  const response = await turn.fetch(`${turn.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(turn.keyPlace === "header" ? { "x-session-id": turn.sessionId } : {}),
    },
    body: JSON.stringify({
      model: turn.model,
      stream: true,
      "stream_options": { "include_usage": true },
      "max_completion_tokens": turn.answerTokens,
      messages: turn.messages,
      ...(turn.keyPlace === "body" ? { "session_id": turn.sessionId } : {}),
    }),
    signal: turn.signal,
  });
  if (response.status !== 200 || response.body === null) {
    throw new Error(
      `Cannot play a turn: the answer is ${response.status} ` +
        `"${(await response.text()).slice(0, 200)}"`,
    );
  }
  const answer = new Answer(startedAtMs);
  for await (const event of dataOf(response.body)) answer.take(event);
  return {
    ...answer.finish(),
    endpoint: response.headers.get("x-tryst-endpoint") ?? undefined,
    affinity: response.headers.get("x-tryst-affinity") ?? undefined,
  };
}

/** Gathers the events of one stream. */
class Answer {
  readonly #startedAtMs: number;
  #text = "";
  #firstTokenMs: number | undefined;
  #promptTokens = 0;
  #cachedTokens = 0;
  #isDone = false;

  constructor(startedAtMs: number) {
    this.#startedAtMs = startedAtMs;
  }

  take(data: string): void {
    if (data === "[DONE]") {
      this.#isDone = true;
      return;
    }
    const event: unknown = JSON.parse(data);
    const failure = memberOf(event, "error");
    if (failure !== undefined) {
      throw new Error(
        `Cannot play a turn: the stream says "${memberOf(failure, "message")}"`,
      );
    }
    const choice = memberOf(memberOf(event, "choices"), "0");
    const content = memberOf(memberOf(choice, "delta"), "content");
    if (typeof content === "string" && content !== "") {
      this.#firstTokenMs ??= performance.now() - this.#startedAtMs;
      this.#text += content;
    }
    const usage = memberOf(event, "usage");
    const details = memberOf(usage, "prompt_tokens_details");
    this.#promptTokens += countOf(memberOf(usage, "prompt_tokens"));
    this.#cachedTokens += countOf(memberOf(details, "cached_tokens"));
  }

  finish(): Omit<TurnResult, "endpoint" | "affinity"> {
    if (!this.#isDone || this.#firstTokenMs === undefined) {
      throw new Error("Cannot play a turn: the stream broke off");
    }
    return {
      text: this.#text,
      firstTokenMs: this.#firstTokenMs,
      totalMs: performance.now() - this.#startedAtMs,
      promptTokens: this.#promptTokens,
      cachedTokens: this.#cachedTokens,
    };
  }
}

/** The data of each server-sent event, of one line each as APIs send them. */
async function* dataOf(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of body) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > EVENT_CHARACTERS_MAX) {
      throw new Error(
        `Cannot read an event of over ${EVENT_CHARACTERS_MAX} characters`,
      );
    }
    for (const line of lines) {
      if (line.startsWith("data:")) yield line.slice("data:".length).trim();
    }
  }
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  const member: unknown = Reflect.get(value, name);
  return member ?? undefined;
}

function countOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
