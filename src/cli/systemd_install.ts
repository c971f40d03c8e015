/**
 * Puts the unit where systemd finds it, and says what is left to do.
 *
 * Invariant: a unit is there as a whole or not at all; only one that was
 * printed by this program is replaced, and doing it twice changes nothing.
 *
 * @module
 */
import { EXIT } from "./command.ts";
import type { Edge } from "./edge.ts";
import {
  EXECUTABLE,
  systemdUnit,
  UNIT_MARK,
  type UnitOptions,
} from "./systemd/systemd_unit.ts";

/** The unit's name for systemctl, and that of its file. */
const UNIT_NAME = "tryst";
const UNIT_FILE = `${UNIT_NAME}.service`;

/** Largest unit that is looked at; those of this program are a tenth of it. */
const UNIT_BYTES_MAX = 2 ** 16;

/** Everybody may read units: they hold no secrets. */
const UNIT_MODE = 0o644;

/** Where to install. */
export interface InstallPlace {
  readonly edge: Edge;
  /** The folder of units; that of a user is made when it is not there. */
  readonly folder: string;
  /** The user's own folder, which `%h` stands for. */
  readonly home: string;
}

/** What an installation came to. */
type Outcome = "wrote" | "replaced" | "kept";

/** Installs the unit; resolves to the exit code. */
export async function installUnit(
  options: UnitOptions,
  place: InstallPlace,
): Promise<number> {
  const { edge, folder } = place;
  const path = `${folder}/${UNIT_FILE}`;
  let outcome: Outcome;
  try {
    if (options.isUser) await Deno.mkdir(folder, { recursive: true });
    outcome = await putUnit(path, systemdUnit(options), edge);
  } catch (error) {
    edge.err(`Cannot install "${path}": ${reasonOf(error, options)}`);
    return EXIT.failed;
  }
  const done = {
    wrote: `Wrote ${path}`,
    replaced: `Replaced ${path}`,
    kept: `Left ${path} as it is: it is up to date`,
  };
  const steps = await stepsLeft(options, { ...place, outcome });
  edge.out([done[outcome], "Next:", ...steps].join("\n"));
  return EXIT.ok;
}

async function putUnit(
  path: string,
  text: string,
  edge: Edge,
): Promise<Outcome> {
  const old = await installedText(path, edge);
  if (old === text) return "kept";
  if (old !== undefined && !old.startsWith(UNIT_MARK)) {
    throw new Error(
      'it was not printed by "tryst systemd": remove it, or name another' +
        ' folder with "--unit-dir"',
    );
  }
  // In the same folder, so that the last step is one of the file system.
  const fresh = `${path}.new`;
  try {
    await Deno.writeTextFile(fresh, text);
    await Deno.chmod(fresh, UNIT_MODE);
    await Deno.rename(fresh, path);
  } catch (error) {
    await Deno.remove(fresh).catch(() => {});
    throw error;
  }
  return old === undefined ? "wrote" : "replaced";
}

/** `undefined` when there is none. */
async function installedText(
  path: string,
  edge: Edge,
): Promise<string | undefined> {
  try {
    const { isFile } = await Deno.lstat(path);
    if (!isFile) {
      throw new Error("it is no plain file, as when a unit is masked");
    }
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
  return await edge.readTextFile(path, UNIT_BYTES_MAX);
}

/** What the person has to do yet, as commands where there is one. */
async function stepsLeft(
  { configPath, isUser }: UnitOptions,
  { home, outcome }: InstallPlace & { readonly outcome: Outcome },
): Promise<string[]> {
  const executable = isUser
    ? EXECUTABLE.user.replace("%h", home)
    : EXECUTABLE.system;
  const systemctl = isUser ? "systemctl --user" : "systemctl";
  return [
    ...(await isThere(executable)
      ? []
      : [`  install -D -m 755 tryst ${executable}`]),
    ...(await isThere(configPath)
      ? [`  tryst check --config ${configPath}`]
      : [`  write ${configPath}, where endpoints have to stand`]),
    `  ${systemctl} daemon-reload`,
    `  ${systemctl} enable --now ${UNIT_NAME}`,
    ...(outcome === "replaced" ? [`  ${systemctl} restart ${UNIT_NAME}`] : []),
  ];
}

async function isThere(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch {
    // Whatever is in the way, the person has to look at it.
    return false;
  }
}

function reasonOf(error: unknown, { isUser }: UnitOptions): string {
  if (error instanceof Deno.errors.PermissionDenied) {
    return isUser
      ? "permission denied"
      : 'permission denied: run it as root, or with "--user"';
  }
  if (error instanceof Deno.errors.NotFound) {
    return "there is no such folder: is this a machine with systemd?";
  }
  return error instanceof Error ? error.message : String(error);
}
