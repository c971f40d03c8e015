/**
 * What can go wrong with an engine, switchable while it runs.
 *
 * A rule says what goes wrong, for which targets, how often and how probably.
 * For every request the rules that fire are merged into one set of switches.
 *
 * Invariant: with the same seed, rules and order of requests the same requests
 * are hit, and with no rules every request gets the same frozen `NO_FAULTS`.
 *
 * @module
 */
import { seededRandom } from "./seeded.ts";

/** Most rules at once; more than any test has use for. */
const RULES_MAX = 64;

/** What goes wrong with one exchange. All switches can be combined. */
export interface FaultSwitches {
  /** Reads the request and never answers. */
  readonly hang?: boolean;
  /** Waits this long before each read of the body: a slow receiver. */
  readonly readPauseMs?: number;
  /** Reads the request, then resets the connection. */
  readonly resetBeforeHead?: boolean;
  /** Resets the connection after so many bytes of the answer's body. */
  readonly resetAfterBytes?: number;
  /**
   * Closes in order after so many bytes of the answer's body: a chunked
   * answer lacks its terminator, another is shorter than its length.
   */
  readonly truncateAfterBytes?: number;
  /** Delays the head of the answer. */
  readonly firstByteDelayMs?: number;
  /** Delays every event of a stream. */
  readonly eventDelayMs?: number;
  /** Answers an error instead of what was asked for. */
  readonly status?: number;
  /** Value of `Retry-After` for `status`: seconds or an HTTP date. */
  readonly retryAfter?: string;
  /** Makes the body of `status` this plain text; JSON otherwise. */
  readonly errorText?: string;
  /** Answers with bytes that are not HTTP, and closes. */
  readonly garbage?: boolean;
  /** Closes after the answer, saying so in its head or not. */
  readonly closeAfter?: "announced" | "silent";
  /** Sends an interim answer with this status first. */
  readonly informational?: 100 | 102 | 103;
  /** Compresses the answer's body, whatever the client accepts. */
  readonly gzip?: boolean;
  /** Answers with every byte from 0 to 255 as `audio/wav`. */
  readonly binary?: boolean;
}

/** When something goes wrong. */
export interface FaultRule {
  readonly switches: FaultSwitches;
  /** Share of the requests that are hit; 1 unless given. */
  readonly probability?: number;
  /** How many requests are hit at most; no limit unless given. */
  readonly times?: number;
  /** Only targets that start with this are hit; all unless given. */
  readonly targetPrefix?: string;
}

/** What a request gets when nothing is to go wrong. */
export const NO_FAULTS: FaultSwitches = Object.freeze({});

/** The rules of one engine. */
export class Faults {
  /**
   * Closes a connection that sent no byte of a request for so long, in
   * milliseconds; `undefined` for never. Holds from the next wait on.
   */
  closeIdleAfterMs: number | undefined = undefined;
  readonly #random: () => number;
  readonly #rules: { readonly rule: FaultRule; timesLeft: number }[] = [];

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  /** Puts one rule in place of all others; no rule for every request. */
  set(switches: FaultSwitches, when: Omit<FaultRule, "switches"> = {}): void {
    this.clear();
    this.add({ ...when, switches });
  }

  /** @throws {RangeError} when there are too many rules. */
  add(rule: FaultRule): void {
    if (this.#rules.length >= RULES_MAX) {
      throw new RangeError(
        `Cannot add a fault rule as there may be at most ${RULES_MAX}`,
      );
    }
    this.#rules.push({ rule, timesLeft: rule.times ?? Infinity });
  }

  /** Makes everything well again. */
  clear(): void {
    this.#rules.length = 0;
  }

  /** What goes wrong with one request; later rules win over earlier ones. */
  draw(target: string): FaultSwitches {
    let drawn = NO_FAULTS;
    for (const entry of this.#rules) {
      const { switches, probability = 1, targetPrefix = "" } = entry.rule;
      if (entry.timesLeft <= 0 || !target.startsWith(targetPrefix)) continue;
      // A certain rule takes no number, so that adding one moves no other.
      if (probability < 1 && this.#random() >= probability) continue;
      entry.timesLeft--;
      drawn = { ...drawn, ...switches };
    }
    return drawn;
  }
}
