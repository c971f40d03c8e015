/** Tests of the hash of a value. @module */
import { assertEquals, assertNotEquals } from "@std/assert";
import { createHash } from "node:crypto";
import { test } from "../../tests/leakproof.ts";
import { hashBytes } from "./hash.ts";
import { hashKey, SESSION_KEY_BYTES_MAX } from "./session_key.ts";

test("hashKey() refuses blank values, however long", () => {
  for (const length of [0, 1, SESSION_KEY_BYTES_MAX + 1]) {
    assertEquals(hashKey(new Uint8Array(length).fill(0x20)), undefined);
  }
});

test("hashKey() goes through SHA-256 above the limit, and only there", () => {
  for (const above of [-1, 0, 1]) {
    const value = new Uint8Array(SESSION_KEY_BYTES_MAX + above).fill(0x78);
    const digest = createHash("sha256").update(value).digest();
    assertEquals(hashKey(value), hashBytes(above > 0 ? digest : value));
  }
});

test("hashKey() never truncates (C20 Bifrost)", () => {
  const one = new Uint8Array(10_000).fill(0x78);
  const other = one.slice();
  other[9999] = 0x79;
  assertNotEquals(hashKey(one), hashKey(other));
});
