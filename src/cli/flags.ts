/**
 * The flag table: every flag of the command line, with the environment
 * variable and the key of the configuration that it stands for.
 *
 * Adding a flag is adding a row; parsing, help, the environment and the
 * README follow, and `deno.json` must let the compiled binary read the
 * variable (the tidy test checks it).
 *
 * Invariant: each flag of the configuration has a variable, and precedence is flag, variable, file,
 * default.
 *
 * @module
 */

/** One flag. */
export interface Flag {
  /** With its two dashes. */
  readonly name: string;
  /** What the value is, in capitals; `undefined` for a switch. */
  readonly value: string | undefined;
  /** `undefined` for what is meant for one call and never for a set-up. */
  readonly env: string | undefined;
  /** May be repeated; its variable is a list with commas. */
  readonly isList: boolean;
  readonly doc: string;
}

/** A flag of the configuration; all take a value. */
export interface ConfigFlag extends Flag {
  readonly value: string;
  readonly env: string;
  /** The key that it sets; `undefined` for the file itself. */
  readonly path: string | undefined;
}

/** The configuration file. */
export const CONFIG_FLAG: ConfigFlag = {
  name: "--config",
  value: "FILE",
  env: "TRYST_CONFIG",
  path: undefined,
  isList: false,
  doc: "Configuration file, YAML or JSON",
};

/** The address to serve. */
export const LISTEN_FLAG: ConfigFlag = {
  name: "--listen",
  value: "HOST:PORT",
  env: "TRYST_LISTEN",
  path: "listen",
  isList: false,
  doc: "Address that clients connect to",
};

/** The flags of the commands that read a configuration. */
export const CONFIG_FLAGS: readonly ConfigFlag[] = [
  CONFIG_FLAG,
  LISTEN_FLAG,
  {
    name: "--admin",
    value: "HOST:PORT",
    env: "TRYST_ADMIN",
    path: "admin.listen",
    isList: false,
    doc: "Address of health, readiness and metrics",
  },
  {
    name: "--endpoint",
    value: "URL",
    env: "TRYST_ENDPOINT",
    path: "endpoints",
    isList: true,
    doc: "Engine to route to, also unix:/path or a range of ports; repeatable",
  },
  {
    name: "--session-key",
    value: "SOURCE",
    env: "TRYST_SESSION_KEY",
    path: "session.keys",
    isList: true,
    doc: "Where a request says its session, best first; repeatable",
  },
  {
    name: "--workers",
    value: "N",
    env: "TRYST_WORKERS",
    path: "workers",
    isList: false,
    doc: "Worker threads, or auto for one for each core",
  },
  {
    name: "--log-level",
    value: "debug|info|warn|error",
    env: "TRYST_LOG_LEVEL",
    path: "log.level",
    isList: false,
    doc: "Least level that is logged: debug, info, warn or error",
  },
  {
    name: "--log-format",
    value: "text|json",
    env: "TRYST_LOG_FORMAT",
    path: "log.format",
    isList: false,
    doc: "How lines of the log are written: text or json",
  },
];
