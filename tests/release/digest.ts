/**
 * What a release says of its files, so that anybody can check them.
 *
 * Invariant: the list is what `sha256sum --check` reads, in the order of the
 * names.
 *
 * @module
 */

/** A file and what is in it. */
export interface ReleasedFile {
  readonly name: string;
  readonly byteCount: number;
  /** SHA-256 in hexadecimal digits. */
  readonly digest: string;
}

/** Reads a file through. */
export async function releasedFile(
  path: string,
  name: string,
): Promise<ReleasedFile> {
  const bytes = await Deno.readFile(path);
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return {
    name,
    byteCount: bytes.length,
    digest: new Uint8Array(digest).toHex(),
  };
}

/** The text of `SHA256SUMS`. */
export function sumsText(files: readonly ReleasedFile[]): string {
  return [...files]
    .sort((one, other) => one.name < other.name ? -1 : 1)
    .map(({ digest, name }) => `${digest}  ${name}\n`)
    .join("");
}

/**
 * Where two files differ: how many bytes, and the first of them; `undefined`
 * when they are the same.
 */
export async function differenceOf(
  onePath: string,
  otherPath: string,
): Promise<string | undefined> {
  const [one, other] = await Promise.all([
    Deno.readFile(onePath),
    Deno.readFile(otherPath),
  ]);
  if (one.length !== other.length) {
    return `${one.length} bytes and ${other.length} bytes`;
  }
  let count = 0;
  let first = -1;
  for (let at = 0; at < one.length; at++) {
    if (one[at] === other[at]) continue;
    count++;
    if (first < 0) first = at;
  }
  return count === 0
    ? undefined
    : `${count} of ${one.length} bytes, the first at ${first}`;
}
