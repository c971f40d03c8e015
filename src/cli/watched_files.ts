/**
 * The files that a running gateway was made from: its configuration, and what
 * that names of API keys and credentials. When one of them says something
 * else, all are read anew.
 *
 * Invariant: exactly the files of the last list are watched, each once.
 *
 * @module
 */
import type { Config } from "../config/config.ts";
import type { Clock } from "../core/outside.ts";
import { FileWatch } from "../system/file_watch.ts";

/**
 * Watchers of folders are few: Linux has 128 for each user unless told
 * otherwise (`fs.inotify.max_user_instances`). Beyond these, files are looked
 * at every few seconds, as all are.
 */
const FOLDER_WATCHERS_MAX = 16;

/** What watching is made of. */
export interface WatchedFilesParts {
  readonly clock: Clock;
  readonly changed: () => void;
}

/** Watches a list of files until it is closed. */
export class WatchedFiles {
  readonly #parts: WatchedFilesParts;
  readonly #watches = new Map<string, FileWatch>();

  constructor(parts: WatchedFilesParts) {
    this.#parts = parts;
  }

  /** Watches exactly these from now on. */
  watch(paths: readonly string[]): void {
    const wanted = new Set(paths);
    for (const [path, watch] of this.#watches) {
      if (wanted.has(path)) continue;
      watch.close();
      this.#watches.delete(path);
    }
    for (const path of wanted) {
      if (this.#watches.has(path)) continue;
      const watchesFolder = this.#watches.size < FOLDER_WATCHERS_MAX;
      const watch = new FileWatch({ ...this.#parts, path, watchesFolder });
      this.#watches.set(path, watch);
    }
  }

  /** Watches no more. */
  close(): void {
    this.watch([]);
  }
}

/** The files of secrets that a configuration names. */
export function secretPaths(
  { auth, endpoints }: Pick<Config, "auth" | "endpoints">,
): string[] {
  return [
    auth.keysFile,
    ...endpoints.map(({ credential }) => credential?.file),
  ].filter((path) => path !== undefined);
}
