/**
 * The log of a worker thread: events go to the main thread as they are, which
 * keeps an eye on some of them; lines of requests, and events of level `debug`,
 * are made here and go there in batches, as there may be thousands a second.
 *
 * Invariant: only the main thread writes, so that lines stay whole.
 *
 * @module
 */
import { LogBoard } from "../core/counting/log_board.ts";
import type { Clock, Log } from "../core/outside.ts";
import type { AccessRecord } from "../gateway/access_log.ts";
import type { WorkerReport } from "../server/worker_messages.ts";
import { LineBatch } from "../system/line_batch.ts";
import {
  accessLevel,
  accessLine,
  eventLine,
  type LineStyle,
} from "../system/log_format.ts";

/** What the log of a thread is started with. */
export interface LogStart {
  /** Of the `LogBoard` that all threads share. */
  readonly board: SharedArrayBuffer;
  readonly style: LineStyle;
}

/** What belongs together once the thread has been started. */
interface Attached {
  readonly board: LogBoard;
  readonly style: LineStyle;
  readonly batch: LineBatch;
}

/** The log of one thread. */
export class ThreadLog {
  readonly log: Log;
  readonly #clock: Clock;
  readonly #post: (report: WorkerReport) => void;
  #attached: Attached | undefined;

  constructor(clock: Clock, post: (report: WorkerReport) => void) {
    this.#clock = clock;
    this.#post = post;
    const log: Log = (level, event, fields = {}) => {
      if (level !== "debug") post({ kind: "log", level, event, fields });
      else if (this.#attached?.board.takes("debug")) {
        const { batch, style } = this.#attached;
        const atMs = clock.nowMs();
        batch.add(eventLine({ atMs, level, event, fields }, style));
      }
    };
    this.log = Object.defineProperty(log, "takesDebug", {
      get: () => this.#attached?.board.takes("debug") === true,
    });
  }

  /** Begins to make lines. */
  attach({ board: buffer, style }: LogStart, index: number): void {
    const board = new LogBoard(buffer);
    const batch = new LineBatch({
      clock: this.#clock,
      post: (lines) => this.#post({ kind: "lines", lines }),
      writtenCount: () => board.writtenCount(index),
      onDropped: (count) => this.log("warn", "log.dropped", { count }),
    });
    this.#attached = { board, style, batch };
  }

  /** Takes the record of a request. */
  access(record: AccessRecord): void {
    if (this.#attached === undefined) return;
    const { batch, board, style } = this.#attached;
    if (board.takes(accessLevel(record))) batch.add(accessLine(record, style));
  }

  /** Posts what has gathered. */
  close(): void {
    this.#attached?.batch.close();
  }
}
