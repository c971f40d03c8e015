/**
 * A log line cannot be forged by what it carries.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { lineLog } from "./log.ts";

test("lineLog() writes one line an event, whatever the values hold", () => {
  const lines: string[] = [];
  const log = lineLog("info", (line) => lines.push(line), () => 0);
  log("debug", "dropped");
  log("info", "endpoint.ready", { id: "gpu0", models: 2, none: undefined });
  log("error", "x", { value: "a\n1970 INFO forged", blank: "a b" });
  assertEquals(lines, [
    "1970-01-01T00:00:00.000Z INFO  endpoint.ready id=gpu0 models=2\n",
    '1970-01-01T00:00:00.000Z ERROR x value="a\\n1970 INFO forged" blank="a b"\n',
  ]);
});

test("lineLog() says whether it takes debug events", () => {
  for (const least of ["debug", "info", "warn", "error"] as const) {
    const lines: string[] = [];
    const log = lineLog(least, (line) => lines.push(line), () => 0);
    log("debug", "request.phase");
    assertEquals(log.takesDebug, least === "debug", least);
    assertEquals(lines.length, least === "debug" ? 1 : 0, least);
  }
});
