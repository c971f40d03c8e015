/**
 * The answer side of a small HTTP/1.1 server, and the faults of an answer.
 *
 * Invariant: a body of bytes goes out with its length and a stream goes out
 * chunked, one chunk an event and one write a chunk, unless a fault says
 * otherwise; and after an answer that was cut the connection is never reused.
 *
 * @module
 */
import { gzipSync } from "node:zlib";
import type { FaultSwitches } from "./faults.ts";
import { NO_FAULTS } from "./faults.ts";
import { pause } from "./pacer.ts";
import { joinBytes } from "./request_log.ts";

/** What a handler answers with. */
export interface Answer {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
}

/** Where an answer goes. */
export interface AnswerTarget {
  readonly conn: Deno.Conn;
  /** Whether the request was a HEAD, whose answer has no body. */
  readonly isHead: boolean;
  /** Aborts when the client goes; asked for only where there is a wait. */
  signal(): AbortSignal;
}

/** How the connection goes on after an answer. */
export type AfterAnswer = "keep" | "close" | "reset";

/** Long enough for what was written to reach a client before a reset. */
const RESET_SETTLE_MS = 20;

const GARBAGE = "\u0016\u0003\u0001 this is not HTTP\n\n\u00ff\u00fe\r\n\r\n";

const REASONS: Readonly<Record<number, string>> = {
  100: "Continue",
  102: "Processing",
  103: "Early Hints",
  200: "OK",
  400: "Bad Request",
  401: "Unauthorized",
  404: "Not Found",
  429: "Too Many Requests",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

const encoder = new TextEncoder();

/** Writes an answer with its faults; says what is to become of the connection. */
export async function writeAnswer(
  target: AnswerTarget,
  answer: Answer,
  switches: FaultSwitches,
): Promise<AfterAnswer> {
  if (switches === NO_FAULTS && answer.body instanceof Uint8Array) {
    const head = encodeHead(answer, ["content-length", answer.body.length]);
    const body = target.isHead ? [] : [answer.body];
    await writeAll(target.conn, concat([head, ...body]));
    return "keep";
  }
  if (switches.firstByteDelayMs !== undefined) {
    await pause(switches.firstByteDelayMs, target.signal());
  }
  if (switches.garbage === true) {
    await writeAll(target.conn, latin1(GARBAGE));
    return "close";
  }
  if (switches.informational !== undefined) {
    await writeAll(target.conn, encodeInterim(switches.informational));
  }
  const sent = switches.gzip === true ? await compressed(answer) : answer;
  const after = sent.body instanceof Uint8Array
    ? await writeFixed(target, sent, sent.body, switches)
    : await writeStream(target, sent, sent.body, switches);
  if (after === "keep" && switches.closeAfter !== undefined) return "close";
  if (after === "reset") await pause(RESET_SETTLE_MS, target.signal());
  return after;
}

/** An interim answer (RFC 9110, section 15.2). */
export function encodeInterim(status: 100 | 102 | 103): Uint8Array {
  const fields = status === 103 ? "link: </style.css>; rel=preload\r\n" : "";
  return latin1(`HTTP/1.1 ${status} ${REASONS[status]}\r\n${fields}\r\n`);
}

async function writeFixed(
  target: AnswerTarget,
  answer: Answer,
  body: Uint8Array,
  switches: FaultSwitches,
): Promise<AfterAnswer> {
  const cut = cutOf(switches);
  const head = encodeHead(answer, ["content-length", body.length], switches);
  const isCut = cut.bytes < body.length && !target.isHead;
  const part = target.isHead ? new Uint8Array() : body.subarray(0, cut.bytes);
  await writeAll(target.conn, concat([head, part]));
  return isCut ? cut.after : "keep";
}

async function writeStream(
  target: AnswerTarget,
  answer: Answer,
  body: AsyncIterable<Uint8Array>,
  switches: FaultSwitches,
): Promise<AfterAnswer> {
  const cut = cutOf(switches);
  await writeAll(
    target.conn,
    encodeHead(answer, ["transfer-encoding", "chunked"], switches),
  );
  if (target.isHead) return "keep";
  let bytesLeft = cut.bytes;
  for await (const event of body) {
    if (switches.eventDelayMs !== undefined) {
      await pause(switches.eventDelayMs, target.signal());
    }
    const part = event.subarray(0, bytesLeft);
    // A chunk is announced whole even where it is cut.
    const size = latin1(`${event.length.toString(16)}\r\n`);
    const end = part.length < event.length ? [] : [latin1("\r\n")];
    await writeAll(target.conn, concat([size, part, ...end]));
    bytesLeft -= part.length;
    if (bytesLeft === 0) return cut.after;
  }
  await writeAll(target.conn, latin1("0\r\n\r\n"));
  return "keep";
}

/** After how many bytes of the body an answer is cut, and how. */
function cutOf(
  switches: FaultSwitches,
): { readonly bytes: number; readonly after: AfterAnswer } {
  if (switches.resetAfterBytes !== undefined) {
    return { bytes: switches.resetAfterBytes, after: "reset" };
  }
  return { bytes: switches.truncateAfterBytes ?? Infinity, after: "close" };
}

async function compressed(answer: Answer): Promise<Answer> {
  let body = answer.body;
  if (!(body instanceof Uint8Array)) {
    const pieces: Uint8Array[] = [];
    for await (const piece of body) pieces.push(piece);
    body = concat(pieces);
  }
  return {
    ...answer,
    headers: [...answer.headers, ["content-encoding", "gzip"]],
    body: new Uint8Array(gzipSync(body)),
  };
}

function encodeHead(
  answer: Answer,
  framing: readonly [name: string, value: string | number],
  switches: FaultSwitches = NO_FAULTS,
): Uint8Array {
  let text = `HTTP/1.1 ${answer.status} ${REASONS[answer.status] ?? ""}\r\n`;
  for (const [name, value] of answer.headers) text += `${name}: ${value}\r\n`;
  if (switches.closeAfter === "announced") text += "connection: close\r\n";
  return latin1(`${text}${framing[0]}: ${framing[1]}\r\n\r\n`);
}

/** Writes everything; a socket takes as much as it has room for. */
export async function writeAll(
  conn: Deno.Conn,
  bytes: Uint8Array,
): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    at += await conn.write(bytes.subarray(at));
  }
}

function concat(pieces: readonly Uint8Array[]): Uint8Array {
  let byteCount = 0;
  for (const piece of pieces) byteCount += piece.length;
  return joinBytes(pieces, byteCount);
}

function latin1(text: string): Uint8Array {
  const bytes = encoder.encode(text);
  if (bytes.length === text.length) return bytes;
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}
