/**
 * Tables of requests: those under way, those that failed, and the levels of
 * the queue.
 *
 * Invariant: ids, paths and causes come from the network and are shown as
 * text, whole, whatever they look like.
 *
 * @module
 */
/// <reference lib="dom" />
import type { FailureView, LiveRequest, QueueView } from "../../status.ts";
import { make, show } from "./elements.ts";
import type { ErrorTable } from "./figures.ts";
import { duration, number } from "./format.ts";
import type { Row } from "./rows.ts";

/** A level of the queue, beside the fullest one. */
export interface LevelMoment {
  readonly level: QueueView["levels"][number];
  readonly fullest: number;
}

/** A failure and its age. */
export interface FailureMoment {
  readonly failure: FailureView;
  readonly ageMs: number;
}

/** The level of requests that have waited as long as any may. */
const OVERDUE = -1;

/** A row for a request under way. */
export function liveRow(): Row<LiveRequest> {
  const age = make("span");
  const phase = make("span", "phase");
  const method = make("span", "aside");
  const path = make("code");
  const endpoint = make("span");
  const session = make("code");
  const worker = make("span");
  const id = make("code", "aside");
  const element = row(
    cell("Age", "number", age),
    cell("Phase", "", phase),
    cell("Request", "wide", method, path),
    cell("Endpoint", "name", endpoint),
    cell("Session", "", session),
    cell("Worker", "number", worker),
    cell("Id", "", id),
  );
  return {
    element,
    update(request) {
      show(age, duration(request.ageMs));
      show(phase, request.phase);
      element.dataset.phase = request.phase;
      show(method, request.method);
      show(path, request.path);
      show(endpoint, request.endpoint ?? "–");
      show(session, request.session ?? "–");
      show(worker, String(request.worker));
      show(id, request.id);
    },
  };
}

/** A row for a failure. */
export function failureRow(errors: ErrorTable): Row<FailureMoment> {
  const age = make("span");
  const code = make("code");
  const meaning = make("span");
  const cause = make("code", "cause");
  const endpoint = make("span");
  const id = make("code", "aside");
  const element = row(
    cell("Ago", "number", age),
    cell("Code", "", code),
    cell("What it means", "wide", meaning, cause),
    cell("Endpoint", "name", endpoint),
    cell("Id", "", id),
  );
  return {
    element,
    update({ failure, ageMs }) {
      show(age, duration(ageMs, "whole"));
      show(code, failure.code);
      const { code: name } = failure;
      const known = Object.hasOwn(errors, name) ? errors[name] : undefined;
      show(meaning, known?.message ?? "");
      element.dataset.fault = known?.fault ?? "unknown";
      show(cause, failure.cause ?? "");
      cause.hidden = failure.cause === null;
      show(endpoint, failure.endpoint ?? "–");
      show(id, failure.id);
    },
  };
}

/** A row for a level of the queue. */
export function levelRow(): Row<LevelMoment> {
  const name = make("span");
  const count = make("span");
  const bar = make("meter");
  const element = row(
    cell("Level", "", name),
    cell("Waiting", "number", count),
    cell("", "wide", bar),
  );
  return {
    element,
    update({ level: { level, count: waiting }, fullest }) {
      show(name, level === OVERDUE ? "overdue" : String(level));
      show(count, number(waiting));
      bar.max = Math.max(1, fullest);
      bar.value = waiting;
      bar.setAttribute("aria-label", `Waiting on level ${level}`);
    },
  };
}

function row(...cells: readonly HTMLElement[]): HTMLElement {
  const element = make("tr", "", ...cells);
  element.setAttribute("role", "row");
  return element;
}

function cell(
  label: string,
  kind: string,
  ...children: readonly Node[]
): HTMLElement {
  const element = make("td", kind, ...children);
  element.dataset.label = label;
  element.setAttribute("role", "cell");
  return element;
}
