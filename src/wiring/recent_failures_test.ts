/**
 * The last failures: the latest first, bounded, and on their way to the log.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import type { Log } from "../core/outside.ts";
import { RecentFailures } from "./recent_failures.ts";

test("RecentFailures keeps the latest, and passes every event on", () => {
  const events: string[] = [];
  const log: Log = (_level, event) => events.push(event);
  let nowMs = 0;
  const failures = new RecentFailures({
    nowMs: () => nowMs,
    after: () => () => {},
  });
  const noting = failures.notedBy(log);
  noting("info", "endpoint.ready", { id: "a" });
  assertEquals(failures.list(), []);
  for (let count = 1; count <= 51; count++) {
    nowMs = count;
    noting("info", "request.failed", { request_id: `r${count}`, code: "x" });
  }
  const list = failures.list();
  assertEquals([list.length, list[0]?.id, list[49]?.id], [50, "r51", "r2"]);
  assertEquals(list[0], {
    atMs: 51,
    id: "r51",
    code: "x",
    endpoint: null,
    cause: null,
  });
  assertEquals(events.length, 52);
});

test("RecentFailures shows the first line of a cause, cut", () => {
  const failures = new RecentFailures({
    nowMs: () => 0,
    after: () => () => {},
  });
  const log = failures.notedBy(() => {});
  log("error", "request.failed", { cause: `${"e".repeat(300)}\n at x.ts` });
  log("error", "request.failed", { cause: "Error: a\n    at x.ts:1" });
  const causes = failures.list().map(({ cause }) => cause);
  assertEquals(causes, ["Error: a", "e".repeat(200)]);
});

test("RecentFailures lets the log say what it takes, each time anew", () => {
  const log: Log & { takesDebug?: boolean } = () => {};
  const noting = new RecentFailures({ nowMs: () => 0, after: () => () => {} })
    .notedBy(log);
  assertEquals(noting.takesDebug, false);
  log.takesDebug = true;
  assertEquals(noting.takesDebug, true);
});
