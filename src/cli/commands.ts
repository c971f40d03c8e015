/**
 * The register of commands; adding one is a file and a row.
 *
 * Invariant: names are unique, and help lists the commands in this order.
 *
 * @module
 */
import { checkCommand } from "./check.ts";
import type { Command } from "./command.ts";
import { completionsCommand } from "./completions.ts";
import { demoCommand } from "./demo.ts";
import { drainCommand } from "./drain.ts";
import { endpointsCommand } from "./endpoints.ts";
import { grafanaCommand } from "./grafana.ts";
import { manCommand } from "./man.ts";
import {
  logLevelCommand,
  reloadCommand,
  snapshotCommand,
} from "./process_commands.ts";
import { restoreCommand } from "./restore.ts";
import { serveCommand } from "./serve.ts";
import { sessionCommand, sessionsCommand } from "./sessions.ts";
import { simulateCommand } from "./simulate.ts";
import { systemdCommand } from "./systemd.ts";
import { topCommand } from "./top.ts";
import { versionCommand } from "./version.ts";

/** All commands. */
export const COMMANDS: readonly Command[] = [
  serveCommand,
  checkCommand,
  demoCommand,
  topCommand,
  endpointsCommand,
  drainCommand,
  restoreCommand,
  sessionsCommand,
  sessionCommand,
  reloadCommand,
  snapshotCommand,
  logLevelCommand,
  simulateCommand,
  systemdCommand,
  grafanaCommand,
  manCommand(() => COMMANDS),
  completionsCommand(() => COMMANDS),
  versionCommand,
];
