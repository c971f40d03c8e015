/**
 * One response, read from a connection up to the point where its body is at
 * hand or has to be streamed.
 *
 * Invariant: nothing is decided before the bytes that decide it are there, so
 * how they were split into reads changes only whether a body is streamed.
 *
 * @module
 */
import type { HeaderList } from "../core/request.ts";
import type { Connection } from "./connection.ts";
import { BodyDecoder, type Framing, framingOf } from "./response_framing.ts";
import type { ResponseHead } from "./response_head.ts";
import { malformed } from "./upstream_error.ts";

/** 8: an engine sends a 100 or a 103, if any; more is a loop. */
const INTERIM_MAX = 8;

/** A response as far as it had to be read. */
export interface ReadResponse {
  readonly status: number;
  readonly reason: string;
  readonly headers: HeaderList;
  readonly framing: Framing;
  /**
   * - bytes: the whole body.
   * - a decoder: the body goes on; `first` came together with the head.
   * - `undefined`: there is none.
   */
  readonly body:
    | Uint8Array<ArrayBuffer>
    | { readonly decoder: BodyDecoder; readonly first: Uint8Array | undefined }
    | undefined;
}

/** Reads the response to one request. */
export class ResponseReader {
  readonly #method: string;
  readonly #mayUpgrade: boolean;
  #interimCount = 0;
  #head: ResponseHead | undefined;
  #framing: Framing | undefined;

  /**
   * @param method That of the request, which decides on the framing.
   * @param mayUpgrade Whether the request asked for another protocol.
   */
  constructor(method: string, mayUpgrade = false) {
    this.#method = method;
    this.#mayUpgrade = mayUpgrade;
  }

  /** The final status, or 0 while it is not known. */
  get status(): number {
    return this.#head?.status ?? 0;
  }

  /**
   * Takes what has come. Returns `undefined` when more bytes are needed. Bytes
   * that follow a complete response stay between `start` and `end` or close
   * the connection.
   *
   * @throws {UpstreamError} of kind `malformed`.
   */
  read(connection: Connection): ReadResponse | undefined {
    const head = this.#head ?? this.#readHead(connection);
    if (head === undefined) return undefined;
    const framing = this.#framing ??= framingOf(head, this.#method);
    const { bytes, start, end } = connection;
    // Engines write head and body apart. A body that fits the buffer is waited
    // for: whole, it costs far less to pass on than a stream of one chunk, and
    // one that breaks off fails before the client has seen a head.
    if (
      framing.kind === "length" && end - start < framing.length &&
      start + framing.length <= bytes.length
    ) {
      return undefined;
    }
    const { status, reason } = head;
    const { headers } = framing;
    const body = takeBody(connection, framing);
    return { status, reason, headers, framing, body };
  }

  /** The final head, or `undefined` while it is not complete. */
  #readHead(connection: Connection): ResponseHead | undefined {
    const { parser } = connection;
    while (true) {
      const { bytes, start, end } = connection;
      const after = parser.parse(bytes, start, end);
      if (after < 0) return undefined;
      connection.start = after;
      const head = parser.head();
      parser.reset();
      const isUpgrade = head.status === 101;
      if (isUpgrade && !this.#mayUpgrade) {
        throw malformed("switches protocols unasked");
      }
      if (isUpgrade || head.status >= 200) {
        this.#head = head;
        return head;
      }
      framingOf(head, this.#method);
      if (++this.#interimCount > INTERIM_MAX) {
        throw malformed(`has over ${INTERIM_MAX} interim heads before it`);
      }
    }
  }
}

function takeBody(
  connection: Connection,
  framing: Framing,
): ReadResponse["body"] {
  if (framing.kind === "none") return undefined;
  const decoder = new BodyDecoder(framing);
  const { bytes, start, end } = connection;
  connection.start = decoder.decode(bytes, start, end);
  if (decoder.ended && connection.start < end) connection.close();
  const first = decoder.outEnd > decoder.outStart
    ? connection.take(decoder.outStart, decoder.outEnd)
    : undefined;
  return decoder.ended ? first ?? new Uint8Array(0) : { decoder, first };
}
