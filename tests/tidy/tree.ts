/**
 * The files of the project, as the tidy tests look at them.
 *
 * Invariant: everything that is committed is seen, also in hidden folders;
 * what Git keeps for itself, what is built and what is kept as bytes is not.
 *
 * @module
 */

/** One text file. */
export interface ProjectFile {
  /** Relative to the project, with slashes. */
  readonly path: string;
  readonly text: string;
}

/** Not part of the project; the same names stand in `.gitignore`. */
const SKIPPED: ReadonlySet<string> = new Set([
  ".git",
  "coverage",
  "corpus",
  "node_modules",
  "tryst",
]);

const ROOT = new URL("../../", import.meta.url);

/** All text files, sorted by path. */
export async function projectFiles(): Promise<ProjectFile[]> {
  const paths = await Array.fromAsync(walk(""));
  const files = paths.sort().map(async (path) => ({
    path,
    text: await Deno.readTextFile(new URL(path, ROOT)),
  }));
  return await Promise.all(files);
}

/** Whether a file or a folder exists. */
export async function existsInProject(path: string): Promise<boolean> {
  try {
    await Deno.stat(new URL(path, ROOT));
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

async function* walk(folder: string): AsyncGenerator<string> {
  for await (const entry of Deno.readDir(new URL(folder || ".", ROOT))) {
    if (SKIPPED.has(entry.name)) continue;
    if (entry.isDirectory) yield* walk(`${folder}${entry.name}/`);
    else if (entry.isFile) yield folder + entry.name;
  }
}
