/**
 * A simulated engine: reads requests and answers them over simulated
 * connections, as planned, or not.
 *
 * Invariant: every request whose head it has read is logged once as begun and
 * once as ended, with the payload that went out in between.
 *
 * @module
 */
import { type Chance, hashText } from "./chance.ts";
import type { EventLog } from "./events.ts";
import type { FaultName, Faults } from "./faults.ts";
import type { Flow } from "./flow.ts";
import type { Link, LinkListener, LinkOwner } from "./network.ts";
import {
  type AnswerFraming,
  planAnswer,
  type PlannedAnswer,
} from "./planned_answer.ts";
import { type ReadRequest, RequestReader } from "./request_reader.ts";
import type { SimulatedClock } from "./virtual_clock.ts";

/** Connections of one engine: far above what a workload opens. */
const LINKS_MAX = 4_096;

/** What an engine is made of. */
export interface FakeEndpointParts {
  readonly id: string;
  readonly clock: SimulatedClock;
  readonly chance: Chance;
  readonly log: EventLog;
  readonly flow: Flow;
  readonly framings: readonly AnswerFraming[];
  /** The faults of this moment. */
  readonly faults: () => Faults;
}

/** One engine. */
export class FakeEndpoint implements LinkListener {
  readonly id: string;
  readonly parts: FakeEndpointParts;
  /** Set while the engine has crashed. */
  isDown = false;
  readonly #connections = new Set<EngineConnection>();

  constructor(parts: FakeEndpointParts) {
    this.id = parts.id;
    this.parts = parts;
  }

  /** Connections that the engine has not seen closed. */
  get openCount(): number {
    return this.#connections.size;
  }

  accept(link: Link): LinkOwner {
    const connection = new EngineConnection(this, link);
    if (this.#connections.size >= LINKS_MAX) {
      throw new Error(`Cannot accept more than ${LINKS_MAX} connections`);
    }
    this.#connections.add(connection);
    return connection;
  }

  /** Breaks every connection and takes no more until `isDown` is unset. */
  crash(): void {
    this.isDown = true;
    for (const connection of [...this.#connections]) connection.reset();
  }

  forget(connection: EngineConnection): void {
    this.#connections.delete(connection);
  }

  strikes(name: FaultName, request?: string): boolean {
    const { chance, faults, log } = this.parts;
    const strikes = chance.happens(faults()[name]);
    if (strikes) {
      log.add({ kind: "fault", name, endpoint: this.id, request });
    }
    return strikes;
  }
}

/** One request being answered. */
interface EngineCall {
  readonly id: string;
  readonly answer: PlannedAnswer;
  sent: string;
  isRead: boolean;
  hasBegun: boolean;
}

/** One connection of an engine. */
class EngineConnection implements LinkOwner {
  readonly #endpoint: FakeEndpoint;
  readonly #link: Link;
  readonly #reader: RequestReader;
  #call: EngineCall | undefined;
  #stopIdle: () => void = () => {};

  constructor(endpoint: FakeEndpoint, link: Link) {
    this.#endpoint = endpoint;
    this.#link = link;
    this.#reader = new RequestReader({
      onHead: (request) => this.#begin(request),
      onWhole: (request, body) => this.#read(request, body),
      onRefused: (reason) => this.#refuse(reason),
    });
  }

  onBytes(bytes: Uint8Array): void {
    this.#reader.push(bytes);
    const { flow } = this.#endpoint.parts;
    if (this.#call !== undefined) flow.read(this.#call.id, bytes.length);
  }

  onClose(): void {
    this.#stopIdle();
    this.#endCall(false);
    this.#endpoint.forget(this);
  }

  reset(): void {
    this.#link.reset();
  }

  #begin(request: ReadRequest): void {
    const { id: endpoint, parts } = this.#endpoint;
    const { chance, framings, log } = parts;
    const id = request.headers.get("x-request-id") ?? "";
    if (this.#call !== undefined) this.#refuse("a request within another");
    this.#stopIdle();
    log.add({
      kind: "engine_begin",
      endpoint,
      request: id,
      method: request.method,
    });
    const strikes = (name: FaultName) => this.#endpoint.strikes(name, id);
    const answer = planAnswer({
      endpoint,
      request: id,
      chance,
      framings,
      strikes,
    });
    const call = { id, answer, sent: "", isRead: false, hasBegun: false };
    this.#call = call;
    if (strikes("stalledUpload")) this.#link.pause();
    if (answer.isEarly) void this.#answer(call);
  }

  #read(request: ReadRequest, body: string): void {
    const { id: endpoint, parts } = this.#endpoint;
    const call = this.#call;
    const id = request.headers.get("x-request-id") ?? "";
    // An early answer may have gone out before the body came.
    if (call === undefined || call.id !== id) return;
    call.isRead = true;
    this.#link.resume();
    const bodyHash = hashText(body);
    parts.log.add({ kind: "engine_read", endpoint, request: id, bodyHash });
    if (!call.hasBegun) void this.#answer(call);
  }

  #refuse(reason: string): void {
    const { id: endpoint, parts } = this.#endpoint;
    parts.log.add({ kind: "engine_refused", endpoint, reason });
    this.#link.reset();
  }

  async #answer(call: EngineCall): Promise<void> {
    const { clock } = this.#endpoint.parts;
    const { answer } = call;
    call.hasBegun = true;
    await clock.sleep(answer.firstByteMs);
    if (this.#call !== call) return;
    if (answer.breaks === "silent_head") return;
    if (answer.breaks === "reset_before_head") return this.#link.reset();
    if (answer.breaks === "not_http") {
      await this.#link.send(latin1Bytes("220 ready\r\n\r\n"));
      return this.#link.end();
    }
    // An answer that does not wait for the body closes behind it.
    const keeps = answer.framing !== "close" && call.isRead;
    await this.#link.send(latin1Bytes(headText(answer, keeps)));
    for (const [index, piece] of answer.pieces.entries()) {
      if (answer.breaks !== undefined && index === answer.breakAfter) {
        return this.#break(call, piece);
      }
      // The gap comes in front: with its last piece an answer is over.
      if (index > 0) await clock.sleep(answer.pieceGapMs);
      if (this.#call !== call) return;
      await this.#sendPiece(call, piece);
    }
    if (this.#call !== call) return;
    if (isChunked(answer)) await this.#link.send(latin1Bytes("0\r\n\r\n"));
    this.#endCall(true);
    if (!keeps) return this.#link.end();
    this.#stopIdle = clock.after(answer.keepAliveMs, () => this.#link.end());
  }

  #sendPiece(call: EngineCall, piece: string): Promise<boolean> {
    call.sent += piece;
    this.#endpoint.parts.flow.send(call.id, piece.length);
    const isChunk = isChunked(call.answer);
    const size = piece.length.toString(16);
    return this.#link.send(
      latin1Bytes(isChunk ? `${size}\r\n${piece}\r\n` : piece),
    );
  }

  /** Breaks an answer off within a piece, or stops in front of it. */
  async #break(call: EngineCall, piece: string): Promise<void> {
    const { breaks } = call.answer;
    if (breaks === "stall") return;
    const part = piece.slice(0, piece.length >> 1);
    call.sent += part;
    const size = piece.length.toString(16);
    const isChunk = isChunked(call.answer);
    await this.#link.send(latin1Bytes(isChunk ? `${size}\r\n${part}` : part));
    if (this.#call !== call) return;
    // An answer that ends with its connection cannot be seen to be truncated.
    const isSeen = breaks === "truncate" && call.answer.framing !== "close";
    if (isSeen) this.#link.end();
    else this.#link.reset();
  }

  #endCall(isWhole: boolean): void {
    const call = this.#call;
    if (call === undefined) return;
    this.#call = undefined;
    this.#endpoint.parts.log.add({
      kind: "engine_end",
      endpoint: this.#endpoint.id,
      request: call.id,
      status: call.answer.status,
      sent: call.sent,
      isWhole,
    });
  }
}

function isChunked({ framing }: PlannedAnswer): boolean {
  return framing === "chunked" || framing === "events";
}

function headText(answer: PlannedAnswer, keeps: boolean): string {
  const { framing, pieces, retryAfterS, status } = answer;
  const lines = answer.hasInterim ? ["HTTP/1.1 103 Early Hints", ""] : [];
  lines.push(`HTTP/1.1 ${status} As Planned`);
  const type = framing === "events" ? "text/event-stream" : "application/json";
  lines.push(`content-type: ${type}`);
  if (framing === "length") {
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
    lines.push(`content-length: ${length}`);
  } else if (isChunked(answer)) lines.push("transfer-encoding: chunked");
  if (retryAfterS !== undefined) lines.push(`retry-after: ${retryAfterS}`);
  if (!keeps) lines.push("connection: close");
  return `${lines.join("\r\n")}\r\n\r\n`;
}

function latin1Bytes(text: string): Uint8Array {
  return Uint8Array.from(text, (char) => char.charCodeAt(0));
}
