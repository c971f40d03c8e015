/**
 * The table of endpoints: state, load, sessions, how well they are met, and
 * what their engines say.
 *
 * Invariant: a state has a word besides its color, and a figure that is not
 * known is a dash, not a zero.
 *
 * @module
 */
/// <reference lib="dom" />
import type { EndpointView } from "../../status.ts";
import { make, show } from "./elements.ts";
import type { Action } from "./endpoint_actions.ts";
import { duration, number } from "./format.ts";
import { RecentTotals } from "./recent_totals.ts";
import type { Row } from "./rows.ts";
import { Series } from "./series.ts";
import { Sparkline } from "./sparkline.ts";

/** An endpoint and when it was so. */
export interface EndpointMoment {
  readonly endpoint: EndpointView;
  readonly nowMs: number;
  /** Live sessions of all endpoints, or 0. */
  readonly sessionsTotal: number;
}

/** Does what a button says. */
export type Act = (action: Action, endpoint: EndpointView) => void;

const SPARK_PX = 22;

/** One row of the table. */
export class EndpointRow implements Row<EndpointMoment> {
  readonly element: HTMLElement;
  readonly #recent = new RecentTotals();
  readonly #state = make("span", "state");
  readonly #since = make("span", "aside");
  readonly #load = make("span", "value");
  readonly #source = make("span", "aside");
  readonly #meter = make("meter");
  readonly #sessions = make("span", "value");
  readonly #share = make("span", "aside");
  readonly #hits = new Trace("Hit rate", formatShare, 1);
  readonly #firstByte = new Trace(
    "Mean time to the first byte",
    (ms) => duration(ms),
  );
  readonly #engine = make("span", "value");
  readonly #cache = make("span", "aside");
  readonly #failures = make("span", "value");
  readonly #inRow = make("span", "aside");
  readonly #button = make("button", "quiet");
  #latest: EndpointView;

  constructor({ endpoint }: EndpointMoment, act: Act) {
    this.#latest = endpoint;
    this.#button.type = "button";
    this.#button.addEventListener(
      "click",
      () => act(actionFor(this.#latest), this.#latest),
    );
    const name = make("th", "name", document.createTextNode(endpoint.id));
    name.scope = "row";
    name.setAttribute("role", "rowheader");
    this.#meter.setAttribute("aria-label", `Load of ${endpoint.id}`);
    this.element = make(
      "tr",
      "",
      name,
      cell("State", this.#state, this.#since),
      cell("Load", this.#meter, this.#load, this.#source),
      cell("Sessions", this.#sessions, this.#share),
      cell("Hit rate", this.#hits.element),
      cell("First byte", this.#firstByte.element),
      cell("Engine", this.#engine, this.#cache),
      cell("Failures", this.#failures, this.#inRow),
      cell("", this.#button),
    );
    this.element.setAttribute("role", "row");
  }

  update({ endpoint, nowMs, sessionsTotal }: EndpointMoment): void {
    this.#latest = endpoint;
    this.element.dataset.state = endpoint.state;
    show(this.#state, endpoint.state);
    show(this.#since, duration(nowMs - endpoint.sinceMs, "whole"));
    this.#showLoad(endpoint);
    show(this.#sessions, number(endpoint.sessions));
    show(
      this.#share,
      sessionsTotal === 0
        ? ""
        : number(endpoint.sessions / sessionsTotal, "share"),
    );
    this.#showFigures(endpoint, nowMs);
    showEngine(endpoint, this.#engine, this.#cache);
    const { consecutiveFailures, failures } = endpoint;
    show(this.#failures, number(failures));
    show(
      this.#inRow,
      consecutiveFailures === 0 ? "" : `${consecutiveFailures} in a row`,
    );
    const action = actionFor(endpoint);
    show(this.#button, action === "drain" ? "Drain" : "Restore");
    this.#button.setAttribute("aria-label", `${action} ${endpoint.id}`);
  }

  remove(): void {
    this.#hits.remove();
    this.#firstByte.remove();
  }

  #showLoad({ inFlight, limit, limitSource }: EndpointView): void {
    const meter = this.#meter;
    meter.hidden = limit === null;
    if (limit !== null) {
      meter.max = Math.max(1, limit);
      meter.value = inFlight;
      this.element.dataset.full = String(inFlight >= limit);
    } else delete this.element.dataset.full;
    const of = limit === null ? "" : ` / ${number(limit)}`;
    show(this.#load, number(inFlight) + of);
    show(this.#source, limit === null ? "no limit" : limitSource);
  }

  #showFigures(endpoint: EndpointView, nowMs: number): void {
    const { attempts, hits, firstByteMsSum, firstByteCount } = endpoint;
    this.#recent.add(nowMs, { attempts, hits, firstByteMsSum, firstByteCount });
    this.#hits.add(nowMs, this.#recent.ratio("hits", "attempts"));
    this.#firstByte.add(
      nowMs,
      this.#recent.ratio("firstByteMsSum", "firstByteCount"),
    );
  }
}

/** A figure and its line. */
class Trace {
  readonly element: HTMLElement;
  readonly #value = make("span", "value");
  readonly #series = new Series();
  readonly #format: (value: number | null) => string;
  readonly #line: Sparkline;

  constructor(
    name: string,
    format: (value: number | null) => string,
    top?: number,
  ) {
    this.#format = format;
    const chart = make("span", "spark");
    this.element = make("span", "trace", this.#value, chart);
    this.#line = new Sparkline({
      parent: chart,
      height: SPARK_PX,
      name,
      format,
      ...(top === undefined ? {} : { top }),
    });
  }

  add(nowMs: number, value: number | null): void {
    this.#series.add(nowMs, value);
    show(this.#value, this.#format(value));
    this.#line.update(this.#series);
  }

  remove(): void {
    this.#line.remove();
  }
}

function formatShare(value: number | null): string {
  return number(value, "share");
}

function actionFor({ state }: EndpointView): Action {
  return state === "draining" ? "restore" : "drain";
}

function cell(label: string, ...children: readonly Node[]): HTMLElement {
  const element = make("td", "", ...children);
  element.dataset.label = label;
  element.setAttribute("role", "cell");
  return element;
}

function showEngine(
  { gauges }: EndpointView,
  engine: HTMLElement,
  cache: HTMLElement,
): void {
  if (gauges === null) {
    show(engine, number(null));
    show(cache, "");
    return;
  }
  const { running, waiting, cacheUsage } = gauges;
  show(engine, `${number(running)} run, ${number(waiting)} wait`);
  const usage = cacheUsage === null ? null : Math.round(cacheUsage * 100) / 100;
  show(cache, usage === null ? "" : `KV cache ${Math.round(usage * 100)} %`);
}
