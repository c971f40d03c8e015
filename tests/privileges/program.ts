/**
 * The program with the permissions that it is compiled with, and a look at it
 * from outside.
 *
 * With `TRYST_BINARY` it is that executable; otherwise the sources are run by
 * the runtime, whose own side doors are then open too.
 *
 * Invariant: permissions are those of `deno.json`, word for word, so nobody
 * widens them without a test of this folder noticing.
 *
 * @module
 */
import project from "../../deno.json" with { type: "json" };
import { Running } from "../binary/executable.ts";

const MAIN = new URL("../../main.ts", import.meta.url).href;

/** Keeps the runtime from asking for news of itself, which the binary never does. */
const RUNTIME = { NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1" } as const;

/** The permission flags of `deno task compile`. */
export const PERMISSIONS: readonly string[] = project.tasks.compile.split(" ")
  .filter((word) => /^--(?:allow-|deny-|no-prompt)/.test(word));

/** Starts the program with nothing in its environment but `env`. */
export function startProgram(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Running {
  const binary = Deno.env.get("TRYST_BINARY");
  const before = binary === undefined
    ? ["run", "--cached-only", ...PERMISSIONS, MAIN]
    : [];
  const command = new Deno.Command(binary ?? Deno.execPath(), {
    args: [...before, ...args],
    env: { ...RUNTIME, ...runtimeFolder(), ...env },
    clearEnv: true,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
  return new Running(command.spawn());
}

/** Where the runtime keeps what it has loaded already. */
function runtimeFolder(): Record<string, string> {
  const names = ["DENO_DIR", "HOME", "NPM_CONFIG_REGISTRY", "JSR_URL"];
  return Object.fromEntries(names.flatMap((name) => {
    const value = Deno.env.get(name);
    return value === undefined ? [] : [[name, value]];
  }));
}

/** The TCP ports that a process listens on, each address once. */
export async function listeningPorts(pid: number): Promise<number[]> {
  const inodes = new Set<string>();
  for await (const { name } of Deno.readDir(`/proc/${pid}/fd`)) {
    const target = await linkOf(`/proc/${pid}/fd/${name}`);
    const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
    if (inode !== undefined) inodes.add(inode);
  }
  const ports = new Set<number>();
  for (const table of ["tcp", "tcp6"]) {
    const text = await Deno.readTextFile(`/proc/${pid}/net/${table}`);
    for (const line of text.split("\n").slice(1)) {
      const [, local = "", , state, , , , , , inode = ""] = line.trim()
        .split(/\s+/);
      if (state !== LISTENING || !inodes.has(inode)) continue;
      ports.add(Number.parseInt(local.split(":")[1] ?? "", 16));
    }
  }
  return [...ports].sort((one, other) => one - other);
}

/** `TCP_LISTEN` of the kernel, as its tables show it. */
const LISTENING = "0A";

/** What a link says; a descriptor may be gone by the time it is looked at. */
async function linkOf(path: string): Promise<string> {
  try {
    return await Deno.readLink(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}
