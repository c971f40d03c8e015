/**
 * The rooms of `src`, their levels, and which import is allowed where.
 *
 * Shared by the lint plugin, which sees the syntax tree, and the tidy test,
 * which looks again with regular expressions.
 *
 * Invariant: imports go downwards only; rooms of one level never see each
 * other, and `src` never sees what is beside it.
 *
 * @module
 */

/** Rooms by level; a room that is not listed is an error of its own. */
const LEVELS: readonly (readonly string[])[] = [
  ["core"],
  ["policies", "scheduling", "session_keys", "config"],
  ["upstream"],
  ["gateway"],
  ["server", "discovery", "stores", "admin", "system"],
  ["wiring"],
  ["demo", "simulate"],
  ["cli"],
];

/** Up to here nothing has ambient authority. */
export const PURE_LEVEL_MAX = 3;

/** Node modules that only compute, and so may be used on pure levels. */
const PURE_NODE_MODULES: ReadonlySet<string> = new Set(["node:crypto"]);

/** Packages besides `@std/` that edges may use; each is weighed on its own. */
const EDGE_PACKAGES: ReadonlySet<string> = new Set(["prom-client"]);

/** What a room may import from beside `src`, and why. */
const OUTSIDE: Readonly<Record<string, RegExp>> = {
  // The demo runs simulated engines.
  demo: /^bench\/engine\//,
  // The simulation runs their model.
  simulate: /^bench\/engine\//,
  // The version of the program stands there.
  cli: /^deno\.json$/,
};

/** The level of a file, by its path in the project; `undefined` outside. */
export function levelOf(path: string): number | undefined {
  const level = LEVELS.findIndex((rooms) => rooms.includes(roomOf(path) ?? ""));
  return level < 0 ? undefined : level;
}

/**
 * What is wrong with an import; `undefined` when nothing is.
 *
 * @param path The importing file, as a path in the project.
 */
export function importProblem(
  path: string,
  specifier: string,
): string | undefined {
  if (/_test\.ts$/.test(path)) return undefined;
  const isSource = path === "main.ts" || path.startsWith("src/");
  const isRelative = /^\.\.?\//.test(specifier);
  if (isSource && !isRelative) return bareProblem(path, specifier);
  if (!isRelative) return undefined;
  const target = resolve(path, specifier);
  if (path === "main.ts") {
    return target.startsWith("src/cli/")
      ? undefined
      : `Cannot import "${target}" into main.ts, which sees src/cli only`;
  }
  if (path.startsWith("bench/engine/")) {
    return target.startsWith("src/")
      ? `Cannot import "${target}" into the simulated engine, which is the ` +
        "other side"
      : undefined;
  }
  return isSource ? sourceProblem(path, target) : undefined;
}

function bareProblem(path: string, specifier: string): string | undefined {
  if (specifier.startsWith("@std/")) return undefined;
  const level = levelOf(path);
  const isPure = level !== undefined && level <= PURE_LEVEL_MAX;
  if (specifier.startsWith("node:")) {
    return isPure && !PURE_NODE_MODULES.has(specifier)
      ? `Cannot import "${specifier}" into a pure room`
      : undefined;
  }
  if (!isPure && EDGE_PACKAGES.has(specifier)) return undefined;
  return `Cannot import "${specifier}" into src, which needs @std/ only`;
}

function sourceProblem(path: string, target: string): string | undefined {
  const [from, to] = [roomOf(path), roomOf(target)];
  if (from === to && from !== undefined) return undefined;
  if (OUTSIDE[from ?? ""]?.test(target)) return undefined;
  const [fromLevel, toLevel] = [levelOf(path), levelOf(target)];
  if (fromLevel === undefined) {
    return `Cannot find the room of "${path}" in tests/tidy/rooms.ts`;
  }
  if (toLevel !== undefined && toLevel < fromLevel) return undefined;
  return `Cannot import "${target}" into "${from}", which sees lower rooms only`;
}

/** The folder under `src`; `undefined` outside and for files right in it. */
function roomOf(path: string): string | undefined {
  return /^src\/([^/]+)\//.exec(path)?.[1];
}

/** Joins a relative specifier to the folder of a file. */
function resolve(path: string, specifier: string): string {
  const parts = path.split("/").slice(0, -1);
  for (const step of specifier.split("/")) {
    if (step === "..") parts.pop();
    else if (step !== ".") parts.push(step);
  }
  return parts.join("/");
}
