/**
 * The admin listener of a running gateway, put together from its parts.
 *
 * Invariant: it only hands on; what is asked is answered by the part that
 * knows.
 *
 * @module
 */
import project from "../../deno.json" with { type: "json" };
import { AdminListener, type AdminParts } from "../admin/admin_listener.ts";
import type { ReloadReport } from "../admin/reload_outcome.ts";
import type { Config } from "../config/config.ts";
import type { Outside } from "../core/outside.ts";
import type { Control } from "../wiring/control.ts";
import type { DrainKeeper } from "../wiring/drain_keeper.ts";
import { endpointReports } from "../wiring/endpoint_reports.ts";
import { listeningAt } from "../wiring/listening_at.ts";
import { SessionDesk } from "../wiring/session_control.ts";
import type { SessionKeeper } from "../wiring/session_keeper.ts";
import { gatewayStatus, type StatusParts } from "../wiring/status.ts";

/** A running gateway, as far as the admin side looks at it. */
export interface AdminSide {
  readonly config: Pick<Config, "admin">;
  readonly outside: Outside;
  readonly control: Control;
  readonly drains: DrainKeeper;
  readonly keeper: SessionKeeper | undefined;
  readonly live: { look: StatusParts["live"] };
  readonly failures: { list: StatusParts["failures"] };
  readonly reloading: {
    readonly reloader: { readonly report: Pick<ReloadReport, "complaint"> };
  };
  readonly supervisor: { readonly servingCount: number };
  readonly workerCount: number;
  /** Read anew each time. */
  readonly isStopping: boolean;
}

/** What the admin side can tell a gateway besides, and the token it asks for. */
export type AdminOptions =
  & Pick<AdminParts, "reload" | "setLogLevel">
  & { readonly token: string | undefined };

/**
 * Listens.
 *
 * @throws {Error} as `AdminListener` does, with the address in it.
 */
export function startAdmin(
  side: AdminSide,
  options: AdminOptions,
): AdminListener {
  const { config, control, drains, keeper, outside } = side;
  const { listen, metricsOpen } = config.admin;
  const { clock, log } = outside;
  const readiness = () => ({
    ...control.readiness(),
    isStopping: side.isStopping,
    serving: side.supervisor.servingCount,
    workers: side.workerCount,
    configComplaint: side.reloading.reloader.report.complaint,
  });
  const parts: AdminParts = {
    ...options,
    ...listen,
    metricsOpen,
    log,
    readiness,
    metrics: () => control.metrics.metrics(),
    status: () =>
      gatewayStatus({
        control,
        readiness,
        version: project.version,
        nowMs: clock.nowMs,
        live: () => side.live.look(),
        failures: () => side.failures.list(),
      }),
    endpoints: {
      list: () => endpointReports(control, clock.nowMs()),
      drain: (id) => drains.drain(id),
      restore: (id) => drains.restore(id),
      setWeight: (id, weight) =>
        control.override({
          id,
          name: "weight",
          to: weight === undefined ? undefined : { value: weight },
        }),
      setLimit: (id, limit) =>
        control.override({
          id,
          name: "maxInFlight",
          to: limit === undefined ? undefined : { value: limit.maxInFlight },
        }),
    },
    sessions: new SessionDesk(control, clock),
    ...(keeper === undefined ? {} : { snapshot: () => takeSnapshot(keeper) }),
  };
  return listeningAt("admin.listen", listen, () => new AdminListener(parts));
}

/** Rejects when the snapshot could not be written; the log says why. */
async function takeSnapshot(keeper: SessionKeeper) {
  const { failed, written } = keeper.report;
  await keeper.save();
  const { bytes, sessions, tookMs } = keeper.report;
  if (keeper.report.failed > failed) {
    throw new Error("Cannot write the snapshot of the sessions");
  }
  return { isNew: keeper.report.written > written, bytes, sessions, tookMs };
}
