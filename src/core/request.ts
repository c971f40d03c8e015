/**
 * What is known of a request before its body is read.
 *
 * Invariant: nothing here is rewritten. The target is byte for byte what the
 * client sent (RFC 9112, section 3.2), and header names are lower case.
 *
 * @module
 */

/** One header field: lower-case name, value as latin-1 code units. */
export type Header = readonly [name: string, value: string];

/** Header fields in the order in which they came; names may repeat. */
export type HeaderList = readonly Header[];

/** The head of a request. */
export interface RequestHead {
  /** The method as sent; methods are case-sensitive (RFC 9110, 9.1). */
  readonly method: string;
  /** Path and query as sent, never normalized. */
  readonly target: string;
  readonly headers: HeaderList;
}

/** Returns the first value of a field, or `undefined`; `name` in lower case. */
export function headerValue(
  headers: HeaderList,
  name: string,
): string | undefined {
  for (const header of headers) if (header[0] === name) return header[1];
  return undefined;
}
