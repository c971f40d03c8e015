/**
 * The demo's table: numbers in, lines of text out.
 *
 * Invariant: nothing here writes or knows a terminal; every line fits the
 * width asked for, counted without colors, and the same state gives the same
 * lines.
 *
 * @module
 */
import { bold, dim, green } from "@std/fmt/colors";
import type { DemoState } from "./demo_tally.ts";

/** How to draw. */
export interface DemoTableOptions {
  readonly hasColors: boolean;
  /** Most characters of a line. */
  readonly columns: number;
}

const HEADINGS = ["engine", "sessions", "requests", "cache hits"] as const;

/** Draws the table. */
export function drawDemoTable(
  state: DemoState,
  options: DemoTableOptions,
): string[] {
  const paint = (color: (text: string) => string, text: string) =>
    options.hasColors ? color(text) : text;
  const cut = (text: string) => text.slice(0, options.columns);
  const rows = state.engines.map((engine) => [
    engine.id,
    `${engine.sessionCount}`,
    `${engine.requestCount}`,
    shareOf(engine.hitTokens, engine.queryTokens),
  ]);
  const widths = HEADINGS.map((heading, at) =>
    Math.max(heading.length, ...rows.map((row) => row[at]?.length ?? 0))
  );
  const line = (cells: readonly string[]) =>
    cut(
      cells.map((cell, at) => {
        const width = widths[at] ?? 0;
        return at === 0 ? cell.padEnd(width) : cell.padStart(width);
      }).join("  "),
    );
  return [
    paint(bold, line(HEADINGS)),
    ...rows.map(line),
    "",
    cut(`affinity   ${affinityText(state)}`),
    "",
    paint(dim, cut("time to first token, turns after the first (median)")),
    paint(green, cut(latencyText("session known", state.known))),
    cut(latencyText("random routing", state.random)),
    ...gainLines(state).map((text) => paint(bold, cut(text))),
    ...(state.failedCount > 0
      ? [cut(`failed turns ${state.failedCount}`)]
      : []),
  ];
}

/**
 * Text that puts `lines` in the place of the `linesBefore` lines last drawn,
 * with the cursor below them (ECMA-48: CUU, EL and ED).
 */
export function redraw(lines: readonly string[], linesBefore: number): string {
  const up = linesBefore > 0 ? `\x1b[${linesBefore}A` : "";
  return `${up}\r${lines.map((line) => `${line}\x1b[K\n`).join("")}\x1b[J`;
}

/** The middle value, or `undefined` of none. */
export function median(values: readonly number[]): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  if (upper === undefined || sorted.length % 2 === 1) return upper;
  return (upper + (sorted[sorted.length / 2 - 1] ?? upper)) / 2;
}

function affinityText(state: DemoState): string {
  const texts = Object.entries(state.affinity).map(([outcome, count]) =>
    `${outcome} ${count}`
  );
  return texts.length > 0 ? texts.join("  ") : "no answers yet";
}

function latencyText(name: string, samplesMs: readonly number[]): string {
  const middle = median(samplesMs);
  const text = middle === undefined ? "-" : `${middle.toFixed(1)} ms`;
  const turns = `${samplesMs.length} turn${samplesMs.length === 1 ? "" : "s"}`;
  return `  ${name.padEnd(16)}${text.padStart(10)}  ${turns}`;
}

function gainLines(state: DemoState): string[] {
  const known = median(state.known);
  const random = median(state.random);
  if (known === undefined || random === undefined || known <= 0) return [];
  const ratio = random / known;
  return ratio >= 1
    ? [`  ${ratio.toFixed(1)} times sooner with the session known`]
    : [];
}

function shareOf(part: number, whole: number): string {
  return whole === 0 ? "-" : `${(100 * part / whole).toFixed(1)} %`;
}
