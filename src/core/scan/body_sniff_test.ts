/** Tests of the sniff of one body. @module */
import type { SessionKeySource } from "../session_key_source.ts";
import { assert, assertEquals } from "@std/assert";
import { test } from "../../../tests/leakproof.ts";
import { BodyPlan, BodySniff, type FoundKey } from "./body_sniff.ts";
import { hashKey } from "../session_key.ts";

const PLAN = new BodyPlan(
  ["session_id", "metadata.user_id", "conversation.id", "conversation"]
    .map(source),
);

test("sniff finds the value of the best source, wherever it stands", () => {
  const rows: readonly (readonly [string, number, string])[] = [
    ['{"session_id":"a","conversation":"b"}', 0, "a"],
    ['{"conversation":"b","session_id":"a"}', 0, "a"],
    ['{"conversation":"b","metadata":{"user_id":"u"}}', 1, "u"],
    ['{"conversation":{"id":"c"}}', 2, "c"],
    ['{"conversation":"b","conversation":{"id":"c"}}', 2, "c"],
    ['{"session_id":"","conversation":"b"}', 3, "b"],
    ['{"session_id":"","session_id":"s"}', 0, "s"],
    ['{"session_id":"first","session_id":"last"}', 0, "first"],
    ['{"session_id":42}', 0, "42"],
  ];
  for (const [body, rank, value] of rows) {
    const found = sniff(body).found;
    assertEquals(found, { hash: hash(value), sourceIndex: rank }, body);
  }
});

test("sniff finds no key in absent kinds (PS id value types)", () => {
  const values = ["null", '""', '" \\t\\n"', "true", "false", "[1]", "{}"];
  for (const value of values) {
    assertEquals(sniff(`{"session_id":${value}}`).found, undefined, value);
  }
});

test("sniff is decided when nothing better can appear", () => {
  const start = '{"stream":true,"session_id":"a",';
  const waiting = new BodySniff(PLAN, { found: undefined, needModel: true });
  assertEquals(waiting.push(encode(start)), false);
  assertEquals(waiting.push(encode('"model":"m",')), true);
  assertEquals([waiting.model, waiting.stream], ["m", true]);
  const hasty = new BodySniff(PLAN, { found: undefined, needModel: false });
  assertEquals(hasty.push(encode(start)), true);
  assertEquals(hasty.model, undefined);
  const lesser = new BodySniff(PLAN, { found: undefined, needModel: false });
  assertEquals(lesser.push(encode('{"conversation":"b",')), false);
});

test("sniff does not look for sources that rank after the head's", () => {
  const found: FoundKey = { hash: { a: 1, b: 2 }, sourceIndex: 1 };
  const better = new BodySniff(PLAN, { found, needModel: false });
  better.push(encode('{"conversation":"b","metadata":{"user_id":"u"},'));
  assertEquals([better.found, better.isDecided], [found, false]);
  better.push(encode('"session_id":"s"'));
  assertEquals(better.found, { hash: hash("s"), sourceIndex: 0 });
  const best: FoundKey = { hash: { a: 1, b: 2 }, sourceIndex: 0 };
  const decided = new BodySniff(PLAN, { found: best, needModel: false });
  assertEquals([decided.isDecided, decided.push(encode("[]"))], [true, true]);
  assertEquals([decided.found, decided.gaveUp], [best, false]);
});

test("sniff says when the body is nothing it can read (PS #741, #1017)", () => {
  const bodies = ["", "[]", "\u00ff", "[".repeat(2000), '{"session_id":"a'];
  for (const body of bodies) {
    const sniffed = sniff(body);
    assert(sniffed.gaveUp && sniffed.isDecided, body);
    assertEquals(sniffed.found, undefined);
  }
  assertEquals(sniff("{}").gaveUp, false);
});

test("sniff reports model and stream only in their own kinds", () => {
  const rows: readonly (readonly [string, unknown, unknown])[] = [
    ['{"model":7,"stream":"true"}', undefined, undefined],
    ['{"model":"","stream":null}', undefined, undefined],
    [`{"model":"${"x".repeat(1025)}"}`, undefined, undefined],
    ['{"model":{"id":"m"},"model":"n"}', "n", undefined],
    ['{"stream":false,"model":"a","model":"b"}', "a", false],
    ['{"model":"\\u65e5\ufeff","stream":true}', "日\ufeff", true],
  ];
  for (const [body, model, stream] of rows) {
    const sniffed = sniff(body);
    assertEquals([sniffed.model, sniffed.stream], [model, stream], body);
  }
});

test("sniff shares a path between sources with and without a filter", () => {
  const filter = (value: Uint8Array) =>
    value[0] === 0x78 ? value.subarray(1) : undefined;
  const plain = source("user");
  const plan = new BodyPlan([{ ...plain, filter }, plain]);
  const rows: readonly (readonly [string, FoundKey | undefined])[] = [
    ["xabc", { hash: hash("abc"), sourceIndex: 0 }],
    ["abc", { hash: hash("abc"), sourceIndex: 1 }],
    ["x", { hash: hash("x"), sourceIndex: 1 }],
    ["x".repeat(1026), { hash: hash("x".repeat(1025)), sourceIndex: 0 }],
    ["x".repeat(8192), { hash: hash("x".repeat(8191)), sourceIndex: 0 }],
    ["x".repeat(8193), { hash: hash("x".repeat(8193)), sourceIndex: 1 }],
  ];
  for (const [value, wanted] of rows) {
    const sniffed = new BodySniff(plan, { found: undefined, needModel: false });
    sniffed.push(encode(JSON.stringify({ user: value })));
    assertEquals(sniffed.found, wanted, `${value.length} bytes`);
  }
});

test("sniff gives no filter the digest of an over-long value", () => {
  const filtered = { ...source("user"), filter: (value: Uint8Array) => value };
  for (const [length, isFound] of [[8192, true], [8193, false]] as const) {
    const plan = new BodyPlan([filtered]);
    const sniffed = new BodySniff(plan, { found: undefined, needModel: false });
    sniffed.push(encode(JSON.stringify({ user: "x".repeat(length) })));
    assertEquals(sniffed.found !== undefined, isFound, `${length} bytes`);
  }
});

test("sniff takes a source on the model's own member", () => {
  const plan = new BodyPlan([source("model"), source("stream")]);
  const sniffed = new BodySniff(plan, { found: undefined, needModel: true });
  sniffed.push(encode('{"model":"m"}'));
  assertEquals(sniffed.found, { hash: hash("m"), sourceIndex: 0 });
  assertEquals(sniffed.model, "m");
});

test("sniff digests over-long values like everybody (C20 Bifrost)", () => {
  for (const length of [1023, 1024, 1025, 10_000]) {
    const value = "k".repeat(length);
    const found = sniff(`{"session_id":"${value}"}`).found;
    assertEquals(found?.hash, hash(value), `${length} bytes`);
  }
});

function source(name: string): SessionKeySource & { readonly kind: "body" } {
  return { name: `body:${name}`, kind: "body", path: name.split(".") };
}

/** Sniffs a whole body, fed byte by byte, needing the model. */
function sniff(body: string): BodySniff {
  const sniffed = new BodySniff(PLAN, { found: undefined, needModel: true });
  for (const byte of encode(body)) sniffed.push(Uint8Array.of(byte));
  sniffed.end();
  return sniffed;
}

function hash(value: string) {
  const hashed = hashKey(encode(value));
  if (hashed === undefined) throw new Error("Cannot hash a blank value");
  return hashed;
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
