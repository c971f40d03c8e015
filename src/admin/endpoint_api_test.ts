/**
 * Endpoints are shown whole, and changed by ids that are listed.
 *
 * @module
 */
import { assertEquals, assertRejects } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import {
  type EndpointControl,
  endpointOperations,
  type EndpointReport,
} from "./endpoint_api.ts";
import { Problem } from "./problem.ts";

const REPORT: EndpointReport = {
  id: "http://127.0.0.1:8000",
  state: "ready",
  weight: 2,
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
    setWeight: change("weight"),
    setLimit: change("limit"),
  };
}

/** Asks for the operation at `path`. */
async function ask(
  control: EndpointControl,
  path: string,
  body?: unknown,
): Promise<unknown> {
  const operation = endpointOperations(control)
    .find((operation) => operation.path === path);
  const request = new Request(`http://h${path}`, {
    ...(body === undefined ? {} : {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  });
  return await (await operation?.answerTo(request))?.json();
}

test("endpointOperations() refuse bodies without an id, and ids not listed", async () => {
  const control = controlOf([REPORT, { ...REPORT, id: "gpu1" }]);
  for (const body of [null, [], "gpu1", {}, { id: 1 }, { ID: "x" }]) {
    const problem = await assertRejects(
      () => ask(control, "/endpoints/drain", body),
      Problem,
      '"id"',
    );
    assertEquals(problem.status, 400);
  }
  assertEquals(control.changes, []);
  const problem = await assertRejects(
    () => ask(control, "/endpoints/restore", { id: "gpu2" }),
    Problem,
    'Cannot restore endpoint "gpu2": known are "http://127.0.0.1:8000", "gpu1"',
  );
  assertEquals(problem.status, 404);
  await assertRejects(
    () => ask(controlOf([]), "/endpoints/drain", { id: "a" }),
    Problem,
    'Cannot drain endpoint "a": none is known',
  );
});

test("endpointOperations() do what is asked and show what came of it", async () => {
  const control = controlOf([REPORT]);
  const shown = await ask(control, "/endpoints/drain", { id: REPORT.id });
  assertEquals(control.changes, ["drain http://127.0.0.1:8000"]);
  assertEquals(await ask(control, "/endpoints"), { endpoints: [shown] });
});

test("endpointOperations() spell as the file does, and nothing as null", async () => {
  const full = { ...REPORT, limit: 64, lastAnswerAgeMs: 12, models: 3 };
  const bare = {
    id: "http://127.0.0.1:8000",
    state: "ready",
    weight: 2,
    "in_flight": 2,
    limit: null,
    sessions: 5,
    "consecutive_failures": 1,
    "last_answer_age_ms": null,
    models: null,
  };
  assertEquals(await ask(controlOf([REPORT, full]), "/endpoints"), {
    endpoints: [
      bare,
      { ...bare, limit: 64, "last_answer_age_ms": 12, models: 3 },
    ],
  });
});
