/**
 * The log of a running gateway: how its lines look, how much is told, and what
 * its threads hand over.
 *
 * Invariant: everything is written by this thread, to standard error.
 *
 * @module
 */
import type { Config } from "../config/config.ts";
import { LogBoard } from "../core/counting/log_board.ts";
import type { Clock, Log, LogLevel } from "../core/outside.ts";
import { isJournal } from "../system/journal.ts";
import { lineLog, writeStderr } from "../system/log.ts";
import type { LogStart } from "../wiring/thread_log.ts";
import type { Edge } from "./edge.ts";
import { SERVICE_VARIABLES } from "./service_variables.ts";

/** The log of the main thread, and what threads are given of it. */
export interface LogSide {
  readonly log: Log;
  /**
   * Takes the level of a configuration where that is another than the last
   * one had, so that a level set meanwhile outlasts other changes.
   *
   * @returns What threads are started with.
   */
  readonly take: (config: Pick<Config, "log">) => LogStart;
  /** Has all threads, later ones included, log from this level on. */
  readonly setLevel: (level: LogLevel) => void;
  /** Writes lines that a worker has made. */
  readonly lines: (worker: number, lines: string) => void;
}

/** Sets the log up. */
export function startLog(
  { log: { format, level } }: Pick<Config, "log">,
  { clock, edge, workerCount }: {
    readonly clock: Clock;
    readonly edge: Pick<Edge, "env">;
    readonly workerCount: number;
  },
): LogSide {
  const board = LogBoard.create(level, workerCount);
  let configured = level;
  const journalStream = edge.env(SERVICE_VARIABLES.journalStream.name);
  const style = { format, hasPriority: isJournal(journalStream) };
  return {
    log: lineLog({
      takes: (level) => board.takes(level),
      write: writeStderr,
      nowMs: clock.nowMs,
      style,
    }),
    take({ log }) {
      if (log.level !== configured) board.setLevel(log.level);
      configured = log.level;
      return { board: board.buffer, style };
    },
    setLevel: (level) => board.setLevel(level),
    lines(worker, lines) {
      writeStderr(lines);
      board.noteWritten(worker);
    },
  };
}
