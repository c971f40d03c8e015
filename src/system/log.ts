/**
 * The log: one line an event, to standard error.
 *
 * Invariant: what is below the level is dropped before anything is made of it,
 * and the level is asked for each time anew, as it can change.
 *
 * @module
 */
import type { Log, LogLevel } from "../core/outside.ts";
import { eventLine, type LineStyle } from "./log_format.ts";

/** What a log is made of. */
export interface LineLogParts {
  /** Whether events of a level are kept at this moment. */
  readonly takes: (level: LogLevel) => boolean;
  /** Takes a line with its end. */
  readonly write: (line: string) => void;
  readonly nowMs: () => number;
  readonly style: LineStyle;
}

/** A log that hands lines on. */
export function lineLog({ nowMs, style, takes, write }: LineLogParts): Log {
  const log: Log = (level, event, fields = {}) => {
    if (!takes(level)) return;
    write(eventLine({ atMs: nowMs(), level, event, fields }, style));
  };
  return Object.defineProperty(log, "takesDebug", {
    get: () => takes("debug"),
  });
}

const encoder = new TextEncoder();

/**
 * Writes lines to standard error, whole, whatever their length.
 *
 * Waits for whoever reads: where nobody does, so does the main thread, but no
 * request.
 */
export function writeStderr(lines: string): void {
  const bytes = encoder.encode(lines);
  let written = 0;
  while (written < bytes.length) {
    written += Deno.stderr.writeSync(bytes.subarray(written));
  }
}
