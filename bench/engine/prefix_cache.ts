/**
 * The prefix cache of the simulated engine: blocks of 16 tokens, chained.
 *
 * A token is four bytes of text, which is near enough to real tokenizers for
 * English and makes a block 64 bytes. The name of a block covers everything
 * before it, so equal names mean equal prefixes, as in vLLM's automatic prefix
 * caching. Eviction takes the least recently used block, and within one prompt
 * the tail before the head, because a head is of use without its tail.
 *
 * Known imperfection: blocks of running calls are not pinned, so a small cache
 * under a large batch can lose blocks that a real engine would hold.
 *
 * Invariant: never more than `blocksMax` blocks, and a match is always a run
 * of blocks from the start of the prompt.
 *
 * @module
 */

/** Bytes of text that count as one token. */
export const TOKEN_BYTES = 4;

/** Tokens of a block; vLLM's default block size. */
const BLOCK_TOKENS = 16;
const BLOCK_BYTES = BLOCK_TOKENS * TOKEN_BYTES;

/** A text as the cache sees it. */
export interface BlockChain {
  /**
   * One name per full block, each covering all bytes up to its end. There may
   * be more than `byteCount` fills: a prompt shares the names of the prompt
   * with the answer behind it.
   */
  readonly names: readonly number[];
  /** Bytes of the text. */
  readonly byteCount: number;
}

/** The blocks that an engine holds. */
export class PrefixCache {
  readonly blocksMax: number;
  /** Least recently used first. */
  readonly #blocks = new Set<number>();
  #queryTokens = 0;
  #hitTokens = 0;

  /** @throws {RangeError} when `blocksMax` is not a whole number from 0 up. */
  constructor(blocksMax: number) {
    if (!Number.isInteger(blocksMax) || blocksMax < 0) {
      throw new RangeError(
        `Cannot size the cache as it must hold 0 or more blocks: ` +
          `current value is ${blocksMax}`,
      );
    }
    this.blocksMax = blocksMax;
  }

  /** Blocks held now. */
  get blockCount(): number {
    return this.#blocks.size;
  }

  /** Tokens looked up since the start. */
  get queryTokens(): number {
    return this.#queryTokens;
  }

  /** Tokens found since the start; never above `queryTokens`. */
  get hitTokens(): number {
    return this.#hitTokens;
  }

  /**
   * Returns how many tokens of a prompt need no prefill.
   *
   * The last token is always computed, since its output is what is asked
   * for: a prompt held entirely still misses its last block.
   */
  match(prompt: BlockChain): number {
    const tokens = Math.ceil(prompt.byteCount / TOKEN_BYTES);
    const blocksUseful = Math.floor(Math.max(0, tokens - 1) / BLOCK_TOKENS);
    let blocks = 0;
    for (const name of prompt.names) {
      if (blocks === blocksUseful || !this.#blocks.has(name)) break;
      blocks++;
    }
    this.#queryTokens += tokens;
    this.#hitTokens += blocks * BLOCK_TOKENS;
    return blocks * BLOCK_TOKENS;
  }

  /** Holds the full blocks of a text, evicting what no longer fits. */
  insert(text: BlockChain): void {
    const { names, byteCount } = text;
    const full = Math.min(Math.floor(byteCount / BLOCK_BYTES), names.length);
    for (let i = Math.min(full, this.blocksMax) - 1; i >= 0; i--) {
      const name = names[i];
      if (name === undefined) continue;
      this.#blocks.delete(name);
      this.#blocks.add(name);
    }
    for (const oldest of this.#blocks) {
      if (this.#blocks.size <= this.blocksMax) break;
      this.#blocks.delete(oldest);
    }
  }
}

/**
 * Names the full blocks of `bytes`.
 *
 * A name is 53 bits of two multiply-and-rotate lanes, so that it is an exact
 * number; two different prefixes of a run share one with negligible chance.
 */
export function chainOf(bytes: Uint8Array): BlockChain {
  const names: number[] = [];
  let a = 0x2545f491;
  let b = 0x6c62272e;
  const end = bytes.length - (bytes.length % BLOCK_BYTES);
  for (let at = 0; at < end; at += TOKEN_BYTES) {
    const word = (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) |
      ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24);
    a = Math.imul(a ^ word, 0x9e3779b1);
    a ^= a >>> 15;
    b = Math.imul(((b << 13) | (b >>> 19)) ^ word, 0x85ebca77);
    if ((at + TOKEN_BYTES) % BLOCK_BYTES !== 0) continue;
    const high = (b ^ (b >>> 16)) >>> 11;
    names.push(high * 2 ** 32 + (a >>> 0));
  }
  return { names, byteCount: bytes.length };
}
