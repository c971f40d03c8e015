/**
 * The texts of a program as a prefix cache sees them: names of blocks.
 *
 * A prompt is the history, which is the text of an earlier call with its
 * answer, and new input behind it. Full blocks of the history keep their
 * names; everything from the first block that the history did not fill has
 * new ones, as a block's name covers all that stands before it.
 *
 * Programs share nothing: the gain of a common system prompt is the same
 * wherever a call goes.
 *
 * Invariant: two texts share names exactly as far as they share full blocks.
 *
 * @module
 */
import {
  type BlockChain,
  TOKEN_BYTES,
} from "../../bench/engine/prefix_cache.ts";
import type { PlannedCall } from "./programs.ts";

/** As the cache of the simulated engine counts. */
const BLOCK_TOKENS = 16;

/** A call's prompt, with the answer behind it. */
export interface Transcript {
  readonly promptTokens: number;
  readonly chain: BlockChain;
}

/** Names the blocks of one run. */
export class Transcripts {
  #names = 0;

  /** The text of a call that goes on from `history`. */
  follow(history: Transcript | undefined, call: PlannedCall): Transcript {
    const known = history?.chain.byteCount ?? 0;
    const promptTokens = known / TOKEN_BYTES + call.inputTokens;
    const tokens = promptTokens + call.answerTokens;
    const names = history?.chain.names.slice() ?? [];
    const blocks = Math.floor(tokens / BLOCK_TOKENS);
    while (names.length < blocks) names.push(this.#names++);
    return { promptTokens, chain: { names, byteCount: tokens * TOKEN_BYTES } };
  }
}
