/**
 * Whether and where a gateway keeps its sessions and drains over a restart.
 *
 * Invariant: a directory is used only when the configuration or the service
 * manager has named it.
 *
 * @module
 */
import { registerSnapshots } from "../admin/metrics/snapshot_metrics.ts";
import type { Config } from "../config/config.ts";
import type { Outside } from "../core/outside.ts";
import { DrainFile } from "../stores/drain_file.ts";
import { SnapshotFile } from "../stores/snapshot_file.ts";
import type { Control } from "../wiring/control.ts";
import { DrainKeeper } from "../wiring/drain_keeper.ts";
import { SessionKeeper } from "../wiring/session_keeper.ts";
import type { Edge } from "./edge.ts";
import { SERVICE_VARIABLES } from "./service_variables.ts";

/** What decides. */
export interface KeptSessionsParts {
  readonly config: Config;
  readonly control: Control;
  readonly edge: Edge;
  readonly outside: Outside;
}

/** Keeps sessions, and says so in the metrics; `undefined` for not at all. */
export function keepSessions(
  { config, control, edge, outside }: KeptSessionsParts,
): SessionKeeper | undefined {
  const directory = directoryOf(config, edge);
  if (directory === undefined) return undefined;
  const keeper = new SessionKeeper({
    control,
    file: new SnapshotFile(directory),
    outside,
    get idleTtlMs() {
      return control.config.session.idleTtlMs;
    },
    get intervalMs() {
      return control.config.state.intervalMs;
    },
  });
  registerSnapshots(() => keeper.report, [control.metrics]);
  return keeper;
}

/** Keeps drains, over a restart where there is a directory. */
export function keepDrains(
  { config, control, edge, outside: { log } }: KeptSessionsParts,
): DrainKeeper {
  const directory = directoryOf(config, edge);
  const file = directory === undefined ? undefined : new DrainFile(directory);
  return new DrainKeeper({ control, file, log });
}

/** A unit may have several directories, with colons between them. */
function directoryOf({ state }: Config, edge: Edge): string | undefined {
  if (state.directory !== undefined) return state.directory;
  const [first] = (edge.env(SERVICE_VARIABLES.stateDirectory.name) ?? "")
    .split(":");
  return first === "" ? undefined : first;
}
