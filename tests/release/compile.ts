/**
 * Compiles the program for one machine, by the line of the task `compile`.
 *
 * Invariant: permissions and files come from that line alone, so that a
 * release is what has been tested. An executable that is not for the machine
 * that was asked for is removed.
 *
 * @module
 */
import { machineOf, type ReleaseTarget } from "./targets.ts";

/** A compilation takes seconds; the download of a base some more. */
const COMPILE_MS_MAX = 300_000;

/** Bytes of the end of an executable's head; see `machineOf`. */
const HEAD_BYTES = 64;

/** What the compiler says when its base is not to be had. */
const NO_BASE = /^\s*\d+: Setting up base binary\.$/m;

const PROJECT = new URL("../../", import.meta.url);

/** What compiling came to. */
export type Compiled =
  | { readonly kind: "built"; readonly path: string }
  /** The base for the machine is not to be had here. */
  | { readonly kind: "skipped"; readonly why: string }
  | { readonly kind: "failed"; readonly why: string };

/** The command of the task, without where it writes to. */
export interface CompileLine {
  readonly env: Readonly<Record<string, string>>;
  readonly args: readonly string[];
  readonly entry: string;
}

/**
 * Takes the line of a task apart.
 *
 * @throws {Error} when it is not of the form `NAME=VALUE deno compile ...`.
 */
export function parseLine(line: string): CompileLine {
  const words = line.split(/\s+/).filter((word) => word !== "");
  const env: Record<string, string> = {};
  while (/^[A-Z_]+=/.test(words[0] ?? "")) {
    const [name = "", ...value] = (words.shift() ?? "").split("=");
    env[name] = value.join("=");
  }
  const [deno, compile, ...rest] = words;
  const output = rest.indexOf("--output");
  const entry = rest.pop();
  const isPlain = !/["'$;&|<>]/.test(line);
  if (
    deno !== "deno" || compile !== "compile" || output < 0 ||
    entry === undefined || !isPlain
  ) {
    throw new Error(
      `Cannot use the task "compile" for a release: ${JSON.stringify(line)}`,
    );
  }
  rest.splice(output, 2);
  return { env, args: [compile, ...rest], entry };
}

/** Compiles for one machine into a file. */
export async function compileFor(
  { machine, target }: ReleaseTarget,
  path: string,
  { args, entry, env }: CompileLine,
): Promise<Compiled> {
  const base = env["DENORT_BIN"] ?? Deno.env.get("DENORT_BIN");
  if (base !== undefined) {
    const found = machineOf(await headOf(base));
    if (found !== machine) {
      return {
        kind: "skipped",
        why: `DENORT_BIN names a base for ${found}, whatever is asked for`,
      };
    }
  }
  let ended: Deno.CommandOutput;
  try {
    ended = await new Deno.Command(Deno.execPath(), {
      args: [...args, "--target", target, "--output", path, entry],
      cwd: PROJECT,
      env: { ...env, NO_COLOR: "1" },
      stdin: "null",
      stdout: "null",
      stderr: "piped",
      signal: AbortSignal.timeout(COMPILE_MS_MAX),
    }).output();
  } catch (error) {
    return { kind: "failed", why: String(error) };
  }
  const said = new TextDecoder().decode(ended.stderr);
  if (!ended.success) {
    const why = reasonOf(said);
    return { kind: NO_BASE.test(said) ? "skipped" : "failed", why };
  }
  const found = machineOf(await headOf(path));
  if (found === machine) return { kind: "built", path };
  await Deno.remove(path);
  return { kind: "failed", why: `what came out is for ${found}` };
}

/** The first error that is told, or the innermost of its causes. */
function reasonOf(said: string): string {
  const lines = (said.split("Stack backtrace:", 1)[0] ?? "").split("\n")
    .map((line) => line.trim());
  const mark = /^(?:TS\d+ \[ERROR\]: |error: |\d+: )/;
  const wrong = lines.find((line) => line.startsWith("TS"));
  const reason = wrong ?? lines.filter((line) => mark.test(line)).at(-1);
  return (reason ?? said.trim()).replace(mark, "");
}

async function headOf(path: string): Promise<Uint8Array> {
  using file = await Deno.open(path);
  const head = new Uint8Array(HEAD_BYTES);
  const count = await file.read(head);
  return head.subarray(0, count ?? 0);
}
