/**
 * Bodies of at most 1 MiB that inflate to 1 GiB.
 *
 * Each is a JSON document that never ends its first string, so that a scanner
 * has a reason to go on, and uses the largest window that its coding has.
 *
 * Invariant: a decoder gets no error before the end of the 1 GiB.
 *
 * @module
 */
import {
  constants,
  createBrotliCompress,
  createZstdCompress,
  deflateRawSync,
} from "node:zlib";

const PIECE = new Uint8Array(16 * 1024 * 1024).fill(0x61);
const PIECE_COUNT = 64;
const START = new TextEncoder().encode('{"p":"');

/** Most bytes of a bomb. */
export const BOMB_BYTES_MAX = 1024 * 1024;

/** What stands before deflated data (RFC 1952, 2.3; RFC 1950, 2.2). */
const OPENINGS = {
  gzip: Uint8Array.of(31, 139, 8, 0, 0, 0, 0, 0, 0, 255),
  deflate: Uint8Array.of(0x78, 0x9c),
} as const;

/** A stream that compresses. */
interface Compressor {
  on(event: "data", listener: (piece: Uint8Array) => void): unknown;
  write(bytes: Uint8Array, done: () => void): unknown;
  end(done: () => void): unknown;
}

/** All bombs by name, which begins with the coding. */
const BOMBS: Readonly<Record<string, () => Promise<Uint8Array>>> = {
  gzip: () => deflated(OPENINGS.gzip),
  deflate: () => deflated(OPENINGS.deflate),
  br: () => compressed(brotli(constants.BROTLI_DEFAULT_WINDOW)),
  "br, wide": () => compressed(brotli(constants.BROTLI_MAX_WINDOW_BITS)),
  zstd: () =>
    compressed(
      createZstdCompress({ params: { [constants.ZSTD_c_windowLog]: 27 } }),
    ),
};

/** Makes all bombs by name, which begins with the coding; takes seconds. */
export async function makeBombs(): Promise<[string, Uint8Array][]> {
  const bombs: [string, Uint8Array][] = [];
  for (const [name, make] of Object.entries(BOMBS)) {
    bombs.push([name, await make()]);
  }
  return bombs;
}

function brotli(windowBits: number): Compressor {
  return createBrotliCompress({
    params: {
      [constants.BROTLI_PARAM_QUALITY]: 2,
      [constants.BROTLI_PARAM_LGWIN]: windowBits,
    },
  });
}

/**
 * One piece deflated once and put in as often as needed: a full flush ends at a
 * byte and refers to nothing before it.
 */
function deflated(opening: Uint8Array): Promise<Uint8Array> {
  const options = { level: 9, finishFlush: constants.Z_FULL_FLUSH };
  const piece = deflateRawSync(PIECE, options);
  return joined([
    opening,
    deflateRawSync(START, options),
    ...new Array<Uint8Array>(PIECE_COUNT).fill(piece),
  ]);
}

async function compressed(stream: Compressor): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  stream.on("data", (piece) => pieces.push(piece));
  const write = (bytes: Uint8Array) =>
    new Promise<void>((resolve) => stream.write(bytes, resolve));
  await write(START);
  for (let i = 0; i < PIECE_COUNT; i++) await write(PIECE);
  await new Promise<void>((resolve) => stream.end(resolve));
  return await joined(pieces);
}

async function joined(pieces: readonly Uint8Array[]): Promise<Uint8Array> {
  return new Uint8Array(
    await new Blob([...pieces] as BlobPart[]).arrayBuffer(),
  );
}
