/**
 * How far the bytes of each request have come at the engines.
 *
 * Invariant: numbers only grow.
 *
 * @module
 */

/** Bytes of one request that engines have read, and those of its answers. */
export interface RequestFlow {
  /** With its framing, so that it is at least what was read of the body. */
  readBytes: number;
  sentBytes: number;
}

/** The flows of one world's requests. */
export class Flow {
  readonly #requests = new Map<string, RequestFlow>();

  of(request: string): Readonly<RequestFlow> {
    return this.#of(request);
  }

  read(request: string, byteCount: number): void {
    this.#of(request).readBytes += byteCount;
  }

  send(request: string, byteCount: number): void {
    this.#of(request).sentBytes += byteCount;
  }

  #of(request: string): RequestFlow {
    const known = this.#requests.get(request);
    if (known !== undefined) return known;
    const flow = { readBytes: 0, sentBytes: 0 };
    this.#requests.set(request, flow);
    return flow;
  }
}
