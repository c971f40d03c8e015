/**
 * The keys under `log`: what is told, and how it is written.
 *
 * Invariant: failures are never sampled; whoever wants none of them has to say
 * so.
 *
 * @module
 */
import { LOG_LEVELS } from "../core/counting/log_board.ts";
import type { LogLevel } from "../core/outside.ts";
import { Refusal } from "./complaint.ts";
import { type Field, knownNames } from "./field.ts";
import { parseNumber } from "./number.ts";

/** `text` is for people, `json` for programs. */
export type LogFormat = "text" | "json";

/** The requests that get a line of their own. */
export type AccessChoice = "all" | "failures" | "none";

/** What is configured of the log. */
export interface LogSettings {
  /** The level at start; it can be changed while the gateway runs. */
  readonly level: LogLevel;
  readonly format: LogFormat;
  readonly access: AccessChoice;
  /** Share of the requests that did not fail which get a line; 0 to 1. */
  readonly sample: number;
}

const FORMATS: readonly LogFormat[] = ["text", "json"];

const CHOICES: readonly AccessChoice[] = ["all", "failures", "none"];

const SHARE_BOUNDS = { min: 0, max: 1 };

/** The keys of the `log` section. */
export const LOG_FIELDS: {
  readonly logLevel: Field<LogSettings["level"]>;
  readonly logFormat: Field<LogSettings["format"]>;
  readonly logAccess: Field<LogSettings["access"]>;
  readonly logSample: Field<LogSettings["sample"]>;
} = {
  logLevel: {
    path: "log.level",
    initial: "info",
    doc: "Least level that is logged: debug, info, warn or error",
    read: (value) => oneOf(value, LOG_LEVELS, "a level"),
  },
  logFormat: {
    path: "log.format",
    initial: "text",
    doc: "How lines are written: text for people, json for programs",
    needsRestart: true,
    read: (value) => oneOf(value, FORMATS, "a format"),
  },
  logAccess: {
    path: "log.access",
    initial: "all",
    doc: "Requests that get a line when they end: all, failures or none",
    read: (value) => oneOf(value, CHOICES, "a choice"),
  },
  logSample: {
    path: "log.sample",
    initial: 1,
    doc: "Share of the requests that did not fail which get a line, 0 to 1",
    read: (value) => parseNumber(value, SHARE_BOUNDS),
  },
};

function oneOf<Word extends string>(
  value: unknown,
  known: readonly Word[],
  what: string,
): Word {
  const word = known.find((word) => word === value);
  if (word !== undefined) return word;
  throw new Refusal(`must be ${what}: ${knownNames(value, known)}`);
}
