/**
 * Keeps the sessions of a gateway over a restart: a snapshot from time to time
 * and at the end, and the way back at the start.
 *
 * A file that cannot be used is told in the log and left until the next snapshot
 * takes its place. Moved aside, such files would pile up.
 *
 * Two gateways may share a directory while one takes over from the other. Each
 * file is whole, and one that is ending leaves it to the one that has begun to
 * serve after it, whose sessions are the newer ones.
 *
 * Invariant: nothing here fails the gateway. What goes wrong is logged once,
 * when it begins and when it is over, and counted.
 *
 * @module
 */
import type { SnapshotReport } from "../admin/metrics/snapshot_metrics.ts";
import type { Outside } from "../core/outside.ts";
import type { PlanMemory } from "../core/placement/plan_memory.ts";
import type { PoolPlan } from "../core/placement/pool_plan.ts";
import { SessionRestore } from "../core/sessions/session_restore.ts";
import * as snapshots from "../core/sessions/session_snapshot.ts";
import { SnapshotRefusal } from "../core/sessions/snapshot_head.ts";
import { SnapshotWriter } from "../core/sessions/snapshot_writer.ts";
import type { SnapshotFile } from "../stores/snapshot_file.ts";
import type { Control } from "./control.ts";

/**
 * How long the end waits for the last snapshot, in milliseconds. A disk that
 * takes longer for some megabytes hangs, and the gateway must not.
 */
const LAST_MS = 10_000;

/**
 * Milliseconds after which restoring lets others have a turn. Nobody is served
 * yet but the admin side and the first probes, which can wait that long; each
 * turn costs a millisecond or more.
 */
const TURN_MS = 20;

/** What a keeper is made of. */
export interface KeeperParts {
  readonly control: Control;
  readonly file: SnapshotFile;
  readonly outside: Pick<Outside, "clock" | "log">;
  /** Idle time of sessions. */
  readonly idleTtlMs: number;
  /** Between two snapshots. */
  readonly intervalMs: number;
}

/** What tells whether another snapshot would be like the last one. */
interface Seen {
  readonly changes: string;
  readonly plan: PoolPlan;
}

/** Keeps the sessions of one gateway. */
export class SessionKeeper {
  readonly #parts: KeeperParts;
  readonly #report = {
    written: 0,
    failed: 0,
    sessions: 0,
    bytes: 0,
    tookMs: 0,
    writtenAtMs: 0,
    restored: 0,
    refused: 0,
  };
  #snapshot: snapshots.Snapshot | undefined;
  #writing: Promise<void> | undefined;
  #claiming = Promise.resolve();
  #cancel: () => void = () => {};
  #isFailing = false;
  #isStarted = false;
  #isEnding = false;
  #isStopped = false;
  /** What was there when the table was last saved or restored. */
  #seen: Seen | undefined;

  constructor(parts: KeeperParts) {
    this.#parts = parts;
  }

  /** What metrics show. */
  get report(): SnapshotReport {
    return this.#report;
  }

  /**
   * Reads the file, before the control side is started.
   *
   * @returns What the directory must know of the former pools; `undefined`
   * when there is nothing to restore.
   */
  async read(): Promise<PlanMemory | undefined> {
    const { file, idleTtlMs, outside: { clock, log } } = this.#parts;
    try {
      const bytes = await file.read();
      if (bytes === undefined) return undefined;
      const snapshot = snapshots.openSnapshot(bytes);
      const { plan, writtenAtMs } = snapshot.head;
      if (clock.nowMs() - writtenAtMs >= idleTtlMs) {
        log("info", "sessions.expired", {
          file: file.path,
          sessions: snapshot.count,
        });
        return undefined;
      }
      this.#snapshot = snapshot;
      return plan;
    } catch (error) {
      this.#report.refused = 1;
      log("error", "sessions.refused", {
        file: file.path,
        reason: `${reasonOf(error)}; starting without sessions`,
      });
      return undefined;
    }
  }

  /**
   * Puts the sessions back, once the control side has given out slots and
   * before there are requests. Other things may run meanwhile.
   */
  async restore(): Promise<void> {
    if (this.#snapshot !== undefined) await this.#restore(this.#snapshot);
    this.#snapshot = undefined;
    this.#seen = this.#look();
  }

  /**
   * Takes snapshots from now on, as the gateway serves. One that never does,
   * because another has its port for example, leaves the file alone.
   */
  start(): void {
    this.#isStarted = true;
    // What fails here fails again, and is told of, when a snapshot is written.
    this.#claiming = this.#parts.file.claim().catch(() => {});
    this.#later();
  }

  /**
   * Takes a snapshot, unless nothing has changed since the last one. Resolves
   * when that is done or has failed; while one is being taken, with that one.
   */
  save(): Promise<void> {
    this.#writing ??= this.#write().finally(() => this.#writing = undefined);
    return this.#writing;
  }

  /**
   * Takes a snapshot as the gateway begins to end: whoever kills it before its
   * time is out still finds this one. Later ones replace none of another's.
   */
  end(): void {
    if (!this.#isStarted) return;
    this.#isEnding = true;
    this.save();
  }

  /** Takes no more snapshots after a last one, if it has started. */
  async stop(): Promise<void> {
    const { file, outside: { clock, log } } = this.#parts;
    this.#isEnding = true;
    this.#isStopped = true;
    this.#cancel();
    if (!this.#isStarted) return;
    const last = async () => {
      await this.#writing;
      await this.save();
      await file.release().catch(() => {});
      return "done";
    };
    let cancel = () => {};
    const late = new Promise<"late">((resolve) => {
      cancel = clock.after(LAST_MS, () => resolve("late"));
    });
    const how = await Promise.race([last(), late]);
    cancel();
    if (how === "late") {
      log("error", "sessions.abandoned", { file: file.path });
    }
  }

  #later(): void {
    const { intervalMs, outside: { clock } } = this.#parts;
    this.#cancel = clock.after(intervalMs, async () => {
      await this.save();
      if (!this.#isStopped) this.#later();
    });
  }

  async #restore(snapshot: snapshots.Snapshot): Promise<void> {
    const { control, file, idleTtlMs, outside } = this.#parts;
    const { clock, log } = outside;
    const nowMs = clock.nowMs();
    const restore = new SessionRestore({
      snapshot,
      sessions: control.state.sessions,
      idleTtlMs,
      bindingOf: (id) => control.directory.bindingOf(id),
      nowMs,
    });
    let turnMs = nowMs;
    while (restore.step()) {
      if (clock.nowMs() - turnMs < TURN_MS) continue;
      await new Promise<void>((resolve) => clock.after(0, resolve));
      turnMs = clock.nowMs();
    }
    const { expired, passedBy, restored, unlisted } = restore.report;
    this.#report.restored = restored;
    log("info", "sessions.restored", {
      file: file.path,
      sessions: restored,
      expired,
      unlisted,
      "passed_by": passedBy,
      "age_ms": Math.max(0, Math.round(nowMs - snapshot.head.writtenAtMs)),
      "took_ms": Math.round(clock.nowMs() - nowMs),
    });
  }

  #look(): Seen {
    const { control } = this.#parts;
    return {
      changes: control.sessionChanges(),
      plan: control.directory.routes.plan,
    };
  }

  async #write(): Promise<void> {
    const { control, file, idleTtlMs, outside } = this.#parts;
    const { clock, log } = outside;
    // What changes from here on is for the next snapshot.
    const seen = this.#look();
    if (seen.changes === this.#seen?.changes && seen.plan === this.#seen.plan) {
      return;
    }
    const nowMs = clock.nowMs();
    try {
      await this.#claiming;
      if (this.#isEnding && await file.isAnothers()) {
        log("info", "sessions.left", { file: file.path });
        this.#seen = seen;
        return;
      }
      const writer = new SnapshotWriter({
        sessions: control.state.sessions,
        plan: seen.plan,
        idleTtlMs,
        nowMs,
      });
      const bytes = await file.write(writer);
      this.#seen = seen;
      this.#written({ sessions: writer.count, bytes, nowMs });
    } catch (error) {
      this.#failed(error);
    }
  }

  #written(
    { sessions, bytes, nowMs }: {
      readonly sessions: number;
      readonly bytes: number;
      readonly nowMs: number;
    },
  ): void {
    const { file, outside: { clock, log } } = this.#parts;
    const tookMs = clock.nowMs() - nowMs;
    const report = this.#report;
    report.written++;
    Object.assign(report, { sessions, bytes, tookMs, writtenAtMs: nowMs });
    log(this.#isFailing ? "info" : "debug", "sessions.saved", {
      file: file.path,
      sessions,
      bytes,
      "took_ms": Math.round(tookMs),
    });
    this.#isFailing = false;
  }

  #failed(error: unknown): void {
    const { file, outside: { log } } = this.#parts;
    this.#report.failed++;
    // A disk that stays full says so once, and again when it is not.
    log(this.#isFailing ? "debug" : "error", "sessions.save_failed", {
      file: file.path,
      reason: reasonOf(error),
    });
    this.#isFailing = true;
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof SnapshotRefusal) return `the file ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}
