/**
 * The log: one line an event, to standard error.
 *
 * Invariant: a line is a line. Values are quoted where they hold anything but
 * plain characters, so that nothing a client sends can forge a second event.
 *
 * @module
 */
import type { Log, LogLevel } from "../core/outside.ts";

const ORDER: readonly LogLevel[] = ["debug", "info", "warn", "error"];

/** Priorities of syslog(3), which the journal filters by. */
const PRIORITY: Readonly<Record<LogLevel, number>> = {
  debug: 7,
  info: 6,
  warn: 4,
  error: 3,
};

/** Values of these characters alone need no quotes. */
const PLAIN = /^[A-Za-z0-9_.:/@+-]+$/;

/**
 * A log that drops what is below `least` and hands lines to `write`; with
 * priorities, as `<6>` at the start of a line, where a journal reads it.
 */
export function lineLog(
  least: LogLevel,
  write: (line: string) => void,
  nowMs: () => number,
  { hasPriority = false }: { readonly hasPriority?: boolean } = {},
): Log {
  const threshold = ORDER.indexOf(least);
  const log: Log = (level, event, fields = {}) => {
    if (ORDER.indexOf(level) < threshold) return;
    const time = new Date(nowMs()).toISOString();
    const prefix = hasPriority ? `<${PRIORITY[level]}>` : "";
    let line = `${prefix}${time} ${level.toUpperCase().padEnd(5)} ${event}`;
    for (const [name, value] of Object.entries(fields)) {
      if (value !== undefined) line += ` ${name}=${quoted(String(value))}`;
    }
    write(`${line}\n`);
  };
  return Object.assign(log, { takesDebug: least === "debug" });
}

const encoder = new TextEncoder();

/** Writes a line to standard error. */
export function writeStderr(line: string): void {
  Deno.stderr.writeSync(encoder.encode(line));
}

function quoted(value: string): string {
  return PLAIN.test(value) ? value : JSON.stringify(value);
}
