/**
 * Makes a release: an executable for each machine whose base can be had, with
 * sizes, checksums and the time that the native one takes to start.
 *
 * Usage: `deno task release [--out DIR] [--target TARGET]...`
 *
 * Exit code 0: all were built. 1: one could not be compiled, or two builds of
 * the native one differ. 3: the base of some is not to be had here, and the
 * others are built.
 *
 * Invariant: `SHA256SUMS` lists what was built just now, and nothing else.
 *
 * @module
 */
import project from "../../deno.json" with { type: "json" };
import { columns } from "../../src/cli/help.ts";
import { compileFor, type CompileLine, parseLine } from "./compile.ts";
import {
  differenceOf,
  type ReleasedFile,
  releasedFile,
  sumsText,
} from "./digest.ts";
import { startUpMs } from "./start_up.ts";
import { type ReleaseTarget, TARGETS } from "./targets.ts";

const OUT_INITIAL = new URL("../../dist", import.meta.url).pathname;

const EXIT = { ok: 0, failed: 1, refused: 2, skipped: 3 } as const;

const HEADS = ["TARGET", "SIZE", "VERSION", "HEALTHZ", "SHA-256"];

const BYTES_PER_MIB = 1_048_576;

/** What is wanted. */
interface Order {
  readonly out: string;
  readonly targets: readonly ReleaseTarget[];
}

/** What came of it, so far. */
interface Outcome {
  readonly files: ReleasedFile[];
  /** A row for each file, as it is printed. */
  readonly rows: string[][];
  skipped: number;
  failed: number;
}

/** @throws {Error} that says what is wrong with an argument. */
function parseOrder(args: readonly string[]): Order {
  let out = OUT_INITIAL;
  const targets: ReleaseTarget[] = [];
  for (let at = 0; at < args.length; at += 2) {
    const [name, value] = [args[at], args[at + 1]];
    if (value === undefined || (name !== "--out" && name !== "--target")) {
      throw new Error(
        `Cannot use "${name}": usage is [--out DIR] [--target TARGET]...`,
      );
    }
    if (name === "--out") out = value;
    else targets.push(targetOf(value));
  }
  return { out, targets: targets.length === 0 ? TARGETS : targets };
}

function targetOf(name: string): ReleaseTarget {
  const found = TARGETS.find(({ target }) => target === name);
  if (found !== undefined) return found;
  const known = TARGETS.map(({ target }) => target).join(", ");
  throw new Error(`Cannot build for "${name}": known are ${known}`);
}

async function main(args: readonly string[]): Promise<number> {
  let order: Order;
  let line: CompileLine;
  try {
    order = parseOrder(args);
    line = parseLine(project.tasks.compile);
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    return EXIT.refused;
  }
  await Deno.mkdir(order.out, { recursive: true });
  const outcome: Outcome = { files: [], rows: [], skipped: 0, failed: 0 };
  for (const target of order.targets) {
    await release(target, { line, order, outcome });
  }
  const { failed, files, rows, skipped } = outcome;
  for (const row of columns([HEADS, ...rows])) say(row);
  await Deno.writeTextFile(`${order.out}/SHA256SUMS`, sumsText(files));
  say(`Wrote ${files.length} files and SHA256SUMS to ${order.out}`);
  if (failed > 0) return EXIT.failed;
  return skipped > 0 ? EXIT.skipped : EXIT.ok;
}

/** Builds for one machine, and says what came of it. */
async function release(
  target: ReleaseTarget,
  { line, order, outcome }: {
    readonly line: CompileLine;
    readonly order: Order;
    readonly outcome: Outcome;
  },
): Promise<void> {
  const name = `tryst-${project.version}-${target.name}`;
  const path = `${order.out}/${name}`;
  const compiled = await compileFor(target, path, line);
  if (compiled.kind !== "built") {
    outcome[compiled.kind]++;
    say(`${target.target}  ${compiled.kind}: ${compiled.why}`);
    return;
  }
  const file = await releasedFile(path, name);
  outcome.files.push(file);
  const size = `${(file.byteCount / BYTES_PER_MIB).toFixed(1)} MiB`;
  const row = [target.target, size, "-", "-", file.digest];
  outcome.rows.push(row);
  if (target.target !== Deno.build.target) return;
  const { healthz, version } = await startUpMs(path);
  row[2] = `${version.toFixed(0)} ms`;
  row[3] = `${healthz.toFixed(0)} ms`;
  const problem = await rebuildProblem(target, path, line);
  say(`${target.target}  ${problem ?? "a second build is the same"}`);
  if (problem !== undefined) outcome.failed++;
}

/** What differs in a second build; `undefined` for nothing. */
async function rebuildProblem(
  target: ReleaseTarget,
  path: string,
  line: CompileLine,
): Promise<string | undefined> {
  const again = `${path}.again`;
  const compiled = await compileFor(target, again, line);
  if (compiled.kind !== "built") return `no second build: ${compiled.why}`;
  try {
    const difference = await differenceOf(path, again);
    return difference && `a second build differs: ${difference}`;
  } finally {
    await Deno.remove(again);
  }
}

function say(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
}

if (import.meta.main) Deno.exit(await main(Deno.args));
