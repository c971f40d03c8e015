/**
 * The variables that stand for no flag: those by which a service manager says
 * what it wants, those that name the folders of a user, and secrets, which are
 * kept off command lines.
 *
 * Sources: systemd.exec(5), sd_notify(3), sd_watchdog_enabled(3).
 *
 * Invariant: `deno.json` lets the program read these besides those of the
 * flags, and no others; the tidy test compares.
 *
 * @module
 */

/** One variable. */
export interface ServiceVariable {
  readonly name: string;
  readonly doc: string;
}

/** By what is in them. */
export const SERVICE_VARIABLES = {
  notifySocket: {
    name: "NOTIFY_SOCKET",
    doc: "Where a service manager is told how the gateway is doing",
  },
  watchdogUsec: {
    name: "WATCHDOG_USEC",
    doc: "Microseconds within which it wants a sign of life",
  },
  watchdogPid: {
    name: "WATCHDOG_PID",
    doc: "The process that it wants that of",
  },
  journalStream: {
    name: "JOURNAL_STREAM",
    doc:
      "Stream of the journal; lines of the log that go there have a priority",
  },
  stateDirectory: {
    name: "STATE_DIRECTORY",
    doc: "Directory in which sessions outlive a restart",
  },
  home: {
    name: "HOME",
    doc: "Folder of the user whose service manager a unit is for",
  },
  configHome: {
    name: "XDG_CONFIG_HOME",
    doc: "Where that user keeps configuration, instead of ~/.config",
  },
} as const satisfies Record<string, ServiceVariable>;

/** By what is in them. */
export const SECRET_VARIABLES = {
  adminToken: {
    name: "TRYST_ADMIN_TOKEN",
    doc: "Token of the admin API, instead of a file with it",
  },
  apiKeys: {
    name: "TRYST_API_KEYS",
    doc: "API keys of clients besides those of auth.keys_file, with commas",
  },
} as const satisfies Record<string, ServiceVariable>;
