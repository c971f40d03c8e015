/**
 * The token of the admin API: where it is kept, for the gateway that asks for
 * it and for the commands that present it.
 *
 * It stands in the environment or in a file, never on a command line, which
 * every user of the machine can read.
 *
 * Invariant: no message shows a token, nor any part of one.
 *
 * @module
 */
import { type AdminSettings, isLoopbackHost } from "../config/admin.ts";
import type { Edge } from "./edge.ts";
import { SECRET_VARIABLES } from "./service_variables.ts";

/** Visible ASCII, as a header must carry it; 16 is past all guessing. */
const TOKEN = /^[\x21-\x7e]{16,1024}$/;

/** The longest token and an end of line. */
const FILE_BYTES_MAX = 2_048;

/** The bits of a file's mode by which everybody may do something. */
const OTHERS = 0o007;

const VARIABLE = SECRET_VARIABLES.adminToken.name;

/**
 * What is wrong with where the admin side listens, as one can tell before any
 * token is read; `undefined` for nothing.
 */
export function adminListenComplaint(
  { listen: { hostname, port }, tokenFile }: AdminSettings,
  edge: Edge,
): string | undefined {
  const hasToken = tokenFile !== undefined || edge.env(VARIABLE) !== undefined;
  if (hasToken || isLoopbackHost(hostname)) return undefined;
  return `Cannot use "admin.listen" as it must be an address of loopback` +
    ` unless there is a token, in "admin.token_file" or ${VARIABLE}: current` +
    ` value is "${hostname}:${port}"`;
}

/**
 * Reads the token; the variable goes before the file.
 *
 * Rejects with an `Error` that says what is wrong with it.
 *
 * @returns `undefined` when none is configured.
 */
export async function readAdminToken(
  file: string | undefined,
  edge: Edge,
): Promise<string | undefined> {
  const given = edge.env(VARIABLE);
  if (given !== undefined) return checked(given, VARIABLE);
  if (file === undefined) return undefined;
  const origin = `file "${file}"`;
  try {
    // Groups are how orchestrators give files to those who run as nobody.
    const { mode } = await Deno.stat(file);
    if (((mode ?? 0) & OTHERS) !== 0) {
      throw new Error(`others may use it: chmod 600 "${file}"`);
    }
    return checked(await edge.readTextFile(file, FILE_BYTES_MAX), origin);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (reason.startsWith("Cannot use")) throw error;
    throw new Error(`Cannot read the admin token from ${origin}: ${reason}`);
  }
}

function checked(text: string, origin: string): string {
  const token = text.trim();
  if (TOKEN.test(token)) return token;
  throw new Error(
    `Cannot use the admin token of ${origin} as it must be 16 to 1024` +
      ` characters of visible ASCII: current value has ${token.length}`,
  );
}
