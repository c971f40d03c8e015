/**
 * Random responses that look for trouble.
 *
 * Each is put together from pieces of which most are right and some are
 * classic ways to be wrong, and then, now and then, damaged byte by byte.
 *
 * Invariant: a text is latin-1, and stays below the limits on extensions and
 * trailers, which have tables of their own.
 *
 * @module
 */
import type { SeededRandom } from "./random.ts";

const STATUS_LINES = [
  ..."HTTP/1.1 200 OK|HTTP/1.1 200|HTTP/1.1 200 |HTTP/1.1 404 Not Found"
    .split("|"),
  ..."HTTP/1.0 200 OK|HTTP/1.1 204 No Content|HTTP/1.1 304 Not Modified"
    .split("|"),
];
const BAD_STATUS_LINES = [
  "HTTP/1.2 200 OK",
  "HTTP/2 200",
  "http/1.1 200 OK",
  "HTTP/1.1  200 OK",
  "HTTP/1.1 2000",
  "HTTP/1.1 99 x",
  "HTTP/1.1 600 x",
  "HTTP/1.1 101 Switching Protocols",
  "HTTP/1.1 200 a\x00b",
  "",
];
const INTERIMS = ["100 Continue", "103 Early Hints", "102 ", "100"];
const FIELDS = [
  "date: Sat, 01 Aug 2026 12:00:00 GMT",
  "Server: uvicorn",
  "content-type:application/json",
  "Set-Cookie: a=b",
  "set-cookie: \t c=d \t",
  "x-empty:",
  "x-latin: caf\xe9",
  "connection: keep-alive",
];
const ODD_FIELDS = [
  "connection: close",
  "Connection: keep-alive, Close",
  "connection: closed",
  "x y: z",
  "x : z",
  " folded",
  ": nameless",
  "no colon",
  "x: a\rb",
  "x: a\x00b",
  "x\xe9: z",
];
const ODD_FRAMINGS = [
  "content-length: 3\r\ncontent-length: 3",
  "content-length: 3, 3",
  "content-length: 3,\t03",
  "content-length: 3\r\nContent-Length: 4",
  "content-length: 3, 4",
  "content-length: +3",
  "content-length: 0x3",
  "content-length: ",
  "content-length: 3,",
  "content-length: 99999999999999999999",
  "content-length: 3\xa0",
  "transfer-encoding: gzip, chunked",
  "transfer-encoding: chunked, chunked",
  "transfer-encoding: chunked\r\ntransfer-encoding: chunked",
  "transfer-encoding: identity",
  "transfer-encoding: chunked\r\ncontent-length: 3",
  "content-length: 3\r\ntransfer-encoding: chunked",
  "Transfer-Encoding: CHUNKED",
  "transfer-encoding:\tchunked ",
  "transfer-encoding: \x0bchunked",
];
const EXTENSIONS = [";a", ";a=b", " ;a", ';"q\\""', "\t;x", " ", ";\x01"];
const BAD_SIZES = ["", "g", "0x1", "-1", "+1", "1_0", "1234567890abc", " 1"];
const TRAILERS = ["x-sum: 1", "a:", "b:\tc ", " d: e", "f", "g : h", ": i"];
const DAMAGE = "\r\n \t:;0aA\x00\x7f\xff,".split("");
const BAD_LINE_ENDS = ["\n", "\r", "", "\r\r\n", "\rx"];
/** Lengths of bodies: small, around the read buffer, around the bulk one. */
const BODY_LENGTHS = [0, 1, 2, 3, 17, 200];
const LARGE_LENGTHS = [16_000, 16_383, 16_384, 16_385, 40_000, 70_000];

/** Makes responses. */
export class ResponseMaker {
  readonly #random: SeededRandom;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  /** The text of one response, whole or broken. */
  response(): string {
    const random = this.#random;
    let text = "";
    for (
      let count = random.oneIn(5) ? random.below(11) : 0;
      count > 0;
      count--
    ) {
      text += `HTTP/1.1 ${random.pick(INTERIMS)}\r\n\r\n`;
      if (random.oneIn(20)) text = text.replace("\r\n\r\n", "\r\na: b\r\n\r\n");
    }
    text += this.#final();
    if (random.oneIn(8)) text += random.pick(["x", "\r\n", "HTTP/1.1 200 OK"]);
    if (random.oneIn(6)) text = text.slice(0, random.below(text.length + 1));
    for (let i = random.oneIn(3) ? random.below(4) : 0; i > 0; i--) {
      text = this.#damaged(text);
    }
    return text;
  }

  #final(): string {
    const random = this.#random;
    const lines = [
      random.pick(random.oneIn(12) ? BAD_STATUS_LINES : STATUS_LINES),
    ];
    for (let i = random.below(5); i > 0; i--) {
      lines.push(random.pick(random.oneIn(15) ? ODD_FIELDS : FIELDS));
    }
    if (random.oneIn(150)) lines.push(`x-long: ${"y".repeat(this.#long())}`);
    if (random.oneIn(150)) {
      const count = 250 + random.below(10);
      for (let i = 0; i < count; i++) lines.push("x: y");
    }
    const length = random.pick(random.oneIn(25) ? LARGE_LENGTHS : BODY_LENGTHS);
    const body = this.#bytes(length);
    const choice = random.below(10);
    let framed = body;
    if (choice < 4) lines.push(`content-length: ${body.length}`);
    else if (choice < 8) {
      lines.push("transfer-encoding: chunked");
      framed = this.#chunked(body);
    } else if (choice === 8) {
      lines.push(random.pick(ODD_FRAMINGS));
      if (random.oneIn(2)) framed = this.#chunked(body);
    }
    if (random.oneIn(3)) lines.splice(1, 0, lines.pop() ?? "");
    return `${lines.join("\r\n")}\r\n\r\n${framed}`;
  }

  #chunked(body: string): string {
    const random = this.#random;
    let text = "";
    for (let at = 0; at < body.length;) {
      const left = body.length - at;
      const size = 1 + random.below(random.oneIn(2) ? left : Math.min(left, 9));
      text += this.#line(this.#size(size));
      text += this.#line(body.slice(at, at + size));
      at += size;
    }
    text += this.#line(this.#size(0));
    while (random.oneIn(5)) text += this.#line(random.pick(TRAILERS));
    return text + this.#line("");
  }

  #line(text: string): string {
    const random = this.#random;
    return text + (random.oneIn(80) ? random.pick(BAD_LINE_ENDS) : "\r\n");
  }

  #size(size: number): string {
    const random = this.#random;
    if (random.oneIn(60)) return random.pick(BAD_SIZES);
    const digits = size.toString(16);
    const spelled = random.oneIn(4) ? `0${digits.toUpperCase()}` : digits;
    return spelled + (random.oneIn(12) ? random.pick(EXTENSIONS) : "");
  }

  #bytes(length: number): string {
    const seed = this.#random.below(256);
    let text = "";
    for (let i = 0; i < length; i++) {
      text += String.fromCharCode((seed + i * 7) & 0xff);
    }
    return text;
  }

  /** A length around the limit of a head. */
  #long(): number {
    return this.#random.pick([10_000, 16_384, 40_000, 65_400, 65_536, 70_000]);
  }

  #damaged(text: string): string {
    const at = this.#random.below(text.length + 1);
    const byte = this.#random.pick(DAMAGE);
    const kind = this.#random.below(3);
    const skipped = kind === 0 ? 0 : 1;
    return text.slice(0, at) + (kind === 2 ? "" : byte) +
      text.slice(at + skipped);
  }
}
