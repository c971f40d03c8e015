/**
 * The log drops what is below its level, which can change at any time.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { LOG_LEVELS, LogBoard } from "../core/counting/log_board.ts";
import { lineLog } from "./log.ts";

test("lineLog() writes what is of its level or above, as it is then", () => {
  const board = LogBoard.create("info", 0);
  const lines: string[] = [];
  const log = lineLog({
    takes: (level) => board.takes(level),
    write: (line) => void lines.push(line),
    nowMs: () => 0,
    style: { format: "text", hasPriority: false },
  });
  LOG_LEVELS.forEach((least, rank) => {
    board.setLevel(least);
    lines.length = 0;
    for (const level of LOG_LEVELS) log(level, `event.${level}`);
    assertEquals(lines.length, LOG_LEVELS.length - rank, least);
    assertEquals(log.takesDebug, least === "debug", least);
  });
});
