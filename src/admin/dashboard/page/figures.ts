/**
 * The numbers of the moment, each with its last five minutes.
 *
 * Invariant: every figure is made from totals of the last seconds or is a
 * count of now; none is an average since the start, which says nothing at
 * night.
 *
 * @module
 */
/// <reference lib="dom" />
import type { GatewayStatus } from "../../status.ts";
import { byId, show } from "./elements.ts";
import { duration, number } from "./format.ts";
import { RecentTotals, WINDOW_S } from "./recent_totals.ts";
import { Series } from "./series.ts";
import { Sparkline } from "./sparkline.ts";

/** Whose fault a failure is and what it means, by its code. */
export type ErrorTable = Readonly<
  Record<string, { readonly fault: string; readonly message: string }>
>;

const SPARK_PX = 34;

/** The row of figures. */
export class Figures {
  readonly #errors: ErrorTable;
  readonly #recent = new RecentTotals();
  readonly #requests = new Figure("requests", "Requests per second", rate);
  readonly #inFlight = new Figure("in_flight", "Requests in flight", count);
  readonly #waiting = new Figure("waiting", "Requests waiting", count);
  readonly #hits = new Figure("hits", "Hit rate", share, 1);
  readonly #firstByte = new Figure(
    "first_byte",
    "Mean time to the first byte",
    (ms) => duration(ms),
  );
  readonly #failed = new Figure("errors", "Errors per second", rate);

  constructor(errors: ErrorTable) {
    this.#errors = errors;
  }

  /** Errors per second of late; `null` while that is not known. */
  get errorsPerSecond(): number | null {
    return this.#recent.perSecond("errors");
  }

  /** Takes a status and shows what follows from it. */
  update(status: GatewayStatus): void {
    const { nowMs, queue, traffic } = status;
    const { hit, moved, new: fresh, spilled } = traffic.affinity;
    const recent = this.#recent;
    recent.add(nowMs, {
      received: traffic.received,
      errors: errorsOf(traffic.outcomes, this.#errors),
      hit,
      moved,
      spilled,
      keyed: hit + moved + fresh + spilled,
      firstByteMsSum: traffic.firstByteMsSum,
      firstByteCount: traffic.firstByteCount,
    });
    const requests = recent.perSecond("received");
    const failed = this.errorsPerSecond;
    this.#requests.update(
      nowMs,
      requests,
      `${number(traffic.received)} since start`,
    );
    this.#updateInFlight(status);
    this.#waiting.update(
      nowMs,
      queue.waiting,
      queue.waiting === 0 ? "" : `longest ${duration(queue.longestWaitMs)}`,
    );
    const away = ["moved", "spilled"].map((name) =>
      `${name} ${share(recent.ratio(name, "keyed"))}`
    );
    this.#hits.update(nowMs, recent.ratio("hit", "keyed"), away.join(", "));
    this.#firstByte.update(
      nowMs,
      recent.ratio("firstByteMsSum", "firstByteCount"),
      `mean of ${WINDOW_S} s`,
    );
    const part = requests ? (failed ?? 0) / requests : null;
    this.#failed.update(nowMs, failed, failed ? `${share(part)} of all` : "");
    byId("errors", HTMLElement).dataset.level = failed ? "warn" : "ok";
  }

  #updateInFlight({ endpoints, nowMs }: GatewayStatus): void {
    let inFlight = 0;
    let limit: number | null = 0;
    for (const endpoint of endpoints) {
      inFlight += endpoint.inFlight;
      limit = limit === null || endpoint.limit === null
        ? null
        : limit + endpoint.limit;
    }
    const of = limit === null ? "no limit" : `of ${number(limit)}`;
    this.#inFlight.update(nowMs, inFlight, of);
  }
}

/** One figure on the page: `#ID` holds a value, a remark and a line. */
class Figure {
  readonly #value: HTMLElement;
  readonly #remark: HTMLElement;
  readonly #series = new Series();
  readonly #line: Sparkline;
  readonly #format: (value: number | null) => string;

  constructor(
    id: string,
    name: string,
    format: (value: number | null) => string,
    top?: number,
  ) {
    this.#format = format;
    this.#value = byId(`${id}_value`, HTMLElement);
    this.#remark = byId(`${id}_remark`, HTMLElement);
    this.#line = new Sparkline({
      parent: byId(`${id}_line`, HTMLElement),
      height: SPARK_PX,
      name,
      format,
      ...(top === undefined ? {} : { top }),
    });
  }

  update(nowMs: number, value: number | null, remark: string): void {
    this.#series.add(nowMs, value);
    show(this.#value, this.#format(value));
    show(this.#remark, remark);
    this.#line.update(this.#series);
  }
}

/** Failures that are not the client's: 5xx of engines, and error codes. */
function errorsOf(
  outcomes: GatewayStatus["traffic"]["outcomes"],
  table: ErrorTable,
): number {
  let count = 0;
  for (const [outcome, times] of Object.entries(outcomes)) {
    const row = Object.hasOwn(table, outcome) ? table[outcome] : undefined;
    const isClass = /^[1-5]xx$/.test(outcome);
    if (isClass ? outcome === "5xx" : row?.fault !== "client") count += times;
  }
  return count;
}

function count(value: number | null): string {
  return number(value);
}

function rate(value: number | null): string {
  return number(value, "rate");
}

function share(value: number | null): string {
  return number(value, "share");
}
