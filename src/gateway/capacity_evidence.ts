/**
 * Which answers tell what an engine bears, and what they tell.
 *
 * Invariant: one answer is told of at most once, by the thread that relays it,
 * and nothing is allocated for it.
 *
 * @module
 */
import type {
  CapacitySample,
  CapacityTable,
} from "../core/endpoints/capacity_table.ts";
import type { Call } from "./call.ts";

/**
 * Last segments of the API paths under which models generate. Others answer
 * sooner than any model: lists, counts of tokens, embeddings.
 */
const GENERATING: ReadonlySet<string> = new Set([
  // OpenAI: `chat/completions` and `completions`.
  "completions",
  // OpenAI, the Responses API.
  "responses",
  // Anthropic.
  "messages",
  // SGLang and TGI.
  "generate",
  "generate_stream",
  // llama.cpp.
  "completion",
  "infill",
]);

/** Whether models generate under a target, as sent; its query is ignored. */
export function isGenerating(target: string): boolean {
  const query = target.indexOf("?");
  const end = query < 0 ? target.length : query;
  const begin = target.lastIndexOf("/", end - 1) + 1;
  return GENERATING.has(target.slice(begin, end));
}

/** Tells the learned limits of one thread's answers. */
export class CapacityEvidence {
  readonly #capacity: CapacityTable;
  /** Written over for each answer. */
  readonly #sample: {
    -readonly [Name in keyof CapacitySample]: CapacitySample[Name];
  } = {
    kind: "stream",
    requestBytes: undefined,
    firstByteMs: 0,
    inFlightAtStart: 0,
    nowMs: 0,
  };

  constructor(capacity: CapacityTable) {
    this.#capacity = capacity;
  }

  /**
   * Takes in an answer, unless it tells nothing.
   *
   * @param nowMs When the first byte of an event stream came, or the head of
   * another answer.
   */
  answered(
    call: Call<"relay">,
    kind: CapacitySample["kind"],
    nowMs: number,
  ): void {
    const { placed, request, response } = call;
    const { method, target } = request.head;
    const { status } = response;
    if (status < 200 || status > 299 || method !== "POST") return;
    if (!isGenerating(target)) return;
    const sample = this.#sample;
    sample.kind = kind;
    sample.requestBytes = request.body?.length;
    sample.firstByteMs = nowMs - placed.placedAtMs;
    sample.inFlightAtStart = placed.inFlight;
    sample.nowMs = nowMs;
    this.#capacity.answered(placed.slot, sample);
  }
}
