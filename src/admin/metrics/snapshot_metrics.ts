/**
 * The metrics of the snapshots of the session table.
 *
 * Invariant: a gateway that keeps no snapshots does not register them.
 *
 * @module
 */
import { Counter, Gauge, type Registry } from "prom-client";

const MS_PER_S = 1_000;

/** What has come of snapshots so far. */
export interface SnapshotReport {
  /** Snapshots taken, and those that failed. */
  readonly written: number;
  readonly failed: number;
  /** Of the last one taken: sessions, bytes, duration and time. */
  readonly sessions: number;
  readonly bytes: number;
  readonly tookMs: number;
  /** Milliseconds since the Unix epoch; 0 before the first. */
  readonly writtenAtMs: number;
  /** Sessions put back at the start. */
  readonly restored: number;
  /** 1 when there was a file at the start that could not be used. */
  readonly refused: number;
}

/** Registers the families of snapshots. */
export function registerSnapshots(
  report: () => SnapshotReport,
  registers: Registry[],
): void {
  new Counter({
    name: "tryst_snapshots_total",
    help: "Snapshots of the session table, by outcome: written or failed.",
    labelNames: ["outcome"],
    registers,
    collect() {
      this.reset();
      const { failed, written } = report();
      this.inc({ outcome: "written" }, written);
      this.inc({ outcome: "failed" }, failed);
    },
  });
  const gauges: readonly (readonly [
    name: string,
    help: string,
    value: (report: SnapshotReport) => number,
  ])[] = [
    [
      "tryst_snapshot_sessions",
      "Sessions in the last snapshot.",
      ({ sessions }) => sessions,
    ],
    [
      "tryst_snapshot_bytes",
      "Size of the last snapshot.",
      ({ bytes }) => bytes,
    ],
    [
      "tryst_snapshot_duration_seconds",
      "How long the last snapshot took, beside other work.",
      ({ tookMs }) => tookMs / MS_PER_S,
    ],
    [
      "tryst_snapshot_written_timestamp_seconds",
      "When the last snapshot was taken, in Unix time; 0 before the first.",
      ({ writtenAtMs }) => writtenAtMs / MS_PER_S,
    ],
    [
      "tryst_snapshot_restored_sessions",
      "Sessions put back when the gateway started.",
      ({ restored }) => restored,
    ],
    [
      "tryst_snapshot_refused",
      "1 when the snapshot found at the start could not be used, else 0.",
      ({ refused }) => refused,
    ],
  ];
  for (const [name, help, value] of gauges) {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(value(report()));
      },
    });
  }
}
