/**
 * The sniff phase: finds the session key and the model of a request while its
 * body is still arriving, and says what is to be forwarded.
 *
 * Invariant: bytes are held only while the decision is open, at most the sniff
 * window and one chunk of them; from the decision on they flow as the client
 * sends them. What goes upstream is byte for byte what came, compressed or
 * not, readable or not: nothing is validated here.
 *
 * @module
 */
import type { BodySource } from "../core/body.ts";
import { GatewayError } from "../core/error.ts";
import type { BodySniff, FoundKey } from "../core/body_sniff.ts";
import type { KeyPlan } from "../core/key_plan.ts";
import { headerValue, type RequestHead } from "../core/request.ts";
import type { UpstreamBody } from "../upstream/client.ts";
import type { ClientRequest, RequestBody } from "./client_request.ts";
import type { Inflate, Inflater } from "./inflate.ts";

/**
 * A body declared this small is taken in one read: reading it by chunks costs
 * more than the rest of the gateway's work on it.
 */
const WHOLE_BODY_BYTES_MAX = 65_536;

/**
 * Decoded bytes looked at per byte of sniff window: JSON compresses about this
 * much, and scanning more would let a small body buy much work.
 */
const DECODED_PER_WINDOW_BYTE = 8;

/** Bodies of these types hold no JSON at their start. */
const OPAQUE_TYPE = /^(?:multipart|audio|image|video)\/|^application\/octet-/i;

/** What configuration says about sniffing. */
export interface SniffLimits {
  /** Most bytes held while the key is unknown. */
  readonly windowBytes: number;
  /** Largest request body accepted. */
  readonly bodyBytesMax: number;
}

/** What is known of a request once its body may flow. */
export interface Sniffed {
  readonly found: FoundKey | undefined;
  readonly model: string | undefined;
  /** What to send: whole, or what was held and the rest to come. */
  readonly body: UpstreamBody | undefined;
  /** Declared length of a body that is still to come. */
  readonly contentLength: number | undefined;
  /** Whether the window filled before the key was known. */
  readonly windowFull: boolean;
  /** Whether the scanner could not read the body. */
  readonly gaveUp: boolean;
}

/** Sniffs requests by one plan. */
export class Sniffer {
  readonly #plan: KeyPlan;
  readonly #limits: SniffLimits;
  readonly #inflate: Inflate;

  constructor(plan: KeyPlan, limits: SniffLimits, inflate: Inflate) {
    this.#plan = plan;
    this.#limits = limits;
    this.#inflate = inflate;
  }

  /**
   * @param needModel Whether the pool cannot be chosen without the model.
   * @throws {GatewayError} `body_too_large`, `request_body_broken`.
   */
  async sniff(request: ClientRequest, needModel: boolean): Promise<Sniffed> {
    const { head, body } = request;
    const found = this.#plan.fromHead(head);
    if (body === undefined) return decided(found, undefined, {});
    const { length } = body;
    if (length !== undefined && length > this.#limits.bodyBytesMax) {
      throw new GatewayError("body_too_large");
    }
    const sniff = this.#bodySniff(head, found, needModel);
    const coding = contentCoding(head);
    if (length !== undefined && length <= WHOLE_BODY_BYTES_MAX) {
      const bytes = await wholeBody(body);
      if (sniff !== undefined && coding !== undefined) {
        await this.#scanEncoded(sniff, coding, bytes);
      } else if (sniff?.push(bytes) === false) sniff.end();
      return decided(found, sniff, { body: bytes });
    }
    const counted = new CountedBody(body, this.#limits.bodyBytesMax);
    if (sniff === undefined) {
      return decided(found, undefined, {
        body: { held: [], rest: counted },
        contentLength: length,
      });
    }
    return await this.#sniffStream({ counted, sniff, found, coding, length });
  }

  /** The sniff of a body that can still change the decision, if it can. */
  #bodySniff(
    head: RequestHead,
    found: FoundKey | undefined,
    needModel: boolean,
  ): BodySniff | undefined {
    if (!needModel && !this.#plan.bodyMayImprove(found)) return undefined;
    const type = headerValue(head.headers, "content-type");
    if (type !== undefined && OPAQUE_TYPE.test(type)) return undefined;
    return this.#plan.createSniff(found, { needModel });
  }

  /** Holds chunks until the sniff is decided, the window full or all read. */
  async #sniffStream(task: {
    counted: CountedBody;
    sniff: BodySniff;
    found: FoundKey | undefined;
    coding: string | undefined;
    length: number | undefined;
  }): Promise<Sniffed> {
    const { counted, sniff, found, coding, length } = task;
    const held: Uint8Array[] = [];
    let heldBytes = 0;
    const scan = coding === undefined
      ? undefined
      : new EncodedScan(this.#inflate(coding), sniff, this.#decodedBytesMax());
    try {
      while (heldBytes < this.#limits.windowBytes) {
        const chunk = await readBody(counted);
        if (chunk === undefined) {
          sniff.end();
          return decided(found, sniff, {
            body: { held, rest: EMPTY_BODY },
            contentLength: heldBytes,
          });
        }
        held.push(chunk);
        heldBytes += chunk.length;
        const isDecided = scan === undefined
          ? sniff.push(chunk)
          : await scan.push(chunk);
        if (isDecided) break;
      }
    } finally {
      scan?.close();
    }
    return decided(found, sniff, {
      body: { held, rest: counted },
      contentLength: length,
      windowFull: heldBytes >= this.#limits.windowBytes && !sniff.isDecided,
    });
  }

  async #scanEncoded(
    sniff: BodySniff,
    coding: string,
    bytes: Uint8Array,
  ): Promise<void> {
    const scan = new EncodedScan(
      this.#inflate(coding),
      sniff,
      this.#decodedBytesMax(),
    );
    try {
      if (!await scan.push(bytes)) sniff.end();
    } finally {
      scan.close();
    }
  }

  #decodedBytesMax(): number {
    return this.#limits.windowBytes * DECODED_PER_WINDOW_BYTE;
  }
}

/** A body that has ended. */
const EMPTY_BODY: BodySource = {
  length: 0,
  read: () => Promise.resolve(undefined),
  cancel: () => {},
};

/** Feeds decoded bytes to a sniff, up to a bound. */
class EncodedScan {
  readonly #inflater: Inflater | undefined;
  readonly #sniff: BodySniff;
  #bytesLeft: number;
  #isDone: boolean;

  constructor(
    inflater: Inflater | undefined,
    sniff: BodySniff,
    bytesMax: number,
  ) {
    this.#inflater = inflater;
    this.#sniff = sniff;
    this.#bytesLeft = bytesMax;
    this.#isDone = inflater === undefined;
  }

  /** Whether nothing more can be learned from this body. */
  async push(chunk: Uint8Array): Promise<boolean> {
    if (this.#isDone) return true;
    try {
      await this.#inflater?.push(chunk, (piece) => {
        this.#bytesLeft -= piece.length;
        this.#isDone = this.#sniff.push(piece) || this.#bytesLeft <= 0;
        return this.#isDone;
      });
    } catch {
      // Not what its Content-Encoding says: the engine may judge that.
      this.#isDone = true;
    }
    return this.#isDone;
  }

  close(): void {
    this.#inflater?.close();
  }
}

/** Counts a body as it flows and breaks it off beyond the limit. */
class CountedBody implements BodySource {
  readonly length: number | undefined;
  readonly #body: RequestBody;
  #bytesLeft: number;

  constructor(body: RequestBody, bytesMax: number) {
    this.length = body.length;
    this.#body = body;
    this.#bytesLeft = bytesMax;
  }

  async read(spare?: Uint8Array): Promise<Uint8Array | undefined> {
    const chunk = await this.#body.read(spare);
    if (chunk === undefined) return undefined;
    this.#bytesLeft -= chunk.length;
    if (this.#bytesLeft < 0) {
      this.#body.cancel();
      throw new GatewayError("body_too_large");
    }
    return chunk;
  }

  cancel(): void {
    this.#body.cancel();
  }
}

/** The request's content coding; `undefined` for none. */
function contentCoding(head: RequestHead): string | undefined {
  const value = headerValue(head.headers, "content-encoding");
  const coding = value?.trim().toLowerCase();
  return coding === "" || coding === "identity" ? undefined : coding;
}

async function wholeBody(body: RequestBody): Promise<Uint8Array> {
  try {
    return await body.whole();
  } catch (cause) {
    throw new GatewayError("request_body_broken", { cause });
  }
}

async function readBody(body: BodySource): Promise<Uint8Array | undefined> {
  try {
    return await body.read();
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause;
    throw new GatewayError("request_body_broken", { cause });
  }
}

function decided(
  found: FoundKey | undefined,
  sniff: BodySniff | undefined,
  rest: {
    body?: UpstreamBody;
    contentLength?: number | undefined;
    windowFull?: boolean;
  },
): Sniffed {
  return {
    found: sniff?.found ?? found,
    model: sniff?.model,
    body: rest.body,
    contentLength: rest.contentLength,
    windowFull: rest.windowFull ?? false,
    gaveUp: sniff?.gaveUp ?? false,
  };
}
