/**
 * How a simulated engine reads requests: strictly, in a few lines.
 *
 * It shares no code with the gateway, so that what the gateway writes is read
 * by somebody else. Anything but what RFC 9112 demands is refused.
 *
 * Invariant: a request is told of once when its head is complete and once when
 * its body is; what is refused is told of, and nothing after it is read.
 *
 * @module
 */

/** A request as an engine has read it. */
export interface ReadRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: ReadonlyMap<string, string>;
}

/** Told of what was read. */
export interface RequestReaderOwner {
  onHead(request: ReadRequest): void;
  onWhole(request: ReadRequest, body: string): void;
  onRefused(reason: string): void;
}

/** Ends of lines and of heads. */
const LINE_END = "\r\n";
const HEAD_END = "\r\n\r\n";

/** Reads the requests of one connection. */
export class RequestReader {
  readonly #owner: RequestReaderOwner;
  readonly #decoder = new TextDecoder("latin1");
  #text = "";
  #request: ReadRequest | undefined;
  #body = "";
  #isRefused = false;

  constructor(owner: RequestReaderOwner) {
    this.#owner = owner;
  }

  push(bytes: Uint8Array): void {
    this.#text += this.#decoder.decode(bytes);
    while (!this.#isRefused && this.#step());
  }

  /** Reads one thing; false when more bytes are needed for it. */
  #step(): boolean {
    const request = this.#request;
    if (request === undefined) return this.#readHead();
    const length = request.headers.get("content-length");
    return length === undefined &&
        request.headers.get("transfer-encoding") !== undefined
      ? this.#readChunk(request)
      : this.#readSized(request, Number(length ?? 0));
  }

  #readHead(): boolean {
    const end = this.#text.indexOf(HEAD_END);
    if (end < 0) return false;
    const [line = "", ...fields] = this.#text.slice(0, end).split(LINE_END);
    this.#text = this.#text.slice(end + HEAD_END.length);
    const parts = /^([A-Z]+) (\/\S*) HTTP\/1\.1$/.exec(line);
    const headers = new Map<string, string>();
    for (const field of fields) {
      const match = /^([!-9;-~]+):[ \t]*(.*?)[ \t]*$/.exec(field);
      if (match === null) return this.#refuse(`field "${field}"`);
      const [, name = "", value = ""] = match;
      if (headers.has(name)) return this.#refuse(`field "${name}" twice`);
      headers.set(name, value);
    }
    if (parts === null) return this.#refuse(`request line "${line}"`);
    if (!headers.has("host")) return this.#refuse("no host");
    if (headers.has("content-length") && headers.has("transfer-encoding")) {
      return this.#refuse("two framings");
    }
    const [, method = "", target = ""] = parts;
    this.#request = { method, target, headers };
    this.#owner.onHead(this.#request);
    return true;
  }

  #readSized(request: ReadRequest, length: number): boolean {
    if (!Number.isSafeInteger(length)) return this.#refuse("content-length");
    if (this.#text.length < length) return false;
    this.#finish(request, this.#text.slice(0, length), length);
    return true;
  }

  #readChunk(request: ReadRequest): boolean {
    const lineEnd = this.#text.indexOf(LINE_END);
    if (lineEnd < 0) return false;
    const line = this.#text.slice(0, lineEnd);
    if (!/^[0-9a-f]{1,8}$/.test(line)) return this.#refuse(`chunk "${line}"`);
    const start = lineEnd + LINE_END.length;
    const end = start + parseInt(line, 16);
    if (this.#text.length < end + LINE_END.length) return false;
    if (this.#text.slice(end, end + LINE_END.length) !== LINE_END) {
      return this.#refuse("a chunk without its end");
    }
    if (end === start) {
      this.#finish(request, this.#body, end + LINE_END.length);
      return true;
    }
    this.#body += this.#text.slice(start, end);
    this.#text = this.#text.slice(end + LINE_END.length);
    return true;
  }

  #finish(request: ReadRequest, body: string, taken: number): void {
    this.#text = this.#text.slice(taken);
    this.#request = undefined;
    this.#body = "";
    this.#owner.onWhole(request, body);
  }

  #refuse(what: string): false {
    this.#isRefused = true;
    this.#owner.onRefused(`Cannot read a request: ${what}`);
    return false;
  }
}
