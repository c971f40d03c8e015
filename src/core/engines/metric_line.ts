/**
 * Reads one line of the Prometheus text format, version 0.0.4, as far as the
 * gauges of engines need it ("Exposition formats" in its documentation).
 *
 * What cannot be read is told apart from what is not there, since a sum that
 * lacks a line is worse than none.
 *
 * Invariant: nothing throws, and the cost of a line is linear in its length,
 * which is bounded.
 *
 * @module
 */

/**
 * Characters of a line that is read; a longer one cannot be. Labels of engines
 * are a model's name and some ranks.
 */
const LINE_CHARS_MAX = 8_192;

/** Characters of a number that is read; shortest forms of doubles have 24. */
const NUMBER_CHARS_MAX = 64;

/** Blanks, maybe the start of a comment that names a metric, and the name. */
const NAME = /[ \t]*(#[ \t]+(?:HELP|TYPE)[ \t]+)?([a-zA-Z_:][\w:]*)/y;

/** A label, its value in quotes, and a comma if there is one. */
const LABEL = /[ \t]*([a-zA-Z_]\w*)[ \t]*=[ \t]*("(?:[^"\\]|\\.)*")[ \t]*(,?)/y;

const OPEN = /[ \t]*\{/y;
const CLOSE = /[ \t]*\}/y;

/** The value, and a blank or the end behind it. */
const VALUE = /[ \t]*([^ \t\r]+)(?=[ \t\r]|$)/y;

/** A number as a program prints it; hexadecimal ones are never printed. */
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/** The metric that a line is about. */
export interface LineSubject {
  readonly name: string;
  /** Whether the line only speaks of the metric and carries no value. */
  readonly isComment: boolean;
  /** Where the name ends. */
  readonly end: number;
}

/** A series' labels and its value. */
export interface Sample {
  /** Labels by name, the values in quotes and escaped as they stand. */
  readonly labels: readonly (readonly [name: string, value: string])[];
  /** May be NaN or infinite. */
  readonly value: number;
}

/** The metric that a line names; `undefined` when it names none. */
export function subjectOf(line: string): LineSubject | undefined {
  NAME.lastIndex = 0;
  const match = NAME.exec(line);
  if (match === null) return undefined;
  const [, comment, name = ""] = match;
  return { name, isComment: comment !== undefined, end: NAME.lastIndex };
}

/**
 * What follows the name of a line: labels and value. A timestamp or an
 * exemplar behind them is passed over.
 *
 * @returns `undefined` when it cannot be read.
 */
export function readSample(line: string, nameEnd: number): Sample | undefined {
  if (line.length > LINE_CHARS_MAX) return undefined;
  const labels: [name: string, value: string][] = [];
  let at = nameEnd;
  const opened = endOf(OPEN, line, at);
  if (opened !== undefined) {
    at = opened;
    let goesOn = true;
    while (goesOn) {
      LABEL.lastIndex = at;
      const match = LABEL.exec(line);
      if (match === null) break;
      const [, name = "", value = "", comma] = match;
      labels.push([name, value]);
      at = LABEL.lastIndex;
      goesOn = comma === ",";
    }
    const closed = endOf(CLOSE, line, at);
    if (closed === undefined) return undefined;
    at = closed;
  } else if (!/[ \t]/.test(line.charAt(at))) return undefined;
  VALUE.lastIndex = at;
  const value = numberOf(VALUE.exec(line)?.[1] ?? "");
  return value === undefined ? undefined : { labels, value };
}

/** Where a match right at `at` ends. */
function endOf(pattern: RegExp, line: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(line) ? pattern.lastIndex : undefined;
}

function numberOf(text: string): number | undefined {
  if (text.length > NUMBER_CHARS_MAX) return undefined;
  if (NUMBER.test(text)) return Number(text);
  switch (text.toLowerCase()) {
    case "nan":
      return NaN;
    case "inf":
    case "+inf":
      return Infinity;
    case "-inf":
      return -Infinity;
    default:
      return undefined;
  }
}
