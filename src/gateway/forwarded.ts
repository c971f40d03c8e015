/**
 * The `Forwarded` header field (RFC 7239, 4): a list of hops, each of pairs.
 *
 * Invariant: what is written can be read, and what has two readings is read
 * not at all.
 *
 * @module
 */

/** One hop: who sent the request on to whoever wrote this. */
export interface Hop {
  /** An address, maybe with a port, or an obfuscated name. */
  readonly for?: string;
  readonly proto?: string;
  readonly host?: string;
}

/** More hops than any way has; a longer field is no proxy's. */
const HOPS_MAX = 64;

/** A pair of a token and a value, plain or quoted, and what is behind it. */
const PAIR =
  /[ \t]*([A-Za-z0-9!#$%&'*+.^_`|~-]+)=(?:([A-Za-z0-9!#$%&'*+.^_`|~:[\]-]+)|"((?:[^"\\]|\\.)*)")[ \t]*(;|,|$)/y;

/** A value that needs no quotes (RFC 9110, 5.6.2). */
const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;

/** The hops, the nearest last; `undefined` when the field cannot be read. */
export function forwardedHops(value: string): Hop[] | undefined {
  const hops: Hop[] = [];
  let pairs: Record<string, string> = {};
  PAIR.lastIndex = 0;
  for (let at = 0; at < value.length;) {
    const match = PAIR.exec(value);
    if (match === null) return undefined;
    const [whole, name = "", plain, quoted = "", end] = match;
    const key = name.toLowerCase();
    if (key in pairs) return undefined;
    pairs[key] = plain ?? quoted.replace(/\\(.)/g, "$1");
    at += whole.length;
    if (end === ";") continue;
    if (hops.length === HOPS_MAX) return undefined;
    hops.push(pairs);
    pairs = {};
    // A comma or a semicolon with nothing behind it.
    if (end === "," && at === value.length) return undefined;
  }
  return Object.keys(pairs).length === 0 ? hops : undefined;
}

/** One hop as text; an IPv6 address gets its brackets. */
export function forwardedElement(hop: Hop): string {
  const address = hop.for?.replace(/^[^[\]]*:[^[\]]*:[^[\]]*$/, "[$&]");
  const pairs: [string, string | undefined][] = [
    ["for", address],
    ["proto", hop.proto?.toLowerCase()],
    ["host", hop.host],
  ];
  return pairs
    .filter(([, value]) => value !== undefined)
    .map(([name, value = ""]) => `${name}=${quoted(value)}`)
    .join(";");
}

function quoted(value: string): string {
  return TOKEN.test(value) ? value : `"${value.replace(/["\\]/g, "\\$&")}"`;
}
