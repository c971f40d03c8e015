/**
 * The admin listener of a running gateway, put together from its parts.
 *
 * Invariant: it only hands on; what is asked is answered by the part that
 * knows.
 *
 * @module
 */
import { AdminListener, type AdminParts } from "../admin/admin_listener.ts";
import type { Config } from "../config/config.ts";
import type { Outside } from "../core/outside.ts";
import type { Control } from "../wiring/control.ts";
import { endpointReports } from "../wiring/endpoint_reports.ts";
import { SessionDesk } from "../wiring/session_control.ts";
import type { SessionKeeper } from "../wiring/session_keeper.ts";

/** What is behind the listener. */
export interface AdminSide
  extends Pick<AdminParts, "readiness" | "reload" | "setLogLevel" | "status"> {
  readonly config: Pick<Config, "admin">;
  readonly control: Control;
  readonly keeper: SessionKeeper | undefined;
  readonly outside: Outside;
  readonly token: string | undefined;
}

/**
 * Listens.
 *
 * @throws {Error} as `AdminListener` does.
 */
export function startAdmin(side: AdminSide): AdminListener {
  const { config, control, keeper, outside, token, ...parts } = side;
  const { listen, metricsOpen } = config.admin;
  const { clock, log } = outside;
  return new AdminListener({
    ...parts,
    ...listen,
    token,
    metricsOpen,
    log,
    metrics: () => control.metrics.metrics(),
    endpoints: {
      list: () => endpointReports(control, clock.nowMs()),
      drain: (id) => control.drain(id),
      restore: (id) => control.restore(id),
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
  });
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
