/**
 * Finds the known name that somebody probably meant.
 *
 * Invariant: a suggestion is close enough to be a typing error; no suggestion
 * is better than a far-fetched one.
 *
 * @module
 */

/** Longer words are not compared: nobody mistypes that much. */
const WORD_CHARS_MAX = 64;

/**
 * Returns the name in `known` nearest to `word`, or `undefined`.
 *
 * Near is an edit distance (insert, delete, replace, each 1) of at most a third
 * of the word, and at least 1. The first of equally near names wins.
 */
export function nearestName(
  word: string,
  known: readonly string[],
): string | undefined {
  if (word.length > WORD_CHARS_MAX) return undefined;
  let nearest: string | undefined;
  let best = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const name of known) {
    const distance = editDistance(word.toLowerCase(), name.toLowerCase());
    if (distance < best) {
      best = distance;
      nearest = name;
    }
  }
  return nearest;
}

/** Levenshtein's distance, by rows. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = cell(row, j - 1) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, cell(row, j) + 1, cell(next, j - 1) + 1));
    }
    row = next;
  }
  return cell(row, to.length);
}

/** A cell that the loops above keep in range. */
function cell(row: readonly number[], at: number): number {
  return row[at] ?? Infinity;
}
