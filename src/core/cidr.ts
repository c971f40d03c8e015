/**
 * Network addresses and blocks of them, in CIDR notation (RFC 4632, RFC 4291).
 *
 * An IPv4 address that comes mapped into IPv6 (`::ffff:10.0.0.1`), as sockets
 * for both kinds report it, is the IPv4 address; so `::/0` holds no IPv4
 * address in any spelling, and `0.0.0.0/0` all of them.
 *
 * Invariant: what is no address in one of the usual spellings is in no block:
 * no leading zeros, which some read as octal, no zones, no ports.
 *
 * @module
 */

/** 10 zero bytes and two of ones come before a mapped IPv4 address. */
const MAPPED_BYTES = 12;

/** The longest text of an address: IPv6 that ends in dotted decimals. */
const TEXT_CHARS_MAX = 45;

/** A block of addresses: 4 or 16 bytes, of which the first bits count. */
export interface AddressBlock {
  readonly bytes: Uint8Array;
  readonly bits: number;
}

/** The 4 or 16 bytes of an address; `undefined` when `text` is none. */
export function parseAddress(text: string): Uint8Array | undefined {
  if (text.length > TEXT_CHARS_MAX) return undefined;
  if (!text.includes(":")) return parseV4(text);
  const bytes = parseV6(text);
  return bytes !== undefined && isMapped(bytes)
    ? bytes.subarray(MAPPED_BYTES)
    : bytes;
}

/**
 * Parses `ADDRESS/BITS`, or an address that is a block of its own.
 *
 * @returns `undefined` when it is neither, or has bits beyond its prefix, which
 * is mostly a typing error.
 */
export function parseBlock(text: string): AddressBlock | undefined {
  const [address = "", length, ...rest] = text.split("/");
  const bytes = parseAddress(address);
  if (bytes === undefined || rest.length > 0) return undefined;
  const bitsMax = bytes.length * 8;
  if (length === undefined) return { bytes, bits: bitsMax };
  if (!/^(?:0|[1-9]\d{0,2})$/.test(length)) return undefined;
  const isMappedText = bytes.length === 4 && address.includes(":");
  const bits = Number(length) - (isMappedText ? MAPPED_BYTES * 8 : 0);
  if (bits < 0 || bits > bitsMax) return undefined;
  const block = { bytes, bits };
  return hasBitsBeyond(block) ? undefined : block;
}

/** Whether an address, as text, is in one of the blocks. */
export function isWithin(
  text: string,
  blocks: readonly AddressBlock[],
): boolean {
  if (blocks.length === 0) return false;
  const bytes = parseAddress(text);
  return bytes !== undefined && blocks.some((block) => holds(block, bytes));
}

function holds({ bytes, bits }: AddressBlock, address: Uint8Array): boolean {
  if (bytes.length !== address.length) return false;
  return bytes.every((byte, at) =>
    ((byte ^ (address[at] ?? 0)) & maskOf(at, bits)) === 0
  );
}

function hasBitsBeyond({ bytes, bits }: AddressBlock): boolean {
  return bytes.some((byte, at) => (byte & ~maskOf(at, bits) & 0xff) !== 0);
}

/** The bits of the byte `at` that are within the first `bits`. */
function maskOf(at: number, bits: number): number {
  const within = Math.min(8, Math.max(0, bits - at * 8));
  return (0xff << (8 - within)) & 0xff;
}

function parseV4(text: string): Uint8Array | undefined {
  const parts = text.split(".");
  if (parts.length !== 4) return undefined;
  const isDecimal = parts.every((part) =>
    /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255
  );
  return isDecimal ? Uint8Array.from(parts, Number) : undefined;
}

function parseV6(text: string): Uint8Array | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const [head, tail] = halves.map((half, at) =>
    groupBytes(half, at === halves.length - 1)
  );
  if (head === undefined) return undefined;
  if (halves.length === 1) {
    return head.length === 16 ? Uint8Array.from(head) : undefined;
  }
  // The two colons stand for at least one group (RFC 4291, 2.2).
  if (tail === undefined || head.length + tail.length > 14) return undefined;
  const bytes = new Uint8Array(16);
  bytes.set(head);
  bytes.set(tail, 16 - tail.length);
  return bytes;
}

/** The bytes of groups of hexadecimal digits; the last may be IPv4. */
function groupBytes(text: string, isLast: boolean): number[] | undefined {
  if (text === "") return [];
  const groups = text.split(":");
  const bytes: number[] = [];
  for (const [at, group] of groups.entries()) {
    if (/^[0-9a-f]{1,4}$/i.test(group)) {
      const value = Number.parseInt(group, 16);
      bytes.push(value >> 8, value & 0xff);
    } else {
      const v4 = isLast && at === groups.length - 1
        ? parseV4(group)
        : undefined;
      if (v4 === undefined) return undefined;
      bytes.push(...v4);
    }
  }
  return bytes;
}

function isMapped(bytes: Uint8Array): boolean {
  return bytes.subarray(0, 10).every((byte) => byte === 0) &&
    bytes[10] === 0xff && bytes[11] === 0xff;
}
