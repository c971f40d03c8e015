/**
 * The last requests that failed, as the log told of them.
 *
 * Invariant: the latest `FAILURES_MAX` are kept, and what is noted goes on to
 * the log as it came.
 *
 * @module
 */
import type { FailureView } from "../admin/status.ts";
import type { Clock, Log, LogFields } from "../core/outside.ts";

const FAILURES_MAX = 50;

/** Causes are cut at this many characters: stacks are for the log. */
const CAUSE_CHARS_MAX = 200;

/** Keeps what a log is told of failures. */
export class RecentFailures {
  readonly #clock: Clock;
  /** The latest last. */
  readonly #failures: FailureView[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A log that takes note of failures on the way to `log`. */
  notedBy(log: Log): Log {
    const noting: Log = (level, event, fields) => {
      if (event === "request.failed") this.#note(fields ?? {});
      log(level, event, fields);
    };
    // The level may change at any time.
    return Object.defineProperty(noting, "takesDebug", {
      get: () => log.takesDebug === true,
    });
  }

  /** The failures kept, the latest first. */
  list(): FailureView[] {
    return this.#failures.toReversed();
  }

  #note(fields: LogFields): void {
    if (this.#failures.length >= FAILURES_MAX) this.#failures.shift();
    const { cause, code, endpoint, request_id: id } = fields;
    this.#failures.push({
      atMs: Math.round(this.#clock.nowMs()),
      id: String(id ?? ""),
      code: String(code ?? ""),
      endpoint: endpoint === undefined ? null : String(endpoint),
      cause: cause === undefined ? null : firstLine(String(cause)),
    });
  }
}

function firstLine(text: string): string {
  return (text.split("\n", 1)[0] ?? "").slice(0, CAUSE_CHARS_MAX);
}
