/**
 * How many further attempts there may be in relation to requests.
 *
 * When many endpoints fail, retrying everything multiplies the load on those
 * that still work. Every request earns a share of a further attempt, and a
 * further attempt spends a whole one; a reserve lets rare failures through on
 * a gateway that has seen little traffic.
 *
 * Invariant: over any stretch of requests there are at most the reserve plus
 * `ratio` times as many further attempts.
 *
 * @module
 */

/** Attempts that can be spent at once: some seconds of a failing endpoint. */
const RESERVE = 100;

/** One thread's budget. */
export class RetryBudget {
  readonly #ratio: number;
  #tokens = RESERVE;

  /** @param ratio Further attempts earned by a request; 0 to 1. */
  constructor(ratio: number) {
    this.#ratio = ratio;
  }

  /** A request has come. */
  earn(): void {
    this.#tokens = Math.min(RESERVE, this.#tokens + this.#ratio);
  }

  /** Takes a further attempt; false when there is none left. */
  spend(): boolean {
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}
