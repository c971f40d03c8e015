/**
 * The keys under `state`: where the gateway keeps what outlives it.
 *
 * Invariant: without a directory nothing is ever written to a disk.
 *
 * @module
 */
import { Refusal } from "./complaint.ts";
import type { Field } from "./field.ts";
import { parseDurationMs } from "./quantity.ts";

/** Linux takes no longer path (`PATH_MAX`), the name of the file included. */
const DIRECTORY_BYTES_MAX = 4_000;

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
    read: readDirectory,
  },
  stateInterval: {
    path: "state.interval",
    initial: "1m",
    doc: "Duration between two snapshots of the sessions; there is another at" +
      " the end",
    read: parseDurationMs,
  },
};

function readDirectory(value: unknown): string | undefined {
  if (value === "none") return undefined;
  const isPath = typeof value === "string" && value.trim() !== "" &&
    !value.includes("\0") &&
    new TextEncoder().encode(value).length <= DIRECTORY_BYTES_MAX;
  if (isPath) return value;
  throw new Refusal("must be the path of a directory, or none");
}
