/**
 * The file that keeps a snapshot, and how it is replaced.
 *
 * A new snapshot is written under another name in the same directory, brought
 * to the disk, and renamed over the old one, which is one step for whoever
 * looks. A process that is killed on the way, or a disk that is full, leaves
 * the old file as it was.
 *
 * Invariant: under its name there is nothing, or a file that was written whole.
 *
 * @module
 */
import { FORMAT, snapshotBytes } from "../core/sessions/session_snapshot.ts";
import { SnapshotRefusal } from "../core/sessions/snapshot_head.ts";

/** Sessions say who talks to which engine: nobody else's business. */
const FILE_MODE = 0o600;
const DIRECTORY_MODE = 0o700;

/**
 * A file that was begun and has not grown for so long belongs to nobody: a
 * snapshot takes seconds.
 */
const LEFT_MS = 600_000;

const FILE_NAME = "sessions.snapshot";

/** Says which process the file belongs to, by a mark of its own. */
const OWNER_NAME = "sessions.owner";

/** A draft has the number of its process behind that name. */
const DRAFT_NAME = /^sessions\.snapshot\.\d+$/;

/** What a file is written from. */
export interface SnapshotPieces {
  /** The file from front to end; a piece is used up before the next comes. */
  pieces(): Iterable<Uint8Array>;
  /** What replaces its front once all pieces are written. */
  opening(): Uint8Array;
}

/** One file. */
export class SnapshotFile {
  readonly path: string;
  readonly #directory: string;
  readonly #mark: string = crypto.randomUUID();

  /** The file of the sessions in a directory that need not exist yet. */
  constructor(directory: string) {
    this.#directory = directory;
    this.path = `${directory}/${FILE_NAME}`;
  }

  /**
   * Reads the file; `undefined` when there is none. Memory for it is taken
   * only when its opening says how long it is and that is how long it is.
   *
   * Rejects with a `SnapshotRefusal` when it cannot be a snapshot, and with
   * the operating system's error.
   */
  async read(): Promise<Uint8Array<ArrayBuffer> | undefined> {
    // Opening a pipe would wait for a writer.
    const isFile = await isFileAt(this.path);
    if (isFile === undefined) return undefined;
    if (!isFile) throw new SnapshotRefusal("is no file");
    using file = await Deno.open(this.path);
    const { size } = await file.stat();
    const opening = await readUpTo(file, FORMAT.openingBytes);
    const wanted = snapshotBytes(opening);
    if (size !== wanted) {
      throw new SnapshotRefusal(
        `has ${size} bytes: its opening tells of ${wanted}`,
      );
    }
    const bytes = new Uint8Array(wanted);
    bytes.set(opening);
    await readInto(file, bytes.subarray(opening.length));
    return bytes;
  }

  /**
   * Replaces the file; other things may run between any two pieces.
   *
   * Rejects with the operating system's error, and with what `pieces` throws;
   * the former file is there then.
   *
   * @returns The size in bytes.
   */
  async write(snapshot: SnapshotPieces): Promise<number> {
    const directory = this.#directory;
    await Deno.mkdir(directory, { recursive: true, mode: DIRECTORY_MODE });
    await this.#clear();
    const draft = `${this.path}.${Deno.pid}`;
    await removeIfThere(draft);
    try {
      const size = await writeDraft(draft, snapshot);
      await Deno.rename(draft, this.path);
      await syncDirectory(directory);
      return size;
    } catch (error) {
      await removeIfThere(draft).catch(() => {});
      throw error;
    }
  }

  /** Makes the file this one's; rejects with the operating system's error. */
  async claim(): Promise<void> {
    const directory = this.#directory;
    await Deno.mkdir(directory, { recursive: true, mode: DIRECTORY_MODE });
    const path = `${directory}/${OWNER_NAME}`;
    await Deno.writeTextFile(path, this.#mark, { mode: FILE_MODE });
  }

  /**
   * Whether somebody else has claimed the file since, and not given it up.
   *
   * Rejects with the operating system's error.
   */
  async isAnothers(): Promise<boolean> {
    try {
      const owner = await Deno.readTextFile(`${this.#directory}/${OWNER_NAME}`);
      // It is empty for the moment in which it is written.
      return owner !== "" && owner !== this.#mark;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return false;
      throw error;
    }
  }

  /** Gives the file up, where it is this one's. */
  async release(): Promise<void> {
    if (await this.isAnothers()) return;
    await removeIfThere(`${this.#directory}/${OWNER_NAME}`);
  }

  /** Removes what processes that were killed have left. */
  async #clear(): Promise<void> {
    for await (const { name } of Deno.readDir(this.#directory)) {
      if (!DRAFT_NAME.test(name)) continue;
      const path = `${this.#directory}/${name}`;
      const { mtime } = await Deno.lstat(path);
      const isLeft = Date.now() - (mtime?.getTime() ?? 0) > LEFT_MS;
      if (isLeft) await removeIfThere(path);
    }
  }
}

/** Whether there is a regular file; `undefined` when there is nothing. */
async function isFileAt(path: string): Promise<boolean | undefined> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Reads as many bytes as there are, at most `bytesMax`. */
async function readUpTo(
  file: Deno.FsFile,
  bytesMax: number,
): Promise<Uint8Array> {
  const buffer = new Uint8Array(bytesMax);
  let length = 0;
  while (length < bytesMax) {
    const count = await file.read(buffer.subarray(length));
    if (count === null) break;
    length += count;
  }
  return buffer.subarray(0, length);
}

/** Fills `bytes`; what is missing at the end of the file stays 0. */
async function readInto(file: Deno.FsFile, bytes: Uint8Array): Promise<void> {
  let length = 0;
  while (length < bytes.length) {
    const count = await file.read(bytes.subarray(length));
    if (count === null) return;
    length += count;
  }
}

async function writeDraft(
  path: string,
  snapshot: SnapshotPieces,
): Promise<number> {
  using file = await Deno.open(path, {
    write: true,
    // Whatever else has this name, a link for example, is not written to.
    createNew: true,
    mode: FILE_MODE,
  });
  let size = 0;
  for (const piece of snapshot.pieces()) {
    if (piece.length === 0) await turn();
    else await writeAll(file, piece);
    size += piece.length;
  }
  await file.seek(0, Deno.SeekMode.Start);
  await writeAll(file, snapshot.opening());
  await file.sync();
  return size;
}

async function writeAll(file: Deno.FsFile, bytes: Uint8Array): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    written += await file.write(bytes.subarray(written));
  }
}

/** Lets everything else that is due run first. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

async function removeIfThere(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/**
 * Brings the new name to the disk. Where a directory cannot be opened as a
 * file, the name comes to the disk when the system sees fit.
 */
async function syncDirectory(path: string): Promise<void> {
  try {
    using directory = await Deno.open(path);
    await directory.sync();
  } catch {
    // The file itself is safe under the one name or the other.
  }
}
