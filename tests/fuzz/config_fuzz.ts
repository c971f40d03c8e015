/**
 * Fuzzes the reading of configuration.
 *
 * Documents are random YAML texts, damaged ones, and random mappings of keys
 * that exist to values that mostly do not fit. Four statements are checked:
 * nothing but complaints comes of it; each complaint says where and what;
 * credentials of whole addresses are in none; and what is accepted is accepted again from what
 * YAML makes of its JSON, with the same result.
 *
 * Invariant: a failure names the seed and the document.
 *
 * @module
 */
import { parse as parseYaml } from "@std/yaml/parse";
import { LOAD_NAMES } from "../../src/cli/load_names.ts";
import { complaintsText, parseConfig } from "../../src/config/parse.ts";
import { configRows } from "../../src/config/reference.ts";
import type { FuzzOptions } from "./fuzz_options.ts";
import { SeededRandom } from "./random.ts";

/** Stands in every credential that a document has. */
export const SECRET = "s3cr3t-of-the-fuzzer";

const SCALARS: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  NaN,
  Infinity,
  2 ** 53,
  "",
  "auto",
  "off",
  "1s",
  "10m",
  "-5s",
  "1e9h",
  "64KiB",
  "1 GiB",
  "99999999999GiB",
  "127.0.0.1:0",
  "[::1]:8080",
  ":80",
  "host:99999",
  "rendezvous",
  "default",
  "header:x-a",
  "body:a.b",
  "header:",
  "http://127.0.0.1:8000-8007",
  "unix:/run/e.sock",
  `http://u:${SECRET}@h:1`,
  `http://${SECRET}@h/@`,
  `http:/u:${SECRET}@h`,
  "é\u0000\ud800",
  "x".repeat(5_000),
  new Date(0),
];
const KEYS = configRows().map(({ key }) => key.replace("[]", ""));
const MEMBER_COUNT_MAX = 5;
const DEPTH_MAX = 3;
const DAMAGE = [..."\n\t :-[]{}&*!|>'\"%@`#,?\\\0é", "<<: *a\n", "---\n"];

/** @throws {Error} at the first document on which a statement fails. */
export function fuzzConfig({ seed, cases }: FuzzOptions): void {
  for (let index = 0; index < cases; index++) {
    const maker = new ConfigMaker(new SeededRandom(seed + index));
    const text = maker.text();
    try {
      checkText(text);
      checkDocument(maker.mapping(DEPTH_MAX), SECRET);
    } catch (cause) {
      throw new Error(
        `Cannot pass configuration fuzzing with --seed ${seed + index} ` +
          `--cases 1: ${cause instanceof Error ? cause.stack : cause} ` +
          `(text ${JSON.stringify(text.slice(0, 2_000))})`,
        { cause },
      );
    }
  }
}

/** Checks a text, which YAML may refuse with an error of its own. */
export function checkText(text: string, secret?: string): void {
  let document: unknown;
  try {
    document = parseYaml(text);
  } catch (error) {
    if (error instanceof SyntaxError) return;
    throw error;
  }
  checkDocument(document, secret);
}

/** What was once a credential may be none in a text that is damaged. */
function checkDocument(document: unknown, secret?: string): void {
  const result = parseConfig(document, { names: LOAD_NAMES });
  if (result.kind === "refused") {
    const { complaints } = result;
    const text = complaintsText(complaints);
    if (complaints.length === 0) throw new Error("refused without a reason");
    if (secret !== undefined && text.includes(secret)) {
      throw new Error(`tells a secret: ${text}`);
    }
    for (const { wanted } of complaints) {
      if (wanted.trim() === "") throw new Error(`says nothing: ${text}`);
    }
    return;
  }
  if (!Object.isFrozen(result.config)) throw new Error("is not frozen");
  const again = parseConfig(parseYaml(JSON.stringify(document)), {
    names: LOAD_NAMES,
  });
  const [one, other] = [JSON.stringify(result), JSON.stringify(again)];
  if (one !== other) throw new Error(`reads ${one}, then ${other}`);
}

/** Makes documents. */
class ConfigMaker {
  readonly #random: SeededRandom;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  /** A YAML text, damaged more often than not. */
  text(): string {
    const random = this.#random;
    let text = JSON.stringify(this.mapping(DEPTH_MAX), null, random.below(3));
    if (random.oneIn(2)) text = text.replaceAll(/[{}",]/g, " ");
    for (let i = random.below(4); i > 0; i--) {
      const at = random.below(text.length + 1);
      text = text.slice(0, at) + random.pick(DAMAGE) +
        text.slice(at + random.below(3));
    }
    return text;
  }

  /** A mapping of keys, most of which exist, to whatever chance has. */
  mapping(depth: number): Record<string, unknown> {
    const random = this.#random;
    const mapping: Record<string, unknown> = Object.create(null);
    for (let i = random.below(MEMBER_COUNT_MAX); i > 0; i--) {
      const path = random.oneIn(12)
        ? [random.pick(["__proto__", "constructor", "", "é", "listne"])]
        : random.pick(KEYS).split(".");
      put(mapping, path, this.#value(depth));
    }
    return mapping;
  }

  #value(depth: number): unknown {
    const random = this.#random;
    const kind = depth > 0 ? random.below(8) : 0;
    if (kind < 5) return random.pick(SCALARS);
    if (kind < 7) {
      return Array.from(
        { length: random.below(4) },
        () => this.#value(depth - 1),
      );
    }
    return this.mapping(depth - 1);
  }
}

/** Puts a value at a path, replacing what is in the way. */
function put(
  mapping: Record<string, unknown>,
  path: readonly string[],
  value: unknown,
): void {
  let at = mapping;
  for (const name of path.slice(0, -1)) {
    const inner = Object.hasOwn(at, name) ? at[name] : undefined;
    const next: Record<string, unknown> =
      typeof inner === "object" && inner !== null && !Array.isArray(inner)
        ? inner as Record<string, unknown>
        : Object.create(null);
    Object.defineProperty(at, name, {
      value: next,
      enumerable: true,
      configurable: true,
      writable: true,
    });
    at = next;
  }
  const last = path.at(-1) ?? "";
  Object.defineProperty(at, last, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}
