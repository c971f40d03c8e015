/**
 * One request and its answer, with everything that is to go wrong.
 *
 * Invariant: while an answer is waited for, the client is watched, and its
 * going aborts the exchange's signal and is noted in the record at once. A
 * client that closes only its sending side counts as gone, as it does for the
 * usual servers of engines.
 *
 * @module
 */
import type { ByteReader } from "./byte_reader.ts";
import type { FaultSwitches } from "./faults.ts";
import {
  type AfterAnswer,
  type Answer,
  encodeInterim,
  writeAll,
  writeAnswer,
} from "./http_answer.ts";
import { hasBody, readBody, type RequestHead } from "./http_request.ts";
import { pause } from "./pacer.ts";
import { joinBytes, type RequestRecord } from "./request_log.ts";
import { resetConnection } from "./reset.ts";

/** Most bytes of a body that a handler is given whole. */
const BODY_BYTES_MAX = 256 * 1024 * 1024;

/** What a handler gets. */
export interface EngineRequest {
  readonly method: string;
  readonly target: string;
  /** The target up to its query. */
  readonly path: string;
  readonly headerLines: readonly string[];
  /** First value of each field by lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  /** The whole body; empty for `/sink`, whose body is only counted. */
  readonly body: Uint8Array;
  readonly record: RequestRecord;
  /** Aborts when the client goes or the server is killed. */
  signal(): AbortSignal;
}

/** Answers a request; an immediate answer costs no promise. */
export type Handler = (request: EngineRequest) => Answer | Promise<Answer>;

/** What an exchange is made of. */
export interface ExchangeOptions {
  readonly conn: Deno.Conn;
  readonly reader: ByteReader;
  readonly head: RequestHead;
  readonly switches: FaultSwitches;
  readonly record: RequestRecord;
  /** Tells the log that the record has changed. */
  readonly changed: () => void;
}

/** One request and its answer. */
export class Exchange {
  readonly #options: ExchangeOptions;
  readonly #abort = new AbortController();
  #isWatched = false;
  /** Whether the client's going no longer matters. */
  #isOver = false;

  constructor(options: ExchangeOptions) {
    this.#options = options;
  }

  /** Gives up, as the server is being killed. */
  abort(): void {
    this.#isOver = true;
    this.#abort.abort();
  }

  /** Reads, answers, and says whether the connection may be reused. */
  async run(handler: Handler): Promise<boolean> {
    const { record, changed, switches } = this.#options;
    try {
      const body = await this.#readRequest();
      if (switches.hang === true) {
        changed();
        await this.#gone();
      }
      const after = switches.resetBeforeHead === true
        ? "reset"
        : await this.#answer(handler, body);
      this.#isOver = true;
      if (after === "reset") resetConnection(this.#options.conn);
      record.answeredAtMs = performance.now();
      changed();
      return after === "keep" && isKeepAlive(this.#options.head);
    } finally {
      // A read or write that failed is the client's going.
      this.#noteGone();
    }
  }

  async #readRequest(): Promise<Uint8Array> {
    const { reader, head, switches, record } = this.#options;
    if (!hasBody(head)) {
      record.isComplete = true;
      return new Uint8Array();
    }
    if (head.headers.get("expect")?.toLowerCase() === "100-continue") {
      await writeAll(this.#options.conn, encodeInterim(100));
    }
    const isKept = !head.target.startsWith("/sink");
    const pieces: Uint8Array[] = [];
    await readBody(reader, head, {
      onBytes: (bytes) => {
        const piece = bytes.slice();
        const isFirst = record.bodyByteCount === 0;
        record.addBody(piece);
        if (isFirst) this.#options.changed();
        if (!isKept) return;
        if (record.bodyByteCount > BODY_BYTES_MAX) {
          throw new Error(
            `Cannot take a body of more than ${BODY_BYTES_MAX} bytes`,
          );
        }
        pieces.push(piece);
      },
      ...(switches.readPauseMs === undefined ? {} : {
        beforeRead: () => pause(switches.readPauseMs ?? 0, this.#abort.signal),
      }),
    });
    record.isComplete = true;
    return isKept ? joinBytes(pieces, record.bodyByteCount) : new Uint8Array();
  }

  async #answer(handler: Handler, body: Uint8Array): Promise<AfterAnswer> {
    const { conn, head, switches, record } = this.#options;
    const handled = errorAnswer(switches) ?? handler({
      method: head.method,
      target: head.target,
      path: head.target.split("?", 1)[0] ?? "",
      headerLines: head.headerLines,
      headers: head.headers,
      body,
      record,
      signal: () => this.#signal(),
    });
    // Told only now, so that who waits for a whole request finds it at work.
    this.#options.changed();
    // No needless turn of the event loop for an answer that is there.
    const answer = handled instanceof Promise
      ? await orFailure(handled, this.#signal())
      : handled;
    if (!(answer.body instanceof Uint8Array)) this.#signal();
    return await writeAnswer(
      { conn, isHead: head.method === "HEAD", signal: () => this.#signal() },
      switches.binary === true ? binaryAnswer(answer) : answer,
      switches,
    );
  }

  /** The signal, from now on connected with the client's going. */
  #signal(): AbortSignal {
    if (!this.#isWatched) {
      this.#isWatched = true;
      this.#options.reader.watch(() => this.#noteGone());
    }
    return this.#abort.signal;
  }

  #noteGone(): void {
    const { record, changed } = this.#options;
    if (this.#isOver) return;
    this.#isOver = true;
    record.clientGoneAtMs = performance.now();
    this.#abort.abort();
    changed();
  }

  /** Rejects when the client goes. */
  #gone(): Promise<never> {
    const signal = this.#signal();
    return new Promise((_resolve, reject) => {
      const leave = () => reject(signal.reason);
      if (signal.aborted) leave();
      else signal.addEventListener("abort", leave, { once: true });
    });
  }
}

/** HTTP/1.1 keeps alive unless told otherwise (RFC 9112, section 9.3). */
function isKeepAlive(head: RequestHead): boolean {
  return head.headers.get("connection")?.toLowerCase() !== "close";
}

function errorAnswer(switches: FaultSwitches): Answer | undefined {
  const { status, errorText, retryAfter } = switches;
  if (status === undefined) return undefined;
  const type = errorText === undefined ? "application/json" : "text/plain";
  const text = errorText ?? JSON.stringify({
    error: {
      message: `The simulated engine was told to answer ${status}`,
      type: status < 500 ? "invalid_request_error" : "server_error",
      param: null,
      code: null,
    },
  });
  return {
    status,
    headers: [
      ["content-type", type],
      ...(retryAfter === undefined
        ? []
        : [["retry-after", retryAfter] as const]),
    ],
    body: new TextEncoder().encode(text),
  };
}

/** A handler that fails while the client is there is a fault of the engine. */
async function orFailure(
  handled: Promise<Answer>,
  signal: AbortSignal,
): Promise<Answer> {
  try {
    return await handled;
  } catch (error) {
    if (signal.aborted) throw error;
    return {
      status: 500,
      headers: [["content-type", "text/plain"]],
      body: new TextEncoder().encode(String(error)),
    };
  }
}

function binaryAnswer(answer: Answer): Answer {
  return {
    status: answer.status,
    headers: [["content-type", "audio/wav"]],
    body: Uint8Array.from({ length: 256 }, (_byte, at) => at),
  };
}
