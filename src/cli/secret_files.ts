/**
 * The files with the API keys of clients and the credentials of endpoints.
 *
 * Both stand in files of their own, which their owner alone may use: a
 * configuration is read by many, and a command line by everybody.
 *
 * Invariant: no message shows anything of what is in them.
 *
 * @module
 */
import type { Config } from "../config/config.ts";
import { parseKeyLines } from "../config/key_lines.ts";
import type { ApiKey } from "../core/api_key.ts";
import type { Header } from "../core/request.ts";
import type { Secrets } from "../wiring/secrets.ts";
import type { Edge } from "./edge.ts";
import { SECRET_VARIABLES } from "./service_variables.ts";

/** 4,096 keys with their digests and dates take less than half of it. */
const KEYS_BYTES_MAX = 2 ** 20;

/** The longest token that servers take in a header, and an end of line. */
const CREDENTIAL_BYTES_MAX = 8_193;

/** Visible ASCII with blanks inside, as a header can carry it. */
const CREDENTIAL = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

const VARIABLE = SECRET_VARIABLES.apiKeys.name;

/** The bits of a file's mode by which others than its owner may use it. */
const OTHERS = 0o077;

/**
 * Reads all secrets that a configuration names.
 *
 * Rejects with an `Error` that says what is wrong with which file.
 */
export async function readSecrets(
  { auth, endpoints }: Pick<Config, "auth" | "endpoints">,
  edge: Edge,
): Promise<Secrets<ApiKey>> {
  const { keysFile } = auth;
  const given = edge.env(VARIABLE);
  const ofFile = keysFile === undefined ? undefined : await read(keysFile, {
    what: "the API keys",
    bytesMax: KEYS_BYTES_MAX,
    parse: keysOf,
  }, edge);
  const keys = given === undefined ? ofFile : merged(ofFile ?? [], given);
  const credentials = new Map<string, Header>();
  for (const { credential, id } of endpoints) {
    if (credential === undefined) continue;
    const { file, header } = credential;
    const what = `the credential of endpoint "${id}"`;
    const bytesMax = CREDENTIAL_BYTES_MAX;
    const kind = { what, bytesMax, parse: parseCredential };
    const value = await read(file, kind, edge);
    const isBearer = header === "authorization";
    credentials.set(id, [header, isBearer ? `Bearer ${value}` : value]);
  }
  return { keys, credentials };
}

/** The keys of a file: one that was emptied would lock everybody out. */
function keysOf(text: string): readonly ApiKey[] {
  const keys = parseKeyLines(text);
  if (keys.length === 0) throw new TypeError("It holds no key");
  return keys;
}

/** The keys of the file and those of the variable, no key twice. */
function merged(ofFile: readonly ApiKey[], given: string): readonly ApiKey[] {
  let own: readonly ApiKey[];
  try {
    own = parseKeyLines(given.replaceAll(",", "\n"));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`Cannot read the API keys from ${VARIABLE}: ${reason}`);
  }
  const known = new Set(ofFile.map(({ digest }) => digest));
  if (own.some(({ digest }) => known.has(digest))) {
    throw new Error(
      `Cannot read the API keys from ${VARIABLE}: the file has one of them too`,
    );
  }
  return [...ofFile, ...own];
}

/** How a file is read. */
interface Reading<T> {
  /** What is in it. */
  readonly what: string;
  readonly bytesMax: number;
  /** @throws {TypeError} that says what is wrong. */
  readonly parse: (text: string) => T;
}

async function read<T>(
  file: string,
  { bytesMax, parse, what }: Reading<T>,
  edge: Edge,
): Promise<T> {
  try {
    const { mode } = await Deno.stat(file);
    if (((mode ?? 0) & OTHERS) !== 0) {
      throw new Error(`others may use it: chmod 600 "${file}"`);
    }
    return parse(await edge.readTextFile(file, bytesMax));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`Cannot read ${what} from file "${file}": ${reason}`);
  }
}

function parseCredential(text: string): string {
  const credential = text.trim();
  if (CREDENTIAL.test(credential)) return credential;
  throw new TypeError(
    `it must be one line of visible ASCII, and has ${credential.length}` +
      " characters",
  );
}
