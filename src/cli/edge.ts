/**
 * What a command asks of the process: variables, files and the two streams.
 *
 * Invariant: no other file reads the environment, so that the binary can be
 * compiled with permission for the variables of three tables and no others.
 *
 * @module
 */

import { RUNTIME_VARIABLES } from "./runtime_variables.ts";

/** The process as a command sees it. */
export interface Edge {
  /** For example `2.9.6`. */
  readonly denoVersion: string;
  /** An environment variable; `undefined` when not set. */
  env(name: string): string | undefined;
  /**
   * Reads a whole file of at most `bytesMax` bytes as UTF-8.
   *
   * Rejects with the operating system's error, and with a `RangeError` when
   * the file goes on after that.
   */
  readTextFile(path: string, bytesMax: number): Promise<string>;
  /** Writes a line, or several, to standard output. */
  out(text: string): void;
  /** Writes a line, or several, to standard error. */
  err(text: string): void;
}

/** The real process, without the variables that only the runtime heeds. */
export function processEdge(): Edge {
  for (const name of RUNTIME_VARIABLES) Deno.env.delete(name);
  return {
    denoVersion: Deno.version.deno,
    env: (name) => Deno.env.get(name),
    readTextFile,
    out: (text) => writeLine(Deno.stdout, text),
    err: (text) => writeLine(Deno.stderr, text),
  };
}

async function readTextFile(path: string, bytesMax: number): Promise<string> {
  using file = await Deno.open(path);
  // One byte more than allowed tells a file that is too large from one that
  // just fits; sizes from `stat` are of no use for pipes and /proc.
  const buffer = new Uint8Array(bytesMax + 1);
  let size = 0;
  while (size < buffer.length) {
    const count = await file.read(buffer.subarray(size));
    if (count === null) break;
    size += count;
  }
  if (size > bytesMax) {
    throw new RangeError(`Cannot read more than ${bytesMax} bytes`);
  }
  return new TextDecoder("utf-8", { fatal: true })
    .decode(buffer.subarray(0, size));
}

function writeLine(stream: { writeSync(p: Uint8Array): number }, text: string) {
  const bytes = new TextEncoder().encode(`${text}\n`);
  let written = 0;
  while (written < bytes.length) {
    written += stream.writeSync(bytes.subarray(written));
  }
}
