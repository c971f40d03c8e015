/**
 * A simulated client: sends one request the way a listener would hand it over,
 * and takes the answer at its own pace, or goes away.
 *
 * Invariant: whatever happens, each request is logged once as begun, and once
 * as ended when the client has seen the end or left; a body is pulled by the
 * gateway or not read at all.
 *
 * @module
 */
import type { BodySource } from "../../src/core/body.ts";
import type { Header, RequestHead } from "../../src/core/request.ts";
import { headerValue } from "../../src/core/request.ts";
import type {
  Answer,
  ClientRequest,
  RequestBody,
} from "../../src/gateway/client_request.ts";
import type { Ending, EventLog } from "./events.ts";
import type { SimulatedClock } from "./virtual_clock.ts";

/** What a client is going to do. */
export interface ClientPlan {
  readonly id: string;
  readonly method: string;
  readonly target: string;
  readonly headers: readonly Header[];
  /** Pieces of the body as they come; `undefined` for none. */
  readonly pieces: readonly Uint8Array[] | undefined;
  /** Hash of the body, to compare with what an engine reads. */
  readonly bodyHash: number;
  /** Whether the key may lie beyond the sniff window. */
  readonly isKeyLate: boolean;
  readonly pieceGapMs: number;
  /** The piece that never comes although the client stays. */
  readonly stallsAt: number | undefined;
  /** Whether the length of the body is declared. */
  readonly isSized: boolean;
  /** Milliseconds between two reads of the answer. */
  readonly readGapMs: number;
  /** When the client goes away; `undefined` if it stays. */
  readonly leaves:
    | { readonly afterMs: number }
    | { readonly afterReads: number }
    | undefined;
}

/** Who answers. */
export type Handle = (request: ClientRequest) => Promise<Answer>;

/** What a client's request is played with. */
export interface ClientParts {
  readonly clock: SimulatedClock;
  readonly log: EventLog;
  readonly handle: Handle;
}

/** One client with one request. */
export class SimulatedClient {
  readonly #plan: ClientPlan;
  readonly #parts: ClientParts;
  readonly #body: ArrivingBody | undefined;
  readonly #decoder = new TextDecoder("latin1");
  #onGone: () => void = () => {};
  #isGone = false;
  /** Set while the answer is being read. */
  #answerBody: BodySource | undefined;
  #hasEnded = false;
  #received = "";
  #stopLeaving: () => void = () => {};

  constructor(plan: ClientPlan, parts: ClientParts) {
    this.#plan = plan;
    this.#parts = parts;
    this.#body = plan.pieces === undefined
      ? undefined
      : new ArrivingBody(plan, plan.pieces, parts.clock);
  }

  /** Bytes of the request that the gateway has taken. */
  get pulledBytes(): number {
    return this.#body?.pulledBytes ?? 0;
  }

  /** Payload received so far. */
  get receivedBytes(): number {
    return this.#received.length;
  }

  /** Resolves when the client has seen the end of the answer, or left. */
  async play(): Promise<void> {
    const { clock, handle } = this.#parts;
    const { leaves } = this.#plan;
    if (leaves !== undefined && "afterMs" in leaves) {
      this.#stopLeaving = clock.after(leaves.afterMs, () => this.#leave());
    }
    const answer = await handle(this.#request());
    this.#logAnswer(answer);
    await this.#take(answer);
    this.#stopLeaving();
  }

  #request(): ClientRequest {
    const { method, target, headers } = this.#plan;
    const head: RequestHead = { method, target, headers };
    return {
      head,
      body: this.#body,
      clientAddress: "192.0.2.1",
      scheme: "http",
      onGone: (callback) => {
        this.#onGone = callback;
        if (this.#isGone) callback();
      },
    };
  }

  #logAnswer({ status, headers }: Answer): void {
    const type = headerValue(headers, "content-type") ?? "";
    const error = headerValue(headers, "x-tryst-error");
    this.#parts.log.add({
      kind: "answer",
      request: headerValue(headers, "x-request-id") ?? "none",
      status,
      endpoint: headerValue(headers, "x-tryst-endpoint") ?? "none",
      affinity: headerValue(headers, "x-tryst-affinity") ?? "none",
      attempts: Number(headerValue(headers, "x-tryst-attempts")),
      error,
      isEvents: error === undefined && type === "text/event-stream",
    });
  }

  async #take({ body }: Answer): Promise<void> {
    if (this.#isGone) {
      if (body !== undefined && !(body instanceof Uint8Array)) body.cancel();
      this.#end("canceled");
    } else if (body === undefined || body instanceof Uint8Array) {
      this.#receive(body ?? new Uint8Array());
      this.#end("complete");
    } else {
      this.#answerBody = body;
      await this.#readAll(body);
    }
  }

  async #readAll(body: BodySource): Promise<void> {
    const { leaves, readGapMs } = this.#plan;
    for (let reads = 0; !this.#hasEnded; reads++) {
      if (leaves !== undefined && "afterReads" in leaves) {
        if (reads === leaves.afterReads) return this.#leave();
      }
      let chunk: Uint8Array | undefined;
      try {
        chunk = await body.read();
      } catch {
        return this.#end("broken");
      }
      if (this.#hasEnded) return;
      if (chunk === undefined) return this.#end("complete");
      this.#receive(chunk);
      if (readGapMs > 0) await this.#parts.clock.sleep(readGapMs);
    }
  }

  #receive(chunk: Uint8Array): void {
    this.#received += this.#decoder.decode(chunk);
  }

  #leave(): void {
    if (this.#isGone || this.#hasEnded) return;
    this.#isGone = true;
    const body = this.#answerBody;
    const hasSent = this.#body?.hasArrived ?? true;
    const phase = body !== undefined ? "relay" : hasSent ? "wait" : "upload";
    this.#parts.log.add({ kind: "gone", request: this.#plan.id, phase });
    this.#body?.breakOff();
    if (body === undefined) {
      this.#onGone();
      return;
    }
    body.cancel();
    this.#end("canceled");
  }

  #end(how: Ending): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#parts.log.add({
      kind: "end",
      request: this.#plan.id,
      how,
      received: this.#received,
    });
  }
}

/** A request body, some of which has not arrived. */
class ArrivingBody implements RequestBody {
  readonly length: number | undefined;
  pulledBytes = 0;
  readonly #pieces: readonly Uint8Array[];
  readonly #plan: ClientPlan;
  readonly #clock: SimulatedClock;
  #arrived = 0;
  #taken = 0;
  #isBroken = false;
  #wake: () => void = () => {};

  constructor(
    plan: ClientPlan,
    pieces: readonly Uint8Array[],
    clock: SimulatedClock,
  ) {
    const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
    this.length = plan.isSized ? bytes : undefined;
    this.#plan = plan;
    this.#pieces = pieces;
    this.#clock = clock;
    this.#arrive();
  }

  get hasArrived(): boolean {
    return this.#arrived >= this.#pieces.length;
  }

  async read(): Promise<Uint8Array | undefined> {
    for (;;) {
      if (this.#isBroken) throw new TypeError("Cannot read: client is gone");
      if (this.#taken < this.#arrived) break;
      if (this.hasArrived) return undefined;
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    const piece = this.#pieces[this.#taken++] ?? new Uint8Array();
    this.pulledBytes += piece.length;
    // The bytes are the reader's to overwrite.
    return piece.slice();
  }

  async whole(): Promise<Uint8Array> {
    const bytes = new Uint8Array(this.length ?? 0);
    for (let at = 0;;) {
      const piece = await this.read();
      if (piece === undefined) return bytes;
      bytes.set(piece, at);
      at += piece.length;
    }
  }

  cancel(): void {
    this.breakOff();
  }

  breakOff(): void {
    this.#isBroken = true;
    this.#wake();
  }

  #arrive(): void {
    const { pieceGapMs, stallsAt } = this.#plan;
    if (this.#isBroken || this.hasArrived || this.#arrived === stallsAt) return;
    this.#arrived++;
    this.#wake();
    this.#clock.after(pieceGapMs, () => this.#arrive());
  }
}
