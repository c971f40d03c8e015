/**
 * The id of each request: the client's own, or one that the gateway makes.
 *
 * Invariant: an id is harmless in a log and a header, and those made here are
 * unlike each other, those of other gateways included.
 *
 * @module
 */
import { type HeaderList, headerValue } from "../core/request.ts";

/** Most characters of a request id taken from a client. */
const REQUEST_ID_LENGTH_MAX = 128;

/**
 * The client's own request id where it is harmless in a log and a header
 * (visible ASCII, bounded length), else `undefined`.
 */
export function acceptableRequestId(
  value: string | undefined,
): string | undefined {
  if (value === undefined || value.length > REQUEST_ID_LENGTH_MAX) {
    return undefined;
  }
  return /^[\x21-\x7e]+$/.test(value) ? value : undefined;
}

/** Gives requests their ids. */
export class RequestIds {
  readonly #prefix: string;
  #count = 0;

  /** 40 random bits tell gateways apart; a count tells requests apart. */
  constructor(random: () => number) {
    const bits = Math.floor(random() * 2 ** 40);
    this.#prefix = `req-${bits.toString(32).padStart(8, "0")}`;
  }

  /** The id of a request with these headers. */
  idOf(headers: HeaderList): string {
    return acceptableRequestId(headerValue(headers, "x-request-id")) ??
      this.#prefix + (this.#count++).toString(32).padStart(8, "0");
  }
}
