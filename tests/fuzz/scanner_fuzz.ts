/**
 * Fuzzes the JSON scanner against `JSON.parse`.
 *
 * Six statements are checked: it agrees with the reference on every valid
 * document; the verdict does not depend on the split; of a truncated document
 * it reports a prefix of what the whole one holds; a broken document never
 * makes it throw nor changes what was found before the fault; it gives up on
 * exactly the numbers and literal names that `JSON.parse` refuses; and after
 * it was told to stop it looks at no further byte.
 *
 * Invariant: a failure names the seed, the case and the document.
 *
 * @module
 */
import {
  JsonScanner,
  type ScanStatus,
} from "../../src/core/scan/json_scanner.ts";
import { MemberPaths } from "../../src/core/scan/member_paths.ts";
import type { ScanSink } from "../../src/core/scan/scan_sink.ts";
import { DocumentMaker } from "./json_documents.ts";
import { type Finding, referenceFindings, toHex } from "./json_reference.ts";
import type { FuzzOptions } from "./fuzz_options.ts";
import { SeededRandom } from "./random.ts";

/** The paths under test: leaves, prefixes of others, both at once. */
const PATHS = [
  ["session_id"],
  ["metadata", "session_id"],
  ["metadata", "user_id"],
  ["conversation", "id"],
  ["conversation"],
  ["a"],
  ["a", "b"],
  ["a", "b", "c"],
  ["model"],
  ["stream"],
  ["é"],
  ['"'],
].map((members, index) => ({
  members,
  bytesMax: index === 2 ? 8192 : 1024,
}));
const TREE = new MemberPaths(PATHS);
const ALL_BITS = (1 << PATHS.length) - 1;
/** Documents up to this many bytes may be cut at every place. */
const EVERY_SPLIT_BYTES_MAX = 160;
/**
 * One random document in so many is looked at thoroughly, and the rest quickly:
 * new documents find more than the hundredth cut of an old one.
 */
const THOROUGH_PERIOD = 256;
/** Random ways to cut that a document gets. */
const RANDOM_SPLIT_COUNT = { thorough: 6, quick: 2 } as const;
/** One string in so many is long: most of a scan's time goes there. */
const LONG_PERIOD = { thorough: 6, quick: 400 } as const;
/** Findings of a document at which the scanner is stopped in turn. */
const STOP_COUNT_MAX = { thorough: 4, quick: 1 } as const;
/** Overwrites a chunk after its push: a scanner that keeps bytes is found. */
const POISON = 0x22;

/** How closely one document is looked at. */
type Closeness = keyof typeof RANDOM_SPLIT_COUNT;

const encoder = new TextEncoder();
const strictDecoder = new TextDecoder("utf-8", {
  fatal: true,
  ignoreBOM: true,
});

/** What a scan came to. */
interface Outcome {
  readonly status: ScanStatus;
  readonly findings: readonly Finding[];
}

/** @throws {Error} at the first document on which a statement fails. */
export function fuzzScanner({ seed, cases }: FuzzOptions): void {
  for (let index = 0; index < cases; index++) {
    const random = new SeededRandom(seed + index);
    const closeness = random.oneIn(THOROUGH_PERIOD) ? "thorough" : "quick";
    const maker = new DocumentMaker(random, LONG_PERIOD[closeness]);
    const bytes = encoder.encode(maker.document());
    const name = random.pick(["a", "stream", "other"]);
    const token = maker.token();
    const broken = random.oneIn(2) ? mutated(bytes, random) : undefined;
    try {
      checkToken(`{"${name}":${token}}`);
      checkDocument(bytes, random, closeness);
      if (broken !== undefined) checkDocument(broken, random, closeness);
    } catch (cause) {
      const shown = toHex(broken ?? bytes);
      throw new Error(
        `Cannot pass scanner fuzzing with --seed ${seed + index} --cases 1: ` +
          `${cause instanceof Error ? cause.message : cause} (hex ${shown})`,
        { cause },
      );
    }
  }
}

/** Checks every statement on one document, valid or not. */
export function checkDocument(
  bytes: Uint8Array,
  random: SeededRandom,
  closeness: Closeness = "thorough",
): void {
  const whole = scan(bytes, []);
  checkReference(bytes, whole);
  for (const cuts of splits(bytes.length, random, closeness)) {
    expectEqual(`cut at ${cuts}`, scan(bytes, cuts), whole);
  }
  const cut = random.below(bytes.length + 1);
  const part = scan(bytes.subarray(0, cut), []);
  expectPrefix("truncated", part.findings, whole.findings);
  const changed = bytes.slice();
  if (cut < bytes.length) changed[cut] = random.below(256);
  expectPrefix("mutated", part.findings, scan(changed, []).findings);
  checkStop(bytes, whole.findings, STOP_COUNT_MAX[closeness]);
}

/** Checks that a document of one scalar is accepted if and only if valid. */
function checkToken(text: string): void {
  const findings = referenceFindings(text, PATHS);
  const bytes = encoder.encode(text);
  for (const cuts of [[], Array.from(bytes, (_, at) => at)]) {
    const outcome = scan(bytes, cuts);
    const wanted = findings === undefined
      ? { status: "gave_up", findings: [] }
      : { status: "ended", findings };
    expectEqual(`token in ${text}`, outcome, wanted);
  }
}

/** Compares with the reference where the document is valid UTF-8. */
function checkReference(bytes: Uint8Array, whole: Outcome): void {
  let text: string;
  try {
    text = strictDecoder.decode(bytes);
  } catch {
    // Not UTF-8, of which JSON.parse has no opinion.
    return;
  }
  const findings = referenceFindings(text, PATHS);
  if (findings !== undefined) {
    expectEqual("reference", whole, { status: "ended", findings });
  }
}

/** Stops at each of the first findings: nothing after it is reported. */
function checkStop(
  bytes: Uint8Array,
  findings: readonly Finding[],
  stopCountMax: number,
): void {
  const count = Math.min(findings.length, stopCountMax);
  for (let wanted = 1; wanted <= count; wanted++) {
    const outcome = scan(bytes, [], wanted);
    const expected = findings.slice(0, wanted);
    expectEqual("stop", outcome, { status: "stopped", findings: expected });
  }
}

/** Scans `bytes` cut at `cuts`, stopping after `findingCount` findings. */
function scan(
  bytes: Uint8Array,
  cuts: readonly number[],
  findingCount = Infinity,
): Outcome {
  const findings: Finding[] = [];
  const sink: ScanSink = {
    found(index, value) {
      findings.push({
        index,
        kind: value.kind,
        value: value.kind === "boolean"
          ? String(value.value)
          : toHex(value.bytes),
      });
      return findings.length < findingCount ? ALL_BITS : 0;
    },
  };
  const scanner = new JsonScanner(TREE, sink, ALL_BITS);
  const lent = bytes.slice();
  let from = 0;
  for (const to of [...cuts, bytes.length]) {
    const chunk = lent.subarray(from, to);
    scanner.push(chunk);
    chunk.fill(POISON);
    from = to;
  }
  return { status: scanner.end(), findings };
}

/** Ways to cut a document, empty chunks and single bytes among them. */
function* splits(
  size: number,
  random: SeededRandom,
  closeness: Closeness,
): Generator<number[]> {
  if (closeness === "thorough" && size <= EVERY_SPLIT_BYTES_MAX) {
    for (let at = 0; at <= size; at++) yield [at];
    yield Array.from({ length: size }, (_, at) => at);
  }
  for (let round = RANDOM_SPLIT_COUNT[closeness]; round > 0; round--) {
    const step = random.pick([1, 3, 40, 700, 4000]);
    const cuts: number[] = [];
    let at = random.below(step + 1);
    for (; at < size; at += random.below(2 * step + 1)) {
      // An empty chunk now and then, but never without end.
      cuts.push(at);
      at += random.oneIn(4) ? 0 : 1;
    }
    yield cuts;
  }
}

/** One to three bytes changed, dropped or doubled. */
function mutated(bytes: Uint8Array, random: SeededRandom): Uint8Array {
  let result = bytes;
  for (let i = 1 + random.below(3); i > 0 && result.length > 0; i--) {
    const at = random.below(result.length);
    const head = result.subarray(0, at);
    const byte = random.oneIn(2)
      ? random.below(256)
      : random.pick([...'"\\{}[],: \u0000tn0']).charCodeAt(0);
    const middle = random.pick([[], [byte], [byte, result[at] ?? 0]]);
    const tail = result.subarray(at + 1);
    result = new Uint8Array(at + middle.length + tail.length);
    result.set(head);
    result.set(middle, at);
    result.set(tail, at + middle.length);
  }
  return result;
}

function expectEqual(what: string, actual: unknown, wanted: unknown): void {
  const a = JSON.stringify(actual);
  const w = JSON.stringify(wanted);
  if (a !== w) throw new Error(`${what}: current is ${a}, wanted is ${w}`);
}

function expectPrefix(
  what: string,
  prefix: readonly Finding[],
  whole: readonly Finding[],
): void {
  expectEqual(what, prefix, whole.slice(0, prefix.length));
}
