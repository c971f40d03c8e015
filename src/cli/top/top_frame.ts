/**
 * One picture of `tryst top`: a function of what is known and what is chosen.
 *
 * Invariant: a picture has at most as many lines as the terminal and no line
 * is wider, however small that is, and its last line says what one can do.
 *
 * @module
 */
import type { GatewayStatus } from "../../admin/status.ts";
import { gatewayRates } from "./top_rates.ts";
import type { TopState } from "./top_state.ts";
import { cut, topTable } from "./top_table.ts";
import { plainText, shown } from "./top_text.ts";

/** What a picture is made of. */
export interface TopView {
  readonly status: GatewayStatus;
  /** The look before; rates are those since then. */
  readonly previous: GatewayStatus | undefined;
  readonly state: TopState;
  readonly size: { readonly columns: number; readonly rows: number };
  /** Whether colors may be used. */
  readonly hasColor: boolean;
}

/** Marks of ECMA-48, 8.3.117, and what ends them. */
const MARKS = { bold: 1, dim: 2, reverse: 7, red: 31, green: 32, yellow: 33 };

/** Lines besides the endpoints: 3 of the head, its blank, heads and footer. */
const FIXED_ROWS = 6;

/** Lists under the table take a blank, a head and at least this many lines. */
const LIST_ROWS_MIN = 2;

/** The picture, line by line from the top. */
export function topFrame(view: TopView): string[] {
  const { columns, rows } = view.size;
  const paint = painter(view.hasColor);
  const table = topTable({ ...view, sort: view.state.sort }, columns - 2);
  const room = Math.max(1, rows - FIXED_ROWS);
  const shownRows = windowOf(table.rows, room, view.state.selected);
  const left = room - shownRows.length;
  const more = table.rows.length - shownRows.length;
  const lines = [
    ...headLines(view).map((line) => cut(line, columns)),
    "",
    paint(cut(`  ${table.head}`, columns), "bold"),
    ...shownRows.map(({ id, line }) => {
      const isSelected = id === view.state.selected;
      const text = cut(`${isSelected ? ">" : " "} ${line}`, columns);
      return paint(text, isSelected ? "reverse" : colorOf(view.status, id));
    }),
    ...listLines(view.status, left).map((line) => cut(line, columns)),
  ];
  lines.length = Math.min(lines.length, rows - 1);
  while (lines.length < rows - 1) lines.push("");
  return [...lines, paint(cut(footer(view.state, more), columns), "dim")];
}

/** What is known of the gateway as a whole, in three lines. */
export function headLines(
  { status, previous }: Pick<TopView, "status" | "previous">,
): string[] {
  const { queue, sessions, workers } = status;
  const rates = gatewayRates(status, previous);
  const inFlight = status.endpoints
    .reduce((sum, endpoint) => sum + endpoint.inFlight, 0);
  return [
    [
      `tryst ${plainText(status.version)}`,
      status.isReady ? "ready" : "NOT READY",
      `up ${shown.age(status.nowMs - status.startedAtMs)}`,
      `workers ${workers.serving}/${workers.total}` +
      (workers.deaths > 0 ? ` (${workers.deaths} died)` : ""),
      `memory ${shown.bytes(status.memoryBytes)}`,
    ],
    [
      `requests ${shown.rate(rates.receivedPerS)}/s`,
      `failed ${shown.rate(rates.failedPerS)}/s`,
      `TTFB ${shown.took(rates.firstByteMs)}`,
      `out ${shown.bytes(rates.bytesPerS)}/s`,
    ],
    [
      `in flight ${shown.count(inFlight)}`,
      `waiting ${shown.count(queue.waiting)}` +
      (queue.waiting > 0 ? `, ${shown.took(queue.longestWaitMs)}` : ""),
      `hits ${shown.share(rates.hitShare)}`,
      `sessions ${shown.count(sessions.live)}/${
        shown.count(sessions.capacity)
      }`,
    ],
  ].map((parts) => parts.join("  "));
}

/** So many rows that the selected one is among them. */
function windowOf<Row extends { readonly id: string }>(
  rows: readonly Row[],
  room: number,
  selected: string | undefined,
): readonly Row[] {
  const at = rows.findIndex(({ id }) => id === selected);
  const start = Math.max(0, Math.min(at - room + 1, rows.length - room));
  return rows.slice(start, start + room);
}

/** What is under way and what failed, as far as there is room. */
function listLines(status: GatewayStatus, room: number): string[] {
  const failures = status.failures.map((failure) =>
    [
      shown.age(status.nowMs - failure.atMs).padStart(7),
      plainText(failure.code).padEnd(20),
      plainText(failure.endpoint).padEnd(14),
      plainText(failure.cause),
    ].join(" ")
  );
  const live = status.live.map((request) =>
    [
      shown.age(request.ageMs).padStart(7),
      plainText(request.phase).padEnd(8),
      plainText(request.endpoint).padEnd(14),
      plainText(request.session).padEnd(8),
      `${plainText(request.method)} ${plainText(request.path)}`,
    ].join(" ")
  );
  // A quarter is kept for failures where there are some.
  const kept = failures.length === 0 ? 0 : Math.ceil(room / 4) + 2;
  const first = section("UNDER WAY", live, room - kept);
  return [...first, ...section("FAILURES", failures, room - first.length)];
}

function section(
  name: string,
  lines: readonly string[],
  room: number,
): string[] {
  if (lines.length === 0 || room < 2 + LIST_ROWS_MIN) return [];
  return ["", `  ${name}`, ...lines.slice(0, room - 2)];
}

function footer({ notice, question, sort }: TopState, more: number): string {
  if (question !== undefined) {
    const verb = question.change === "drain" ? "Drain" : "Restore";
    return `${verb} endpoint "${plainText(question.id)}"? y/n`;
  }
  if (notice !== undefined) return plainText(notice);
  const order = `${sort.isReversed ? "-" : ""}${sort.column}`;
  const rest = more > 0 ? ` (${more} more)` : "";
  return `q quit s sort:${order} r reverse arrows d drain u restore${rest}`;
}

function colorOf(
  status: GatewayStatus,
  id: string,
): keyof typeof MARKS | undefined {
  const state = status.endpoints.find((endpoint) => endpoint.id === id)?.state;
  switch (state) {
    case "ready":
      return "green";
    case "ejected":
      return "red";
    case undefined:
      return undefined;
    default:
      return "yellow";
  }
}

/** Puts a mark around a line, where marks may be used. */
function painter(
  hasColor: boolean,
): (line: string, mark: keyof typeof MARKS | undefined) => string {
  return (line, mark) =>
    hasColor && mark !== undefined
      ? `\x1b[${MARKS[mark]}m${line}\x1b[0m`
      : line;
}
