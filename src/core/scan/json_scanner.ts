/**
 * Finds members of a JSON object in bytes as they arrive, without parsing it.
 *
 * The scanner follows only the objects on its paths, always from the root and
 * never through arrays or strings. There it checks the grammar of RFC 8259.
 * Everything else it skips, and inside what it skips it follows only strings
 * and the count of brackets, not their kind: `[}` passes for `[]` there. The
 * gateway places requests and does not validate them.
 *
 * Invariant: state is constant whatever the input (nesting is a counter, a
 * value has a fixed buffer), nothing throws, and the verdict and the values
 * depend on the bytes alone, never on how they were split.
 *
 * @module
 */
import type { MemberNode, MemberPaths } from "./member_paths.ts";
import type { ScanSink, ScanValue } from "./scan_sink.ts";
import { isBlank, isBlankCode } from "../bytes.ts";
import { ScalarReader } from "./json_scalar.ts";
import { ValueSkipper } from "./json_skip.ts";
import { plainEnd, StringDecoder } from "./json_string.ts";
import { SESSION_KEY_BYTES_MAX } from "../session_key.ts";
import { ValueCapture } from "./value_capture.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const ARRAY_OPEN = 0x5b;
const OBJECT_OPEN = 0x7b;
const OBJECT_CLOSE = 0x7d;

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf] as const;

// What the next byte belongs to; from ENDED on no byte is looked at.
const BEFORE = 0;
const NAME_OR_CLOSE = 1;
const NAME_QUOTE = 2;
const NAME = 3;
const NAME_END = 4;
const VALUE = 5;
const AFTER_VALUE = 6;
const STRING = 7;
const SCALAR = 8;
const SKIP = 9;
const ENDED = 10;
const STOPPED = 11;
const GAVE_UP = 12;

/**
 * - `more`: bytes are wanted.
 * - `ended`: the root object is closed; what follows is not looked at.
 * - `stopped`: no path matters any more.
 * - `gave_up`: not a JSON object, or broken where the scanner follows it.
 */
export type ScanStatus = "more" | "ended" | "stopped" | "gave_up";

/** Scans one body. */
export class JsonScanner {
  readonly #sink: ScanSink;
  readonly #capture = new ValueCapture();
  readonly #decoder = new StringDecoder(this.#capture);
  readonly #scalar = new ScalarReader(this.#capture);
  readonly #skipper = new ValueSkipper();
  /** Bit set of the paths that still matter. */
  #wanted: number;
  #state = BEFORE;
  /** Bytes of the byte order mark seen so far; 3 when none can follow. */
  #markCount = 0;
  /** The followed object that the next byte belongs to. */
  #node: MemberNode;
  /** The member whose value comes next, if a wanted path goes through it. */
  #member: MemberNode | undefined;

  /** @param wanted Bit set of the paths that matter; 0 looks at nothing. */
  constructor(paths: MemberPaths, sink: ScanSink, wanted: number) {
    this.#node = paths.root;
    this.#sink = sink;
    this.#wanted = wanted;
    if (wanted === 0) this.#state = STOPPED;
  }

  /** The verdict so far. */
  get status(): ScanStatus {
    if (this.#state < ENDED) return "more";
    if (this.#state === ENDED) return "ended";
    return this.#state === STOPPED ? "stopped" : "gave_up";
  }

  /** Takes the next bytes of the body; they are not kept. */
  push(chunk: Uint8Array): ScanStatus {
    let at = 0;
    while (at < chunk.length && this.#state < ENDED) at = this.#step(chunk, at);
    return this.status;
  }

  /** Says that the body has ended: an object still open is broken. */
  end(): ScanStatus {
    if (this.#state < ENDED) this.#state = GAVE_UP;
    return this.status;
  }

  /** Takes bytes from `at` on; returns the index of the first not taken. */
  #step(chunk: Uint8Array, at: number): number {
    switch (this.#state) {
      case BEFORE:
        return this.#before(chunk, at);
      case NAME:
        return this.#name(chunk, at);
      case STRING:
        return this.#string(chunk, at);
      case SCALAR:
        return this.#scalarEnd(chunk, at);
      case SKIP: {
        const end = this.#skipper.push(chunk, at);
        if (this.#skipper.isDone) this.#state = AFTER_VALUE;
        return end;
      }
      default:
        return this.#structure(chunk, at);
    }
  }

  /** A byte order mark, blanks, and the bracket that opens the root. */
  #before(chunk: Uint8Array, at: number): number {
    const code = chunk[at] ?? 0;
    if (this.#markCount < BYTE_ORDER_MARK.length) {
      if (code === BYTE_ORDER_MARK[this.#markCount]) {
        this.#markCount++;
        return at + 1;
      }
      if (this.#markCount > 0) this.#state = GAVE_UP;
      this.#markCount = BYTE_ORDER_MARK.length;
    } else if (code === OBJECT_OPEN) {
      this.#state = NAME_OR_CLOSE;
      return at + 1;
    } else if (isBlankCode(code)) {
      return at + 1;
    } else {
      this.#state = GAVE_UP;
    }
    return at;
  }

  /** Blanks and the punctuation of a followed object. */
  #structure(chunk: Uint8Array, from: number): number {
    let at = from;
    while (isBlankCode(chunk[at] ?? 0)) if (++at === chunk.length) return at;
    const code = chunk[at] ?? 0;
    const state = this.#state;
    if (state === VALUE) return this.#startValue(chunk, at);
    if (state === NAME_END && code === COLON) {
      this.#state = VALUE;
    } else if (state === AFTER_VALUE && code === COMMA) {
      this.#state = NAME_QUOTE;
    } else if (state <= NAME_QUOTE && code === QUOTE) {
      return this.#startName(chunk, at + 1);
    } else if (
      (state === AFTER_VALUE || state === NAME_OR_CLOSE) &&
      code === OBJECT_CLOSE
    ) {
      this.#close();
    } else {
      this.#state = GAVE_UP;
    }
    return at + 1;
  }

  #close(): void {
    const { parent } = this.#node;
    if (parent === undefined) {
      this.#state = ENDED;
    } else {
      this.#state = AFTER_VALUE;
      this.#node = parent;
    }
  }

  /** A name that lies in the chunk without escapes is compared in place. */
  #startName(chunk: Uint8Array, from: number): number {
    const at = plainEnd(chunk, from, chunk.length);
    if (at < chunk.length && chunk[at] === QUOTE) {
      this.#enter(chunk, from, at);
      return at + 1;
    }
    this.#beginDecoding(SESSION_KEY_BYTES_MAX);
    this.#state = NAME;
    return from;
  }

  #name(chunk: Uint8Array, from: number): number {
    const at = this.#decode(chunk, from);
    if (this.#decoder.mode !== "closed") return at;
    const name = this.#capture.finish();
    if (name === undefined || name.isDigest) this.#enter(chunk, at, at);
    else this.#enter(name.bytes, 0, name.bytes.length);
    return at;
  }

  /** Goes to the value of the member named by bytes `[from, to)`. */
  #enter(source: Uint8Array, from: number, to: number): void {
    const member = this.#node.child(source, from, to);
    const paths = member === undefined ? 0 : member.bit | member.below;
    this.#member = (paths & this.#wanted) === 0 ? undefined : member;
    this.#state = NAME_END;
  }

  #startValue(chunk: Uint8Array, at: number): number {
    const member = this.#member;
    const isWanted = member !== undefined && (member.bit & this.#wanted) !== 0;
    switch (chunk[at]) {
      case QUOTE:
        if (isWanted) return this.#startString(chunk, at + 1, member);
        this.#skipper.beginString();
        break;
      case OBJECT_OPEN:
        if (member !== undefined && (member.below & this.#wanted) !== 0) {
          this.#node = member;
          this.#state = NAME_OR_CLOSE;
          return at + 1;
        }
        this.#skipper.beginBrackets();
        break;
      case ARRAY_OPEN:
        this.#skipper.beginBrackets();
        break;
      default:
        this.#capture.begin(member?.bytesMax ?? 0);
        this.#scalar.begin(isWanted);
        this.#state = SCALAR;
        return at;
    }
    this.#state = SKIP;
    return at + 1;
  }

  /** A value that lies in the chunk without escapes is reported in place. */
  #startString(chunk: Uint8Array, from: number, member: MemberNode): number {
    const limit = Math.min(chunk.length, from + member.bytesMax + 1);
    const at = plainEnd(chunk, from, limit);
    if (at < limit && chunk[at] === QUOTE) {
      const bytes = chunk.subarray(from, at);
      this.#report(isBlank(bytes) ? undefined : { kind: "string", bytes });
      return at + 1;
    }
    this.#beginDecoding(member.bytesMax);
    this.#state = STRING;
    return from;
  }

  #string(chunk: Uint8Array, from: number): number {
    const at = this.#decode(chunk, from);
    if (this.#decoder.mode === "closed") this.#report(this.#captured("string"));
    return at;
  }

  #scalarEnd(chunk: Uint8Array, from: number): number {
    const at = this.#scalar.push(chunk, from);
    const { kind } = this.#scalar;
    if (kind === "broken") {
      this.#state = GAVE_UP;
    } else if (kind === "number") {
      this.#report(this.#captured("number"));
    } else if (kind === "true" || kind === "false") {
      this.#report({ kind: "boolean", value: kind === "true" });
    } else if (kind === "null") {
      this.#report(undefined);
    }
    return at;
  }

  #captured(kind: "string" | "number"): ScanValue | undefined {
    const value = this.#capture.finish();
    if (value === undefined) return undefined;
    return { kind: value.isDigest ? "digest" : kind, bytes: value.bytes };
  }

  /** Ends the value of the current member, `undefined` when it is absent. */
  #report(value: ScanValue | undefined): void {
    const member = this.#member;
    this.#state = AFTER_VALUE;
    if (value === undefined || member === undefined) return;
    if ((member.bit & this.#wanted) === 0) return;
    this.#wanted = this.#sink.found(member.index, value);
    if (this.#wanted === 0) this.#state = STOPPED;
  }

  #beginDecoding(bytesMax: number): void {
    this.#capture.begin(bytesMax);
    this.#decoder.begin();
  }

  #decode(chunk: Uint8Array, from: number): number {
    const at = this.#decoder.push(chunk, from);
    if (this.#decoder.mode === "broken") this.#state = GAVE_UP;
    return at;
  }
}
