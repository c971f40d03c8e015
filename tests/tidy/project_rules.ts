/**
 * The house rules that only several files together can break.
 *
 * Invariant: each check is a function of texts, so that a test can plant a
 * violation without touching the project.
 *
 * @module
 */
import type { ProjectFile } from "./tree.ts";

/** Rooms whose files have to stand in a register, and what is beside them. */
const REGISTER_ROOMS: readonly {
  readonly folder: string;
  readonly registers: readonly string[];
  /** Files that others of the room are built on. */
  readonly besides: readonly string[];
}[] = [
  {
    folder: "src/policies/",
    registers: ["mod.ts"],
    besides: ["remaining.ts"],
  },
  {
    folder: "src/scheduling/",
    registers: ["mod.ts"],
    besides: ["level.ts"],
  },
  {
    folder: "src/session_keys/",
    registers: ["mod.ts", "filters.ts"],
    besides: ["defaults.ts", "parse.ts", "percent.ts"],
  },
];

/** Files of a register room that no register of the room exports. */
export function unregistered(files: readonly ProjectFile[]): string[] {
  return REGISTER_ROOMS.flatMap(({ folder, registers, besides }) => {
    const inside = files.filter(({ path }) =>
      path.startsWith(folder) && !path.endsWith("_test.ts")
    );
    const exported = inside
      .filter(({ path }) => registers.includes(path.slice(folder.length)))
      .flatMap((
        { text },
      ) => [...text.matchAll(/^export .* from "\.\/(.*)";$/gm)])
      .map((match) => match[1]);
    const known = new Set([...registers, ...besides, ...exported]);
    return inside
      .map(({ path }) => path)
      .filter((path) => !known.has(path.slice(folder.length)));
  });
}

/**
 * Paths of the project that a document names, in backquotes or as links.
 *
 * Patterns with a placeholder or a star are left out, as are command lines.
 */
export function namedPaths(text: string): string[] {
  const quoted = text.matchAll(
    /`((?:\.ci|src|tests|bench)\/[\w./-]*|main\.ts|deno\.json|LICENSE)`/g,
  );
  const linked = text.matchAll(/\]\(((?!\w+:|#)[^)\s#]+)/g);
  return [...quoted, ...linked].map((match) => match[1] ?? "");
}

/** Variables that a task of a `deno.json` may read, sorted. */
export function allowedVariables(denoJson: string, task: string): string[] {
  const line = new RegExp(`"${task}": ".*"`).exec(denoJson)?.[0] ?? "";
  const list = /--allow-env=([\w,]+)/.exec(line)?.[1];
  return list?.split(",").sort() ?? [];
}
