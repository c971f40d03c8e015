/**
 * Chance from a seed: the same seed, the same numbers and the same text.
 *
 * Invariant: an answer depends on its prompt alone, so every engine gives the
 * same answer to the same conversation, and a run can be repeated.
 *
 * @module
 */
import { TOKEN_BYTES } from "./prefix_cache.ts";

const CONSONANTS = "bdfgklmnprstvz";
const VOWELS = "aeiou";

/** Numbers in [0, 1) from xorshift32 (Marsaglia, 2003). */
export function seededRandom(seed: number): () => number {
  // The generator never leaves a state of zero.
  let state = (Math.imul(seed | 0, 0x9e3779b1) ^ 0x5bd1e995) || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

/**
 * Answer tokens for a prompt: pronounceable nonsense, each token exactly as
 * many bytes as the engine counts for one.
 */
export function answerTokens(prompt: Uint8Array, count: number): string[] {
  const random = seededRandom(seedOf(prompt));
  const tokens: string[] = [];
  for (let i = 0; i < count; i++) {
    let token = "";
    while (token.length < TOKEN_BYTES - 1) {
      token += pick(token.length % 2 === 0 ? CONSONANTS : VOWELS, random);
    }
    tokens.push(`${token} `);
  }
  return tokens;
}

/** How long an answer is when the request does not say: 8 to 39 tokens. */
export function answerLength(prompt: Uint8Array): number {
  return 8 + (seedOf(prompt) >>> 0) % 32;
}

function pick(letters: string, random: () => number): string {
  return letters.charAt(Math.floor(random() * letters.length));
}

/** FNV-1a, 32 bits, with a finalizing shift. */
function seedOf(bytes: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash ^ (hash >>> 15);
}
