/**
 * The keys under `state`: where the gateway keeps what outlives it.
 *
 * Invariant: without a directory nothing is ever written to a disk.
 *
 * @module
 */
import type { Field } from "./field.ts";
import { readDirectoryOrNone } from "./path.ts";
import { parseDurationMs } from "./quantity.ts";

/** What is configured of the state. */
export interface StateSettings {
  /** `undefined` keeps nothing. */
  readonly directory: string | undefined;
  /** Milliseconds between two snapshots of the session table. */
  readonly intervalMs: number;
}

/** The keys of the `state` section, by the setting that each fills. */
export const STATE_FIELDS: {
  readonly stateDirectory: Field<StateSettings["directory"]>;
  readonly stateInterval: Field<StateSettings["intervalMs"]>;
} = {
  stateDirectory: {
    path: "state.directory",
    initial: "none",
    doc: "Directory in which sessions outlive a restart, or none; systemd's" +
      " STATE_DIRECTORY stands in for none",
    needsRestart: true,
    read: readDirectoryOrNone,
  },
  stateInterval: {
    path: "state.interval",
    initial: "1m",
    doc: "Duration between two snapshots of the sessions; there is another at" +
      " the end",
    read: parseDurationMs,
  },
};
