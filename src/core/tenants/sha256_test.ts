/**
 * The digest is that of the runtime, at every length around a block.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../../tests/leakproof.ts";
import { DIGEST_WORDS, sha256 } from "./sha256.ts";

function digest(text: string): string {
  const words = new Int32Array(DIGEST_WORDS);
  sha256(text, words);
  return [...words].map((word) => (word >>> 0).toString(16).padStart(8, "0"))
    .join("");
}

function reference(text: string): string {
  return createHash("sha256").update(text, "latin1").digest("hex");
}

test("sha256() gives the vectors of FIPS 180-4", () => {
  const rows = [
    ["", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
    ["abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
    [
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
    ],
  ] as const;
  for (const [text, hex] of rows) assertEquals(digest(text), hex);
});

test("sha256() agrees with the runtime at every length of some blocks", () => {
  for (let length = 0; length <= 260; length++) {
    const text = "a\xff\x00\x80".repeat(65).slice(0, length);
    assertEquals(digest(text), reference(text), String(length));
  }
});

test("sha256() agrees with the runtime on any latin-1 text", () => {
  const latin1 = fc.integer({ min: 0, max: 255 }).map((code) =>
    String.fromCharCode(code)
  );
  const text = fc.string({ unit: latin1, maxLength: 600 });
  fc.assert(fc.property(text, (text) => {
    assertEquals(digest(text), reference(text));
  }));
});
