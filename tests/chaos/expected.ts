/**
 * What an engine of the chaos answers to a request, as both sides know it.
 *
 * A client says in its target how the answer is to be; the request's id is in
 * every piece of it, so that an answer blended out of two is seen.
 *
 * Invariant: an answer is a function of target and id alone, whichever engine
 * gives it and however often.
 *
 * @module
 */

/** How an answer is to be. */
export interface Wish {
  /** Server-sent events before the last; 0 for one JSON object. */
  readonly events: number;
  /** Milliseconds between two events, or before the one object. */
  readonly pauseMs: number;
  /** Bytes of padding in the object or in each event. */
  readonly pad: number;
}

/** The last event of a stream. */
const DONE = "data: [DONE]\n\n";

/** The target that carries a wish. */
export function targetOf(path: string, wish: Wish): string {
  return `${path}?events=${wish.events}&pause=${wish.pauseMs}&pad=${wish.pad}`;
}

/** The wish in a target. */
export function wishOf(target: string): Wish {
  const query = new URLSearchParams(target.slice(target.indexOf("?") + 1));
  const number = (name: string) => Number(query.get(name) ?? 0);
  return {
    events: number("events"),
    pauseMs: number("pause"),
    pad: number("pad"),
  };
}

/** The answer, one piece an event. */
export function piecesOf(wish: Wish, id: string): readonly string[] {
  const pad = "x".repeat(wish.pad);
  if (wish.events === 0) return [JSON.stringify({ id, pad })];
  const events = Array.from(
    { length: wish.events },
    (_, n) => `data: ${JSON.stringify({ id, n, pad })}\n\n`,
  );
  return [...events, DONE];
}
