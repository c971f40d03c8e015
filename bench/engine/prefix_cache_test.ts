/**
 * The prefix cache against tables and a naive model of it.
 *
 * Invariant: what the cache says of a prompt is what a list of prefixes would.
 *
 * @module
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { test } from "../../tests/leakproof.ts";
import { chainOf, PrefixCache } from "./prefix_cache.ts";

const BLOCK_BYTES = 64;

function chainOfText(text: string) {
  return chainOf(new TextEncoder().encode(text));
}

test("PrefixCache refuses a size that is none", () => {
  for (const size of [-1, 0.5, NaN, Infinity]) {
    assertThrows(() => new PrefixCache(size), RangeError, `${size}`);
  }
});

test("match() counts whole blocks and never the last token", async (t) => {
  const rows = [
    { name: "nothing", bytes: 0, cachedTokens: 0 },
    { name: "a byte less than a block", bytes: 63, cachedTokens: 0 },
    {
      name: "exactly a block: its last token is due",
      bytes: 64,
      cachedTokens: 0,
    },
    { name: "a byte over a block", bytes: 65, cachedTokens: 16 },
    { name: "exactly two blocks", bytes: 128, cachedTokens: 16 },
    { name: "a byte over two blocks", bytes: 129, cachedTokens: 32 },
  ];
  for (const row of rows) {
    await t.step(row.name, () => {
      const cache = new PrefixCache(100);
      const prompt = chainOfText("x".repeat(row.bytes));
      assertEquals(cache.match(prompt), 0);
      cache.insert(prompt);
      assertEquals(cache.match(prompt), row.cachedTokens);
      assertEquals(cache.hitTokens, row.cachedTokens);
      assertEquals(cache.queryTokens, 2 * Math.ceil(row.bytes / 4));
    });
  }
});

test("match() stops at the first difference", () => {
  const cache = new PrefixCache(100);
  cache.insert(chainOfText("a".repeat(256)));
  const changed = `${"a".repeat(100)}b${"a".repeat(155)}`;
  assertEquals(cache.match(chainOfText(changed)), 16);
  assertEquals(cache.match(chainOfText(`b${"a".repeat(255)}`)), 0);
});

test("insert() takes as many blocks as the text fills", () => {
  const cache = new PrefixCache(100);
  const { names } = chainOfText("a".repeat(5 * BLOCK_BYTES));
  cache.insert({ names, byteCount: 2 * BLOCK_BYTES + 63 });
  assertEquals(cache.blockCount, 2);
});

test("insert() evicts the least recently used, tails first", () => {
  const cache = new PrefixCache(4);
  const first = chainOfText("a".repeat(128));
  const second = chainOfText("b".repeat(128));
  const third = chainOfText("c".repeat(64));
  cache.insert(first);
  cache.insert(second);
  cache.insert(first);
  cache.insert(third);
  assertEquals(cache.blockCount, 4);
  const longer = (letter: string) => chainOfText(letter.repeat(129));
  assertEquals(cache.match(longer("a")), 32);
  assertEquals(
    cache.match(longer("b")),
    16,
    "the tail of b went, not its head",
  );
  assertEquals(cache.match(longer("c")), 16);
});

test("insert() keeps the head of a text that is larger than the cache", () => {
  const cache = new PrefixCache(2);
  const text = chainOfText("z".repeat(10 * BLOCK_BYTES));
  cache.insert(text);
  assertEquals(cache.blockCount, 2);
  assertEquals(cache.match(text), 32);
});

test("PrefixCache without eviction agrees with a set of prefixes", () => {
  const texts = fc.array(
    fc.array(fc.constantFrom("a", "b"), { maxLength: 5 }).map((blocks) =>
      blocks.map((letter) => letter.repeat(BLOCK_BYTES)).join("")
    ),
    { maxLength: 12 },
  );
  fc.assert(fc.property(texts, (inserted) => {
    const cache = new PrefixCache(1000);
    const prefixes = new Set<string>();
    for (const text of inserted) {
      let blocks = 0;
      const useful = Math.max(0, text.length / BLOCK_BYTES - 1);
      while (
        blocks < useful &&
        prefixes.has(text.slice(0, (blocks + 1) * BLOCK_BYTES))
      ) blocks++;
      assertEquals(cache.match(chainOfText(text)), blocks * 16);
      cache.insert(chainOfText(text));
      for (let at = BLOCK_BYTES; at <= text.length; at += BLOCK_BYTES) {
        prefixes.add(text.slice(0, at));
      }
      assertEquals(cache.blockCount, prefixes.size);
    }
  }));
});

test("PrefixCache never holds more than its limit", () => {
  fc.assert(fc.property(
    fc.nat(8),
    fc.array(fc.string({ maxLength: 400 }), { maxLength: 20 }),
    (blocksMax, texts) => {
      const cache = new PrefixCache(blocksMax);
      for (const text of texts) {
        cache.insert(chainOfText(text));
        assert(cache.blockCount <= blocksMax);
      }
    },
  ));
});
