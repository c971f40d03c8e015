/**
 * What tests cannot ask of the listener of Deno 2.7, each with its reason.
 *
 * Invariant: this is the only place where tests make a difference between
 * versions of Deno; on the target version nothing is let off.
 *
 * @module
 */
import { serverQuirks } from "../../src/server/deno_versions.ts";

/** What is lacking, by the name that tests use. */
const LACKING = {
  rawTarget: "refuses targets with characters that no URI may have",
  boundedHead: "takes heads of more than 64 KiB",
  fieldOrder: "puts header fields in an order of its own and adds some",
  eventBeforeBreak: "drops what was written just before a stream breaks",
  codingBeforeLength: "drops a length that comes after a transfer coding",
  strictExtension: "takes a NUL in the extension of a chunk",
  tunnelFarewell: "leaves tunnels open when their listener has ended",
  http2Client: "has an HTTP/2 client that cannot use TLS",
  closedRefusal: "keeps a connection open whose target it has refused",
} as const satisfies Readonly<Record<string, string>>;

/** The name of what may be lacking. */
export type Lacking = keyof typeof LACKING;

/** Why the running listener cannot do this; `undefined` when it can. */
export function lacks(name: Lacking): string | undefined {
  const { deliversBeforeBreak } = serverQuirks(Deno.version.deno);
  return deliversBeforeBreak ? undefined : LACKING[name];
}
