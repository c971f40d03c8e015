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
  /** Whether the body is read to its end when the client has left. */
  readonly drainsWhenGone: boolean;
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
  /** The read under way, so that there is never a second one beside it. */
  #reading: Promise<Uint8Array | undefined> | undefined;

  constructor(body: BodySource, options: RelayOptions) {
    this.length = body.length;
    this.#body = body;
    this.#options = options;
  }

  async read(): Promise<Uint8Array | undefined> {
    if (this.#failure !== undefined) throw this.#failure;
    let chunk: Uint8Array | undefined;
    try {
      this.#reading = this.#body.read();
      chunk = await this.#reading;
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
    if (this.#hasEnded) return;
    if (this.#options.drainsWhenGone) this.#drain();
    else {
      this.#body.cancel();
      this.#end({ kind: "client_gone" });
    }
  }

  /** Takes the rest of the answer for nobody; the engine's limits bound it. */
  async #drain(): Promise<void> {
    try {
      await this.#reading;
      while (await this.#body.read() !== undefined);
    } catch {
      // Nobody is left to be told.
    }
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
