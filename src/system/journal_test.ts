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
  for (const format of ["text", "json"] as const) {
    const style = { format, hasPriority: true };
    const log = lineLog({ takes: () => true, write, nowMs: () => 0, style });
    for (const level of ["debug", "info", "warn", "error"] as const) {
      log(level, "a");
    }
  }
  const text = ["<7>1970", "<6>1970", "<4>1970", "<3>1970"];
  const json = ['<7>{"ti', '<6>{"ti', '<4>{"ti', '<3>{"ti'];
  assertEquals(lines, [...text, ...json]);
});
