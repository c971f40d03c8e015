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
import type { Budget } from "../core/counting/budget.ts";
import { GatewayError } from "../core/error.ts";
import type { BodySniff, FoundKey } from "../core/scan/body_sniff.ts";
import type { KeyPlan } from "../core/scan/key_plan.ts";
import { headerValue, type RequestHead } from "../core/request.ts";
import type { UpstreamBody } from "../upstream/client.ts";
import type { ClientRequest, RequestBody } from "./client_request.ts";
import { contentCoding, EncodedScan } from "./encoded_scan.ts";
import type { Inflate } from "./inflate.ts";
import type { ProgressWatch } from "./progress.ts";
import type { Tenancy } from "./tenancy.ts";
import { EMPTY_BODY, WatchedBody } from "./watched_body.ts";

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

/** What is known of a request once its body may flow. */
export interface Sniffed {
  found: FoundKey | undefined;
  readonly model: string | undefined;
  /** What to send: whole, or what was held and the rest to come. */
  body: UpstreamBody | undefined;
  /** Declared length of a body that is still to come. */
  readonly contentLength: number | undefined;
  /** Whether the window filled before the key was known. */
  readonly windowFull: boolean;
  /** Whether the scanner could not read the body. */
  readonly gaveUp: boolean;
  /** Bytes of the body read so far, as they came. */
  byteCount(): number;
  /** Makes the session one of those of a tenant. */
  scopeTo(tenancy: Pick<Tenancy, "scope">): void;
  /** Lets go of the body and its share of the sniff memory. Idempotent. */
  release(): void;
}

/** What configuration says about reading bodies. */
export interface SniffLimits {
  /** Most bytes held while the key is unknown. */
  readonly windowBytes: number;
  /** Largest request body accepted. */
  readonly bodyBytesMax: number;
  /** Longest wait for the next bytes of a body; `Infinity` for no limit. */
  readonly progressMs: number;
}

/** What one request is sniffed for, and within what. */
export interface SniffNeeds {
  /** Whether the pool cannot be chosen without the model. */
  readonly model: boolean;
  /** Whether the body is wanted whole, as far as the window holds it. */
  readonly whole?: boolean;
  /** Largest body accepted, where that is less than `limits` allows. */
  readonly bodyBytesMax?: number | undefined;
}

/** What a sniffer is made of. */
export interface SnifferParts {
  readonly plan: KeyPlan;
  readonly limits: SniffLimits;
  readonly inflate: Inflate;
  readonly budget: Budget;
  readonly progress: ProgressWatch;
}

/** Sniffs requests by one plan. */
export class Sniffer {
  readonly #parts: SnifferParts;

  constructor(parts: SnifferParts) {
    this.#parts = parts;
  }

  /**
   * @throws {GatewayError} `body_too_large`, `body_too_slow`,
   * `request_body_broken`, `sniff_memory_full`.
   */
  sniff(
    request: ClientRequest,
    needs: SniffNeeds,
  ): Sniffed | Promise<Sniffed> {
    const { limits, plan } = this.#parts;
    const { head, body } = request;
    const found = plan.fromHead(head);
    const hold = new Hold(this.#parts.budget);
    if (body === undefined) return sniffed(hold, found, undefined);
    const { length } = body;
    const bytesMax = Math.min(
      limits.bodyBytesMax,
      needs.bodyBytesMax ?? Infinity,
    );
    if (length !== undefined && length > bytesMax) {
      throw new GatewayError("body_too_large");
    }
    const sniff = this.#bodySniff(head, found, needs.model);
    const isWhole = needs.whole === true;
    const coding = contentCoding(head);
    const task = { hold, found, sniff, coding, isWhole, bytesMax };
    return length !== undefined && length <= WHOLE_BODY_BYTES_MAX
      ? this.#sniffWhole(task, body, length)
      : this.#sniffStream(task, body);
  }

  /** The sniff of a body that can still change the decision, if it can. */
  #bodySniff(
    head: RequestHead,
    found: FoundKey | undefined,
    needModel: boolean,
  ): BodySniff | undefined {
    const { plan } = this.#parts;
    if (!needModel && !plan.bodyMayImprove(found)) return undefined;
    const type = headerValue(head.headers, "content-type");
    if (type !== undefined && OPAQUE_TYPE.test(type)) return undefined;
    return plan.createSniff(found, { needModel });
  }

  /** Takes a small body in one read. */
  async #sniffWhole(
    task: Task,
    body: RequestBody,
    length: number,
  ): Promise<Sniffed> {
    const { hold, found, sniff, coding } = task;
    hold.take(length);
    let bytes: Uint8Array;
    try {
      bytes = await this.#parts.progress.within(body.whole());
    } catch (cause) {
      hold.release();
      throw asBodyFailure(cause);
    }
    if (sniff !== undefined && coding !== undefined) {
      const scan = this.#encodedScan(coding, sniff);
      if (!await scan.push(bytes)) sniff.end();
      scan.close();
    } else if (sniff?.push(bytes) === false) sniff.end();
    return sniffed(hold, found, sniff, { body: bytes });
  }

  /** Holds chunks until the sniff is decided, the window full or all read. */
  async #sniffStream(task: Task, body: RequestBody): Promise<Sniffed> {
    const { limits, progress } = this.#parts;
    const { hold, found, sniff, coding, isWhole } = task;
    const { length } = body;
    const rest = new WatchedBody(body, progress, task.bytesMax);
    const held: Uint8Array[] = [];
    if (sniff === undefined) {
      return sniffed(hold, found, undefined, {
        source: rest,
        body: { held, rest },
        contentLength: length,
      });
    }
    const scan = coding === undefined
      ? sniff
      : this.#encodedScan(coding, sniff);
    try {
      while (
        (isWhole || !sniff.isDecided) && hold.byteCount < limits.windowBytes
      ) {
        const chunk = await rest.read();
        if (chunk === undefined) {
          sniff.end();
          return sniffed(hold, found, sniff, {
            source: rest,
            body: { held, rest: EMPTY_BODY },
            contentLength: hold.byteCount,
          });
        }
        hold.take(chunk.length);
        held.push(chunk);
        if (await scan.push(chunk) && !isWhole) break;
      }
    } catch (cause) {
      hold.release();
      body.cancel();
      throw asBodyFailure(cause);
    } finally {
      if (scan instanceof EncodedScan) scan.close();
    }
    return sniffed(hold, found, sniff, {
      source: rest,
      body: { held, rest },
      contentLength: length,
      windowFull: hold.byteCount >= limits.windowBytes && !sniff.isDecided,
    });
  }

  #encodedScan(coding: string, sniff: BodySniff): EncodedScan {
    const { inflate, limits } = this.#parts;
    const bytesMax = limits.windowBytes * DECODED_PER_WINDOW_BYTE;
    return new EncodedScan(inflate(coding), sniff, bytesMax);
  }
}

/** A sniff under way. */
interface Task {
  readonly hold: Hold;
  readonly found: FoundKey | undefined;
  readonly sniff: BodySniff | undefined;
  readonly coding: string | undefined;
  readonly isWhole: boolean;
  readonly bytesMax: number;
}

/** What one request holds of the sniff memory of all. */
class Hold {
  readonly #budget: Budget;
  #units = 0;
  byteCount = 0;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  /** @throws {GatewayError} `sniff_memory_full`. */
  take(byteCount: number): void {
    const units = this.#budget.takeSniff(byteCount, this.byteCount);
    if (units < 0) throw new GatewayError("sniff_memory_full");
    this.#units += units;
    this.byteCount += byteCount;
  }

  release(): void {
    this.#budget.giveSniff(this.#units);
    this.#units = 0;
  }
}

/** A failed read is the client's fault, unless it says otherwise. */
function asBodyFailure(cause: unknown): GatewayError {
  return cause instanceof GatewayError
    ? cause
    : new GatewayError("request_body_broken", { cause });
}

function sniffed(
  hold: Hold,
  found: FoundKey | undefined,
  sniff: BodySniff | undefined,
  rest: {
    body?: UpstreamBody;
    source?: WatchedBody;
    contentLength?: number | undefined;
    windowFull?: boolean;
  } = {},
): Sniffed {
  const { body, source } = rest;
  const wholeLength = body instanceof Uint8Array ? body.length : 0;
  return {
    found: sniff?.found ?? found,
    model: sniff?.model,
    body: rest.body,
    contentLength: rest.contentLength,
    windowFull: rest.windowFull ?? false,
    gaveUp: sniff?.gaveUp ?? false,
    byteCount: () => source?.byteCount ?? wholeLength,
    scopeTo(tenancy) {
      if (this.found === undefined) return;
      this.found = { ...this.found, hash: tenancy.scope(this.found.hash) };
    },
    release() {
      this.body = undefined;
      hold.release();
    },
  };
}
