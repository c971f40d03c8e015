/**
 * What comes of reading the configuration again, for whoever asked for it, and
 * the metrics of it.
 *
 * Invariant: nothing in it is a secret; values that may be are masked where
 * the configuration is compared.
 *
 * @module
 */
import type { Registry } from "prom-client";
import { registerRead, single } from "./metrics/read_metrics.ts";

const MS_PER_S = 1_000;

/** What came of reading the configuration again. */
export interface ReloadOutcome {
  /** `refused` when something is wrong with it, and nothing has changed. */
  readonly kind: "reloaded" | "unchanged" | "refused";
  /** What has changed, one key a line, with its old and new value. */
  readonly changes: readonly string[];
  /** The same for what takes effect at the next start only. */
  readonly needsRestart: readonly string[];
  /** What is wrong, one line each. */
  readonly complaints: readonly string[];
}

/** What has come of all of them. */
export interface ReloadReport {
  readonly reloaded: number;
  readonly unchanged: number;
  readonly refused: number;
  /** What was wrong the last time, in one line; `undefined` for nothing. */
  readonly complaint: string | undefined;
  /** When the configuration in force was read, since the Unix epoch. */
  readonly loadedAtMs: number;
}

/** Registers the families of reloads. */
export function registerReloads(
  report: () => ReloadReport,
  registers: Registry[],
): void {
  registerRead([
    {
      kind: "counter",
      name: "tryst_config_reloads_total",
      help: "Readings of the configuration after the first, by outcome: " +
        "reloaded, unchanged or refused.",
      labels: ["outcome"],
      read: () => {
        const { refused, reloaded, unchanged } = report();
        return [
          [{ outcome: "reloaded" }, reloaded],
          [{ outcome: "unchanged" }, unchanged],
          [{ outcome: "refused" }, refused],
        ];
      },
    },
    {
      kind: "gauge",
      name: "tryst_config_last_reload_successful",
      help: "0 while the configuration that was read last is refused, else 1.",
      read: single(() => report().complaint === undefined ? 1 : 0),
    },
    {
      kind: "gauge",
      name: "tryst_config_last_reload_timestamp_seconds",
      help: "When the configuration in force was read, in Unix time.",
      read: single(() => report().loadedAtMs / MS_PER_S),
    },
  ], registers);
}
