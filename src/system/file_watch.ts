/**
 * Notices that a file says something else than before.
 *
 * The folder is watched, not the file: editors and tools write a new file and
 * rename it into place, and Kubernetes renames a symbolic link beside it
 * (`..data`), so the file that was opened never changes. Where changes are not
 * told, as on network disks, behind links into other folders or when a folder
 * is exchanged as a whole, a look every few seconds finds them.
 *
 * A change counts once two looks in a row have found the same, so that a file
 * that is being written, or is gone for a moment, is left alone.
 *
 * Invariant: what is told of is a difference in what the file says, never a
 * mere touch, and the latest one is told. Only regular files are read: reading
 * a pipe would take away what others are meant to get.
 *
 * @module
 */
import { dirname } from "node:path";
import { hashBytes } from "../core/hash.ts";
import type { Clock } from "../core/outside.ts";

/** Milliseconds between two looks that nobody asks for. */
const POLL_MS = 5_000;

/** Milliseconds from a change until it is looked at, and looked at again. */
const SETTLE_MS = 200;

/** Larger files are told apart by their size and time alone. */
const FILE_BYTES_MAX = 2 ** 20;

/** What a watch is made of. */
export interface FileWatchParts {
  readonly path: string;
  readonly clock: Clock;
  /**
   * The file says something else. Called once for what it says at the start
   * as well: it may have changed since whoever asks has read it.
   */
  readonly changed: () => void;
  /** `POLL_MS`, but for tests. */
  readonly pollMs?: number;
  /** Whether the folder is watched; always, but for tests. */
  readonly watchesFolder?: boolean;
}

/** Watches one file until it is closed. */
export class FileWatch {
  readonly #parts: FileWatchParts;
  readonly #watcher: Deno.FsWatcher | undefined;
  /** What the file said when that was last told. */
  #told: string | undefined;
  /** What it said at the last look, if that is not what was told. */
  #seen: string | undefined;
  #isLooking = false;
  #isClosed = false;
  #cancelPoll: () => void = () => {};
  #cancelSoon: (() => void) | undefined;

  constructor(parts: FileWatchParts) {
    this.#parts = parts;
    if (parts.watchesFolder !== false) this.#watcher = watcherOf(parts.path);
    if (this.#watcher !== undefined) this.#listen(this.#watcher);
    this.#poll();
    this.#lookSoon();
  }

  /** Looks no more. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#cancelPoll();
    this.#cancelSoon?.();
    this.#watcher?.close();
  }

  async #listen(watcher: Deno.FsWatcher): Promise<void> {
    try {
      for await (const { kind } of watcher) {
        // A look is an access itself.
        if (kind !== "access") this.#lookSoon();
      }
    } catch {
      // The looks go on without it.
    }
  }

  #poll(): void {
    const { clock, pollMs = POLL_MS } = this.#parts;
    this.#cancelPoll = clock.after(pollMs, () => {
      this.#poll();
      this.#look();
    });
  }

  #lookSoon(): void {
    if (this.#cancelSoon !== undefined || this.#isClosed) return;
    this.#cancelSoon = this.#parts.clock.after(SETTLE_MS, () => {
      this.#cancelSoon = undefined;
      this.#look();
    });
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const says = await fingerprint(this.#parts.path);
    this.#isLooking = false;
    if (this.#isClosed) return;
    if (says === this.#told) this.#seen = undefined;
    else if (says === this.#seen) {
      this.#told = says;
      this.#seen = undefined;
      this.#parts.changed();
    } else {
      this.#seen = says;
      this.#lookSoon();
    }
  }
}

/**
 * Whether what is there is one, also behind links; `undefined` when nothing
 * can be seen there. Never rejects.
 */
export async function isRegularFile(
  path: string,
): Promise<boolean | undefined> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch {
    return undefined;
  }
}

/** The watcher of the folder; `undefined` where there can be none. */
function watcherOf(path: string): Deno.FsWatcher | undefined {
  try {
    return Deno.watchFs(dirname(path), { recursive: false });
  } catch {
    return undefined;
  }
}

/** Unlike that of the same file when it says something else. */
async function fingerprint(path: string): Promise<string> {
  try {
    const { isFile, mtime, size } = await Deno.stat(path);
    if (!isFile) return "no file";
    if (size > FILE_BYTES_MAX) return `large ${size} ${mtime?.getTime()}`;
    const bytes = await Deno.readFile(path);
    const { a, b } = hashBytes(bytes);
    return `${bytes.length} ${a} ${b}`;
  } catch (error) {
    return error instanceof Error ? error.name : String(error);
  }
}
