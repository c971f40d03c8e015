/**
 * `tryst systemd`: prints the unit of the gateway, or installs it.
 *
 * Invariant: it never talks to a service manager, copies no executable and
 * starts nothing: it says what is left to do.
 *
 * @module
 */
import { resolve } from "@std/path";
import { parseConfig } from "../config/parse.ts";
import type { ParsedArgs } from "./args.ts";
import { type Command, EXIT } from "./command.ts";
import type { Edge } from "./edge.ts";
import type { Flag } from "./flags.ts";
import { loadConfig } from "./load_config.ts";
import { LOAD_NAMES } from "./load_names.ts";
import { SERVICE_VARIABLES } from "./service_variables.ts";
import { installUnit } from "./systemd_install.ts";
import { systemdUnit, type UnitOptions } from "./systemd/systemd_unit.ts";

const UNIT_CONFIG_FLAG: Flag = {
  name: "--config",
  value: "FILE",
  env: undefined,
  isList: false,
  doc: "Configuration file of the service, instead of tryst/tryst.yaml in" +
    " /etc or ~/.config",
};

const INSTALL_FLAG: Flag = {
  name: "--install",
  value: undefined,
  env: undefined,
  isList: false,
  doc: "Write the unit to its folder, instead of to standard output",
};

const UNIT_DIR_FLAG: Flag = {
  name: "--unit-dir",
  value: "DIR",
  env: undefined,
  isList: false,
  doc: "Folder to install to, instead of systemd/system in /etc or" +
    " systemd/user in ~/.config",
};

const USER_FLAG: Flag = {
  name: "--user",
  value: undefined,
  env: undefined,
  isList: false,
  doc: "For the service manager of the user: no root, and less isolation",
};

/** Folders of units and of configuration for the machine. */
const SYSTEM_FOLDERS = {
  units: "/etc/systemd/system",
  config: "/etc",
} as const;

/** The configuration file, in a folder of configuration. */
const CONFIG_NAME = "tryst/tryst.yaml";

/** Folders that the isolation of the machine's unit hides from it. */
const HIDDEN = /^\/(home|root|run\/user|tmp|var\/tmp)\//;

/** The command. */
export const systemdCommand: Command = {
  name: "systemd",
  summary: "Print a systemd unit for the gateway, or install it",
  flags: [UNIT_CONFIG_FLAG, USER_FLAG, INSTALL_FLAG, UNIT_DIR_FLAG],
  async run(args, edge) {
    const wantsInstall = args.values.has(INSTALL_FLAG.name);
    const unitDir = args.values.get(UNIT_DIR_FLAG.name)?.[0];
    if (unitDir !== undefined && !wantsInstall) {
      edge.err(`Cannot use "--unit-dir" without "--install"`);
      return EXIT.refused;
    }
    const folders = foldersOf(args, edge);
    if (folders === undefined) return EXIT.refused;
    const configPath = resolve(
      args.values.get(UNIT_CONFIG_FLAG.name)?.[0] ??
        `${folders.config}/${CONFIG_NAME}`,
    );
    const options = await unitOptions(configPath, { args, edge });
    if (options === undefined) return EXIT.refused;
    if (!options.isUser && HIDDEN.test(configPath)) {
      edge.err(
        `Warning: The service cannot read "${configPath}", which its unit` +
          " hides from it: put it into /etc/tryst",
      );
    }
    if (!wantsInstall) {
      edge.out(systemdUnit(options).trimEnd());
      return EXIT.ok;
    }
    return await installUnit(options, {
      edge,
      folder: resolve(unitDir ?? folders.units),
      home: edge.env(SERVICE_VARIABLES.home.name) ?? "",
    });
  },
};

/** Where things of the machine, or of the user, have their place. */
function foldersOf(
  args: ParsedArgs,
  edge: Edge,
): { readonly units: string; readonly config: string } | undefined {
  if (!args.values.has(USER_FLAG.name)) return SYSTEM_FOLDERS;
  const home = edge.env(SERVICE_VARIABLES.home.name);
  const config = edge.env(SERVICE_VARIABLES.configHome.name) ||
    (home && `${home}/.config`);
  if (!config) {
    edge.err(
      `Cannot find the folder of the user: ${SERVICE_VARIABLES.home.name} is not` +
        " set, want a path",
    );
    return undefined;
  }
  return { units: `${config}/systemd/user`, config };
}

/** `undefined` after complaints about the configuration have been written. */
async function unitOptions(
  configPath: string,
  { args, edge }: { readonly args: ParsedArgs; readonly edge: Edge },
): Promise<UnitOptions | undefined> {
  const config = await serviceConfig(configPath, { args, edge });
  if (config === undefined) return undefined;
  return {
    configPath,
    isUser: args.values.has(USER_FLAG.name),
    stopMs: config.stop.readyGraceMs + config.stop.deadlineMs,
    ports: [config.listen.port, config.admin.listen.port],
  };
}

/**
 * What the service will run with: its file alone, as variables of this
 * process are not the service's. A file that nobody named may be written
 * later.
 */
async function serviceConfig(
  configPath: string,
  { args, edge }: { readonly args: ParsedArgs; readonly edge: Edge },
) {
  const isNamed = args.values.has(UNIT_CONFIG_FLAG.name);
  if (!isNamed && !await exists(configPath)) {
    const result = parseConfig(undefined, { names: LOAD_NAMES, overrides: [] });
    return result.kind === "refused" ? undefined : result.config;
  }
  const values = new Map([[UNIT_CONFIG_FLAG.name, [configPath]]]);
  return await loadConfig({ ...args, values }, {
    edge: { ...edge, env: () => undefined },
    names: LOAD_NAMES,
  });
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    // Whoever may not look into the folder need not know what is in it.
    if (error instanceof Deno.errors.NotFound) return false;
    if (error instanceof Deno.errors.PermissionDenied) return false;
    throw error;
  }
}
