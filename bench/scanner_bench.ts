/**
 * What finding the session key costs: in bodies of four sizes, and in heads.
 *
 * Each group has two baselines: `JSON.parse` of a text that is already
 * decoded, which no gateway has, and decoding and parsing, which is what not
 * having a scanner would cost. Divide the size by the time for bytes a second.
 *
 * Invariant: every row finds the same key, or the bench fails.
 *
 * @module
 */
import type { Header } from "../src/core/request.ts";
import { KeyPlan } from "../src/core/scan/key_plan.ts";
import { DEFAULT_SESSION_KEYS } from "../src/session_keys/defaults.ts";
import { parseSource } from "../src/session_keys/parse.ts";

const KIB = 1024;
const SESSION = "0f2c5a0e-5c1b-4d5c-9f1c-6b5d1f2e3a4b";
const SIZES = [
  ["1 KiB", KIB],
  ["16 KiB", 16 * KIB],
  ["256 KiB", 256 * KIB],
  ["4 MiB", 4096 * KIB],
] as const;
/** Longest text of one turn of a conversation. */
const TURN_BYTES_MAX = 2048;
/** Text as models write it: a quotation and a line break now and then. */
const PROSE = "The gateway asks which engine holds the conversation already, " +
  'and the answer is "the second": it has served all of the turns so far, ' +
  "and its cache is warm.\n";
/** Text as tools are called: JSON within a string, full of escaped quotes. */
const CALL = '{"name":"search","arguments":{"query":"key value cache"}}';

const PLAN = new KeyPlan(DEFAULT_SESSION_KEYS.map(parseSource));
const KEY = keyOf(
  PLAN.fromHead(headOf([["x-session-id", SESSION]]))?.hash,
);

for (const [label, size] of SIZES) {
  for (const place of ["first", "last"] as const) {
    benchBody(`${label}, key ${place}`, bodyText(size, place, PROSE));
  }
}
benchBody("256 KiB of calls, key last", bodyText(256 * KIB, "last", CALL));

/** The head of a request as the SDKs for Python and JavaScript send it. */
const HEADERS: readonly Header[] = [
  ["host", "127.0.0.1:8080"],
  ["accept", "application/json"],
  ["content-type", "application/json"],
  ["user-agent", "OpenAI/JS 6.0.0"],
  ["x-stainless-lang", "js"],
  ["x-stainless-os", "Linux"],
  ["x-stainless-retry-count", "0"],
  ["authorization", "Bearer sk-none"],
  ["content-length", "1000"],
];
const HEADS = [
  ["none of ten", [...HEADERS, ["accept-encoding", "gzip"]]],
  ["the last of ten", [...HEADERS, ["x-session-id", SESSION]]],
] as const;

for (const [label, headers] of HEADS) {
  const head = headOf(headers);
  const isThere = label !== "none of ten";
  Deno.bench(`key in ${label} headers`, { group: "head" }, () => {
    expectKey((PLAN.fromHead(head)?.hash.a === KEY) === isThere);
  });
}

function benchBody(label: string, text: string): void {
  const bytes = new TextEncoder().encode(text);
  const group = `body of ${label} (${bytes.length} bytes)`;
  Deno.bench("scanner", { group, baseline: true }, () => {
    const sniff = PLAN.createSniff(undefined, { needModel: true });
    sniff.push(bytes);
    expectKey(sniff.found?.hash.a === KEY && sniff.model !== undefined);
  });
  Deno.bench("decode + JSON.parse", { group }, () => {
    const decoded = new TextDecoder().decode(bytes);
    expectKey(JSON.parse(decoded)["session_id"] === SESSION);
  });
  Deno.bench("JSON.parse of a decoded text", { group }, () => {
    expectKey(JSON.parse(text)["session_id"] === SESSION);
  });
}

function bodyText(
  size: number,
  place: "first" | "last",
  phrase: string,
): string {
  const messages: { role: string; content: string }[] = [];
  const rest = { temperature: 0.7, stream: true, ["max_tokens"]: 256 };
  const key = { ["session_id"]: SESSION };
  for (let used = 200; used < size;) {
    const length = Math.min(TURN_BYTES_MAX, size - used);
    const count = Math.ceil(length / phrase.length);
    const content = phrase.repeat(count).slice(0, length);
    messages.push({
      role: messages.length % 2 ? "assistant" : "user",
      content,
    });
    used += content.length + 100;
  }
  const body = { model: "llama-3", ...rest, messages };
  return JSON.stringify(
    place === "first" ? { ...key, ...body } : { ...body, ...key },
  );
}

function headOf(headers: readonly Header[]) {
  return { method: "POST", target: "/v1/chat/completions", headers };
}

function keyOf(hash: { readonly a: number } | undefined): number {
  if (hash === undefined) throw new Error("Cannot find the key of the head");
  return hash.a;
}

function expectKey(isFound: boolean): void {
  if (!isFound) throw new Error("Cannot find the session key");
}
