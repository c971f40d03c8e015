/**
 * Reads a file of a request, or standard input, as bytes.
 *
 * Invariant: it is read to its end or refused; a request that is cut off would
 * be explained as another one.
 *
 * @module
 */

/** 64 MiB: far above what any window looks at, and below what hurts. */
const FILE_BYTES_MAX = 67_108_864;

/** What stands for standard input. */
const STDIN = "-";

/** Bytes read at once. */
const PIECE_BYTES = 65_536;

/**
 * Reads all there is, for as long as whoever writes it takes.
 *
 * Rejects with an `Error` that names the file.
 *
 * @param what What is in it, for errors.
 */
export async function readBytes(
  path: string,
  what: string,
): Promise<Uint8Array> {
  try {
    if (path === STDIN) return await readAll(Deno.stdin);
    using file = await Deno.open(path);
    return await readAll(file);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`Cannot read ${what} file "${path}": ${reason}`);
  }
}

async function readAll(
  source: { read(buffer: Uint8Array): Promise<number | null> },
): Promise<Uint8Array> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let byteCount = 0;
  for (;;) {
    const piece = new Uint8Array(PIECE_BYTES);
    const count = await source.read(piece);
    if (count === null) break;
    byteCount += count;
    if (byteCount > FILE_BYTES_MAX) {
      throw new Error(`it has more than ${FILE_BYTES_MAX} bytes`);
    }
    pieces.push(piece.subarray(0, count));
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}
