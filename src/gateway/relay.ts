/**
 * The relay phase: an engine's streaming answer on its way to the client.
 *
 * Invariant: bytes pass as they come, unread and unbuffered, and the client's
 * pace is the engine's pace. However the relay ends, `onEnd` is called exactly
 * once. An answer that the engine broke off never looks complete: the last
 * read rejects, and a stream of server-sent events gets one `error` event
 * first, since nothing else tells its reader why.
 *
 * @module
 */
import type { BodySource } from "../core/body.ts";
import { GatewayError } from "../core/error.ts";

/** How a relay ended. */
export type RelayEnd =
  | { readonly kind: "complete" }
  | { readonly kind: "client_gone" }
  | { readonly kind: "broken"; readonly error: GatewayError };

/** What a relay is told besides its body. */
export interface RelayOptions {
  /** The text to send as the last event, or `undefined` unless it is SSE. */
  readonly errorEvent:
    | ((error: GatewayError) => string)
    | undefined;
  /** Turns what the upstream client throws into a row of the error table. */
  readonly asError: (cause: unknown) => GatewayError;
  readonly onBytes: (byteCount: number) => void;
  readonly onEnd: (end: RelayEnd) => void;
}

const LINE_FEED = 0x0a;
const encoder = new TextEncoder();

/** An answer's body on its way through. */
export class RelayedBody implements BodySource {
  readonly length: number | undefined;
  readonly #body: BodySource;
  readonly #options: RelayOptions;
  /** Whether the last two bytes sent were line feeds: between two events. */
  #isBetweenEvents = true;
  #failure: GatewayError | undefined;
  #hasEnded = false;

  constructor(body: BodySource, options: RelayOptions) {
    this.length = body.length;
    this.#body = body;
    this.#options = options;
  }

  async read(): Promise<Uint8Array | undefined> {
    if (this.#failure !== undefined) throw this.#failure;
    let chunk: Uint8Array | undefined;
    try {
      chunk = await this.#body.read();
    } catch (cause) {
      return this.#break(this.#options.asError(cause));
    }
    if (chunk === undefined) {
      this.#end({ kind: "complete" });
      return undefined;
    }
    this.#isBetweenEvents = chunk.at(-1) === LINE_FEED &&
      chunk.at(-2) === LINE_FEED;
    this.#options.onBytes(chunk.length);
    return chunk;
  }

  cancel(): void {
    this.#body.cancel();
    this.#end({ kind: "client_gone" });
  }

  /** The error event where there is one to send; else rejects at once. */
  #break(error: GatewayError): Uint8Array {
    this.#failure = error;
    this.#end({ kind: "broken", error });
    const { errorEvent } = this.#options;
    if (errorEvent === undefined) throw error;
    const separator = this.#isBetweenEvents ? "" : "\n\n";
    return encoder.encode(`${separator}${errorEvent(error)}`);
  }

  #end(end: RelayEnd): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#options.onEnd(end);
  }
}
