/**
 * A key is found by all of itself, and only while it is valid.
 *
 * @module
 */
import { assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { test } from "../../../tests/leakproof.ts";
import { API_KEY_CHARS_MAX, API_KEYS_MAX } from "../api_key.ts";
import { ApiKeyTable, digestOfKey } from "./api_keys.ts";
import { hashBytes } from "../hash.ts";
import { TenantScope } from "./tenant_scope.ts";

const NOW_MS = 1_796_000_000_000;

function key(secret: string, expiresAtMs?: number) {
  return { tenant: "red", digest: digestOfKey(secret), expiresAtMs };
}

test("ApiKeyTable.find() finds what was issued, and nothing like it", () => {
  const longest = "x".repeat(API_KEY_CHARS_MAX);
  const keys = new ApiKeyTable([
    key("0123456789abcdef"),
    key("expired-0123456789", NOW_MS),
    key("expires-0123456789", NOW_MS + 1),
    key(longest),
  ]);
  const rows = [
    { presented: "", isFound: false },
    { presented: "0123456789abcde", isFound: false },
    { presented: "0123456789abcdef0", isFound: false },
    { presented: "0123456789ABCDEF", isFound: false },
    { presented: digestOfKey("0123456789abcdef"), isFound: false },
    { presented: `${longest}x`, isFound: false },
    { presented: "expired-0123456789", isFound: false },
    { presented: "expires-0123456789", isFound: true },
    { presented: longest, isFound: true },
    { presented: "0123456789abcdef", isFound: true },
  ];
  for (const { isFound, presented } of rows) {
    assertEquals(
      keys.find(presented, NOW_MS) !== undefined,
      isFound,
      presented,
    );
  }
});

test("ApiKeyTable compares whole digests where they begin alike", () => {
  const digest = digestOfKey("0123456789abcdef");
  const last = digest.endsWith("0") ? "1" : "0";
  const near = { ...key("x"), digest: digest.slice(0, -1) + last };
  const found = new ApiKeyTable([near]).find("0123456789abcdef", NOW_MS);
  assertEquals(found, undefined);
  const both = new ApiKeyTable([near, { ...near, digest, tenant: "blue" }]);
  assertEquals(both.find("0123456789abcdef", NOW_MS)?.tenant, "blue");
});

test("ApiKeyTable finds each of many keys, and no other text", () => {
  const secret = fc.string({ unit: "grapheme-ascii", minLength: 1 });
  const secrets = fc.uniqueArray(secret, { minLength: 1, maxLength: 50 });
  fc.assert(fc.property(secrets, secret, (secrets, other) => {
    const keys = new ApiKeyTable(secrets.map((one) => key(one)));
    for (const one of secrets) {
      assertEquals(keys.find(one, NOW_MS)?.digest, digestOfKey(one));
    }
    const isKnown = secrets.includes(other);
    assertEquals(keys.find(other, NOW_MS) !== undefined, isKnown);
  }));
});

test("ApiKeyTable holds so many keys and no more", () => {
  const many = Array.from({ length: API_KEYS_MAX }, (_, i) => key(`key ${i}`));
  assertEquals(new ApiKeyTable(many).find("key 4095", NOW_MS), many[4_095]);
  assertThrows(
    () => new ApiKeyTable([...many, key("one more")]),
    RangeError,
    "at most 4096",
  );
});

test("TenantScope keeps tenants apart, and one tenant's sessions too", () => {
  const red = new TenantScope("red");
  const blue = new TenantScope("blue");
  fc.assert(fc.property(fc.uint8Array(), fc.uint8Array(), (one, other) => {
    const hash = hashBytes(one);
    assertNotEquals(red.of(hash), blue.of(hash));
    assertNotEquals(red.of(hash), hash);
    assertEquals(new TenantScope("red").of(hash), red.of(hash));
    const isSame = one.join() === other.join();
    const scoped = red.of(hashBytes(other));
    assertEquals(
      scoped.a === red.of(hash).a,
      isSame || hash.a === hashBytes(other).a,
    );
  }));
});

test("TenantScope is frozen: bindings in snapshots rest on it", () => {
  const hash = hashBytes(new TextEncoder().encode("session-1"));
  const scoped = new TenantScope("search").of(hash);
  assertEquals(scoped, { a: 897739579, b: 778774011 });
});
