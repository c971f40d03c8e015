/**
 * The table of endpoints of `tryst top`: its columns, and the orders in which
 * its rows can be looked at.
 *
 * Adding a column is adding a row here.
 *
 * Invariant: whatever the width, the id and the state are there; what does not
 * fit is left out from the least important on, and rows that are equal in the
 * column of the order keep that of their ids.
 *
 * @module
 */
import type { EndpointView, GatewayStatus } from "../../admin/status.ts";
import { type EndpointRates, endpointRates } from "./top_rates.ts";
import { plainText, shown } from "./top_text.ts";

/** An order of the rows. */
export interface TopSort {
  /** Name of a column, one of `SORT_NAMES`. */
  readonly column: string;
  /** Ids go up unless reversed, numbers down. */
  readonly isReversed: boolean;
}

/** What a column looks at. */
interface TopRow {
  readonly endpoint: EndpointView;
  readonly rates: EndpointRates;
}

interface Column {
  readonly name: string;
  readonly cell: (row: TopRow) => string;
  /** What rows are ordered by; absent when they cannot be. */
  readonly order?: (row: TopRow) => string | number | null | undefined;
  /** Columns with a higher number go first where there is no room. */
  readonly dispensable: number;
}

/** In the order in which they are shown; the first has the id. */
const COLUMNS: readonly Column[] = [
  {
    name: "ENDPOINT",
    cell: ({ endpoint }) => plainText(endpoint.id),
    order: ({ endpoint }) => endpoint.id,
    dispensable: 0,
  },
  {
    name: "STATE",
    cell: ({ endpoint }) => plainText(endpoint.state),
    order: ({ endpoint }) => endpoint.state,
    dispensable: 0,
  },
  {
    name: "FLY",
    cell: ({ endpoint }) => shown.count(endpoint.inFlight),
    order: ({ endpoint }) => endpoint.inFlight,
    dispensable: 1,
  },
  {
    name: "LIMIT",
    cell: ({ endpoint }) => limitText(endpoint),
    dispensable: 3,
  },
  {
    name: "SESS",
    cell: ({ endpoint }) => shown.count(endpoint.sessions),
    order: ({ endpoint }) => endpoint.sessions,
    dispensable: 2,
  },
  {
    name: "TRY/S",
    cell: ({ rates }) => shown.rate(rates.attemptsPerS),
    order: ({ rates }) => rates.attemptsPerS,
    dispensable: 1,
  },
  {
    name: "FAIL/S",
    cell: ({ rates }) => shown.rate(rates.failuresPerS),
    order: ({ rates }) => rates.failuresPerS,
    dispensable: 3,
  },
  {
    name: "TTFB",
    cell: ({ rates }) => shown.took(rates.firstByteMs),
    order: ({ rates }) => rates.firstByteMs,
    dispensable: 2,
  },
  {
    name: "HIT",
    cell: ({ rates }) => shown.share(rates.hitShare),
    dispensable: 4,
  },
  {
    name: "RUN",
    cell: ({ endpoint }) => shown.count(endpoint.gauges?.running),
    dispensable: 5,
  },
  {
    name: "WAIT",
    cell: ({ endpoint }) => shown.count(endpoint.gauges?.waiting),
    dispensable: 5,
  },
  {
    name: "KV",
    cell: ({ endpoint }) => shown.share(endpoint.gauges?.cacheUsage),
    dispensable: 4,
  },
  {
    name: "SINCE",
    cell: ({ endpoint }) => shown.age(endpoint.sinceMs),
    dispensable: 6,
  },
];

/** Names of the columns that rows can be ordered by. */
export const SORT_NAMES: readonly string[] = COLUMNS
  .filter(({ order }) => order !== undefined)
  .map(({ name }) => name);

/** Blanks between two columns. */
const GAP = 2;

/** The fewest columns of the terminal that an id is cut to. */
const ID_MIN = 10;

/** The table as text, without what marks a row. */
export interface TopTable {
  readonly head: string;
  /** A line for each id, in the order wanted. */
  readonly rows: readonly { readonly id: string; readonly line: string }[];
}

/** Orders and lays out the endpoints for so many columns of a terminal. */
export function topTable(
  { status, previous, sort }: {
    readonly status: GatewayStatus;
    readonly previous: GatewayStatus | undefined;
    readonly sort: TopSort;
  },
  width: number,
): TopTable {
  const rows = status.endpoints.map((endpoint) => ({
    endpoint: {
      ...endpoint,
      sinceMs: status.nowMs - endpoint.sinceMs,
    },
    rates: endpointRates(endpoint, status, previous),
  })).sort((one, other) => compare(one, other, sort));
  const cells = COLUMNS.map(({ cell, name }) => [name, ...rows.map(cell)]);
  const widths = cells.map((column) =>
    Math.max(...column.map(({ length }) => length))
  );
  const kept = keptColumns(widths, width);
  const others = kept.slice(1)
    .reduce((sum, at) => sum + GAP + (widths[at] ?? 0), 0);
  widths[0] = Math.max(ID_MIN, Math.min(widths[0] ?? 0, width - others));
  const line = (row: number) =>
    kept.map((at) => {
      const text = cells[at]?.[row] ?? "";
      // Numbers are compared from the right.
      return at < 2
        ? cut(text, widths[at] ?? 0).padEnd(widths[at] ?? 0)
        : text.padStart(widths[at] ?? 0);
    }).join(" ".repeat(GAP)).trimEnd();
  return {
    head: line(0),
    rows: rows.map(({ endpoint }, at) => ({
      id: endpoint.id,
      line: line(at + 1),
    })),
  };
}

/** Shortens what is longer than `width`, and says so. */
export function cut(text: string, width: number): string {
  if (text.length <= width) return text;
  return width < 1 ? "" : `${text.slice(0, width - 1)}~`;
}

/** The columns that fit, as indexes. */
function keptColumns(widths: readonly number[], width: number): number[] {
  let kept = COLUMNS.map((_, at) => at);
  const needed = () =>
    kept.reduce((sum, at) => sum + GAP + (widths[at] ?? 0), -GAP) -
    Math.max(0, (widths[0] ?? 0) - ID_MIN);
  while (needed() > width) {
    const worst = Math.max(...kept.map((at) => dispensable(at)));
    if (worst === 0) break;
    // Of equals the last goes first.
    const gone = kept.findLast((at) => dispensable(at) === worst);
    kept = kept.filter((at) => at !== gone);
  }
  return kept;
}

function dispensable(at: number): number {
  return COLUMNS[at]?.dispensable ?? 0;
}

function compare(one: TopRow, other: TopRow, sort: TopSort): number {
  const order = COLUMNS.find(({ name }) => name === sort.column)?.order;
  const ids = compareValues(one.endpoint.id, other.endpoint.id);
  if (order === undefined) return ids;
  const [a, b] = [order(one) ?? undefined, order(other) ?? undefined];
  // What is not known stands at the end in either direction.
  if (a === undefined || b === undefined) {
    return a === b ? ids : a === undefined ? 1 : -1;
  }
  const direction = (typeof a === "number") !== sort.isReversed ? -1 : 1;
  return direction * compareValues(a, b) || ids;
}

function compareValues(a: string | number, b: string | number): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** A learned limit moves, and is marked as such. */
function limitText({ limit, limitSource }: EndpointView): string {
  if (limitSource === "none") return "none";
  return `${limitSource === "learned" ? "~" : ""}${shown.count(limit)}`;
}
