/**
 * Endpoints are shown whole, and changed by ids that are listed.
 *
 * @module
 */
import { assertEquals, assertThrows } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import {
  changeEndpoint,
  type EndpointControl,
  type EndpointReport,
  endpointsBody,
} from "./endpoint_api.ts";
import { Problem } from "./problem.ts";

const REPORT: EndpointReport = {
  id: "http://127.0.0.1:8000",
  state: "ready",
  inFlight: 2,
  limit: undefined,
  sessions: 5,
  consecutiveFailures: 1,
  lastAnswerAgeMs: undefined,
  models: undefined,
};

function controlOf(reports: readonly EndpointReport[]): EndpointControl & {
  readonly changes: string[];
} {
  const changes: string[] = [];
  const change = (name: string) => (id: string) => {
    changes.push(`${name} ${id}`);
    return reports.some((report) => report.id === id);
  };
  return {
    changes,
    list: () => reports,
    drain: change("drain"),
    restore: change("restore"),
  };
}

test("changeEndpoint() refuses bodies without an id, and ids not listed", () => {
  const control = controlOf([REPORT, { ...REPORT, id: "gpu1" }]);
  for (
    const body of [undefined, null, [], "gpu1", {}, { id: 1 }, { ID: "x" }]
  ) {
    const problem = assertThrows(
      () => changeEndpoint(control, "drain", body),
      Problem,
      '{"id": "..."}',
    );
    assertEquals(problem.status, 400);
  }
  assertEquals(control.changes, []);
  const problem = assertThrows(
    () => changeEndpoint(control, "restore", { id: "gpu2" }),
    Problem,
    'Cannot restore endpoint "gpu2": known are "http://127.0.0.1:8000", "gpu1"',
  );
  assertEquals(problem.status, 404);
  assertThrows(
    () => changeEndpoint(controlOf([]), "drain", { id: "a" }),
    Problem,
    'Cannot drain endpoint "a": none is known',
  );
});

test("changeEndpoint() does what is asked and shows what came of it", () => {
  const control = controlOf([REPORT]);
  const shown = changeEndpoint(control, "drain", { id: REPORT.id });
  assertEquals(control.changes, ["drain http://127.0.0.1:8000"]);
  assertEquals(endpointsBody(control), { endpoints: [shown] });
});

test("endpointsBody() spells as the file does, and nothing as null", () => {
  const full = {
    ...REPORT,
    limit: 64,
    lastAnswerAgeMs: 12,
    models: 3,
  };
  assertEquals(endpointsBody(controlOf([REPORT, full])), {
    endpoints: [
      {
        id: "http://127.0.0.1:8000",
        state: "ready",
        "in_flight": 2,
        limit: null,
        sessions: 5,
        "consecutive_failures": 1,
        "last_answer_age_ms": null,
        models: null,
      },
      {
        id: "http://127.0.0.1:8000",
        state: "ready",
        "in_flight": 2,
        limit: 64,
        sessions: 5,
        "consecutive_failures": 1,
        "last_answer_age_ms": 12,
        models: 3,
      },
    ],
  });
});
