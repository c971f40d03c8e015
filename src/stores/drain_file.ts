/**
 * The file that keeps which endpoints operators have drained.
 *
 * It is text, one id a line, so that people can read and mend it. It is
 * replaced as a whole: written under another name and renamed.
 *
 * Invariant: under its name there is nothing, or a file that was written whole.
 *
 * @module
 */

/** Who drains what is nobody else's business. */
const FILE_MODE = 0o600;
const DIRECTORY_MODE = 0o700;

/** 256 ids of 128 bytes take 32 KiB; what is longer is no such file. */
const FILE_BYTES_MAX = 65_536;

const FILE_NAME = "drained.txt";

/** One file. */
export class DrainFile {
  readonly path: string;
  readonly #directory: string;

  /** The file of the drains in a directory that need not exist yet. */
  constructor(directory: string) {
    this.#directory = directory;
    this.path = `${directory}/${FILE_NAME}`;
  }

  /**
   * Reads the ids; none when there is no file.
   *
   * Rejects with a `RangeError` for what is no such file, and with the
   * operating system's error.
   */
  async read(): Promise<string[]> {
    try {
      const { isFile, size } = await Deno.stat(this.path);
      if (!isFile || size > FILE_BYTES_MAX) {
        throw new RangeError(
          `Cannot use what is no file of at most ${FILE_BYTES_MAX} bytes`,
        );
      }
      const text = await Deno.readTextFile(this.path);
      return text.split("\n").filter((line) => line !== "");
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return [];
      throw error;
    }
  }

  /** Replaces the file; rejects with the operating system's error. */
  async write(ids: readonly string[]): Promise<void> {
    await Deno.mkdir(this.#directory, {
      recursive: true,
      mode: DIRECTORY_MODE,
    });
    const draft = `${this.path}.${Deno.pid}`;
    const text = ids.map((id) => `${id}\n`).join("");
    await Deno.writeTextFile(draft, text, { mode: FILE_MODE });
    await Deno.rename(draft, this.path);
  }
}
