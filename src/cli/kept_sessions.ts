/**
 * Whether and where a gateway keeps its sessions over a restart.
 *
 * Invariant: a directory is used only when the configuration or the service
 * manager has named it.
 *
 * @module
 */
import { registerSnapshots } from "../admin/snapshot_metrics.ts";
import type { Config } from "../config/config.ts";
import type { Outside } from "../core/outside.ts";
import { SnapshotFile } from "../stores/snapshot_file.ts";
import type { Control } from "../wiring/control.ts";
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
  const directory = config.state.directory ?? serviceDirectory(edge);
  if (directory === undefined) return undefined;
  const keeper = new SessionKeeper({
    control,
    file: new SnapshotFile(directory),
    outside,
    idleTtlMs: config.session.idleTtlMs,
    intervalMs: config.state.intervalMs,
  });
  registerSnapshots(() => keeper.report, [control.metrics]);
  return keeper;
}

/** A unit may have several directories, with colons between them. */
function serviceDirectory(edge: Edge): string | undefined {
  const [first] = (edge.env(SERVICE_VARIABLES.stateDirectory.name) ?? "")
    .split(":");
  return first === "" ? undefined : first;
}
