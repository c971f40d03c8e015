/**
 * How a line of the log is written: text for people, JSON for programs.
 *
 * Text has what is looked for first in columns (status, time, method), the
 * rest as `name=value`, and nothing of what is not there. JSON has one object
 * a line, with every name in snake case.
 *
 * Invariant: a line is a line. Values are quoted where they hold anything but
 * plain characters, so that nothing a client sends can forge a second event.
 *
 * @module
 */
import type { LogFormat } from "../config/log.ts";
import type { LogFields, LogLevel } from "../core/outside.ts";
import type { AccessRecord } from "../gateway/access_log.ts";

/** How lines are written. */
export interface LineStyle {
  readonly format: LogFormat;
  /** Whether a journal reads a priority such as `<6>` in front of a line. */
  readonly hasPriority: boolean;
}

/** One event of the log. */
export interface LogEvent {
  /** Milliseconds since the Unix epoch. */
  readonly atMs: number;
  readonly level: LogLevel;
  readonly event: string;
  readonly fields: LogFields;
}

/** Priorities of syslog(3), which the journal filters by. */
const PRIORITY: Readonly<Record<LogLevel, string>> = {
  debug: "<7>",
  info: "<6>",
  warn: "<4>",
  error: "<3>",
};

const NO_PRIORITY: Readonly<Record<LogLevel, string>> = {
  debug: "",
  info: "",
  warn: "",
  error: "",
};

/** What a request's line is called. */
const ACCESS_EVENT = "request.settled";

/** Values of these characters alone need no quotes. */
const PLAIN = /^[A-Za-z0-9_.:/@+-]+$/;

/** Width of a status or an error code, a time, and a method. */
const WIDTH = { status: 3, ms: 7, method: 4 };

/** Levels as they are written in text, of one width. */
const LEVEL_TEXT: Readonly<Record<LogLevel, string>> = {
  debug: "DEBUG",
  info: "INFO ",
  warn: "WARN ",
  error: "ERROR",
};

/** The line of an event, its end included. */
export function eventLine(
  { atMs, event, fields, level }: LogEvent,
  style: LineStyle,
): string {
  const start = prefixOf(level, style);
  if (style.format === "json") {
    // What every line has comes first and cannot be replaced.
    const line = { ...LINE_HEAD, ...fields, time: isoTime(atMs), level, event };
    return `${start}${JSON.stringify(line)}\n`;
  }
  return start + textHead(atMs, level, event) + textFields(fields) + "\n";
}

/** The line of a request that has ended, its end included. */
export function accessLine(record: AccessRecord, style: LineStyle): string {
  const level = accessLevel(record);
  const start = prefixOf(level, style);
  return style.format === "json"
    ? start + accessJson(record, level)
    : start + accessText(record, level);
}

/** Failures can be filtered by their level. */
export function accessLevel({ isFailure }: AccessRecord): LogLevel {
  return isFailure ? "warn" : "info";
}

/** Keeps the order of the members that every line has. */
const LINE_HEAD = { time: "", level: "", event: "" };

function accessJson(record: AccessRecord, level: LogLevel): string {
  const line = {
    time: isoTime(record.atMs),
    level,
    event: ACCESS_EVENT,
    "request_id": record.requestId,
    client: record.client,
    method: record.method,
    path: record.path,
    status: record.status,
    error: record.error,
    endpoint: record.endpoint,
    affinity: record.affinity,
    "key_source": record.keySource,
    session: record.session,
    attempts: record.attempts,
    "queue_ms": record.queueMs,
    "first_byte_ms": record.firstByteMs,
    "total_ms": record.totalMs,
    "bytes_in": record.bytesIn,
    "bytes_out": record.bytesOut,
    model: record.model,
    tenant: record.tenant,
    "trace_id": record.traceId,
  };
  return `${JSON.stringify(line)}\n`;
}

/** Put together by hand: going by a list of fields takes half as long again. */
function accessText(record: AccessRecord, level: LogLevel): string {
  const status = String(record.status ?? "-").padEnd(WIDTH.status);
  const ms = String(record.totalMs).padStart(WIDTH.ms);
  const method = quoted(record.method).padEnd(WIDTH.method);
  const head = textHead(record.atMs, level, ACCESS_EVENT);
  return `${head} ${status} ${ms}ms ${method} ${quoted(record.path)}` +
    textField("error", record.error) +
    textField("endpoint", record.endpoint) +
    ` affinity=${record.affinity}` +
    textField("key", record.keySource) +
    textField("session", record.session) +
    // What is usual says nothing.
    (record.attempts > 1 ? ` attempts=${record.attempts}` : "") +
    (record.queueMs > 0 ? ` queue=${record.queueMs}ms` : "") +
    (record.firstByteMs === undefined ? "" : ` first=${record.firstByteMs}ms`) +
    ` in=${record.bytesIn} out=${record.bytesOut}` +
    textField("model", record.model) +
    textField("tenant", record.tenant) +
    textField("client", record.client) +
    textField("id", record.requestId) +
    textField("trace", record.traceId) + "\n";
}

function textField(name: string, value: string | undefined): string {
  return value === undefined ? "" : ` ${name}=${quoted(value)}`;
}

function prefixOf(level: LogLevel, { hasPriority }: LineStyle): string {
  return (hasPriority ? PRIORITY : NO_PRIORITY)[level];
}

function textHead(atMs: number, level: LogLevel, event: string): string {
  return `${isoTime(atMs)} ${LEVEL_TEXT[level]} ${event}`;
}

function textFields(fields: LogFields): string {
  let text = "";
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) text += ` ${name}=${quoted(String(value))}`;
  }
  return text;
}

/** The last time that was written: lines of one millisecond share it. */
const lastTime = { atMs: NaN, text: "" };

function isoTime(atMs: number): string {
  if (atMs !== lastTime.atMs) {
    lastTime.text = new Date(atMs).toISOString();
    lastTime.atMs = atMs;
  }
  return lastTime.text;
}

function quoted(value: string): string {
  return PLAIN.test(value) ? value : JSON.stringify(value);
}
