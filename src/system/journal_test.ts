/**
 * Tests of what the journal is given, and of when it is.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { isJournal } from "./journal.ts";
import { lineLog } from "./log.ts";

// That it is true of a stream that the journal reads is tested with a process
// of its own, in `tests/admin/service_test.ts`.
test("isJournal() is false for streams that are elsewhere", () => {
  for (const stream of [undefined, "", ":", "0:0", "1:2", "x"]) {
    assertEquals(isJournal(stream), false, stream);
  }
});

test("lineLog() has the priorities of syslog where they are wanted", () => {
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line.slice(0, 7));
  const log = lineLog("debug", write, () => 0, { hasPriority: true });
  for (const level of ["debug", "info", "warn", "error"] as const) {
    log(level, "a");
  }
  assertEquals(lines, ["<7>1970", "<6>1970", "<4>1970", "<3>1970"]);
});
