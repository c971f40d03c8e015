/**
 * `Forwarded`, what cannot be read first.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../tests/leakproof.ts";
import { forwardedElement, forwardedHops, type Hop } from "./forwarded.ts";

test("forwardedHops() reads nothing that has two readings", () => {
  const bad = [
    "for",
    "for=",
    "=1.2.3.4",
    "for=1.2.3.4,",
    "for=1.2.3.4;",
    ",for=1.2.3.4",
    "for=1.2.3.4,,for=1.2.3.5",
    "for=1.2.3.4;for=1.2.3.5",
    "for=1.2.3.4;FOR=1.2.3.5",
    'for="1.2.3.4',
    'for="1.2.3.4"x',
    "for=1.2.3.4 proto=http",
    "for = 1.2.3.4",
    "for=a b",
    "for=1.2.3.4\\",
    Array.from({ length: 65 }, () => "for=a").join(),
  ];
  for (const value of bad) assertEquals(forwardedHops(value), undefined, value);
});

test("forwardedHops() reads what RFC 7239 shows", () => {
  const table: [string, Hop[]][] = [
    ["", []],
    ['for="_gazonk"', [{ for: "_gazonk" }]],
    ['For="[2001:db8:cafe::17]:4711"', [{ for: "[2001:db8:cafe::17]:4711" }]],
    ["for=192.0.2.60;proto=http;by=203.0.113.43", [
      { for: "192.0.2.60", proto: "http", by: "203.0.113.43" } as Hop,
    ]],
    ["for=192.0.2.43, for=198.51.100.17", [
      { for: "192.0.2.43" },
      { for: "198.51.100.17" },
    ]],
    ['for=a;host="x, for=b"', [{ for: "a", host: "x, for=b" }]],
    ['host="a\\"b"', [{ host: 'a"b' }]],
  ];
  for (const [value, hops] of table) {
    assertEquals(forwardedHops(value), hops, value);
  }
});

test("forwardedHops() reads what forwardedElement() writes", () => {
  const text = fc.string({ minLength: 1, unit: "grapheme-ascii" })
    .filter((value) => !value.includes(":") && value === value.toLowerCase());
  const hop = fc.record({ for: text, proto: text, host: text });
  fc.assert(fc.property(fc.array(hop, { maxLength: 8 }), (hops) => {
    const value = hops.map(forwardedElement).join(", ");
    assertEquals(forwardedHops(value), hops);
  }));
  assertEquals(forwardedElement({ for: "::1" }), 'for="[::1]"');
  assertEquals(forwardedElement({ for: "[::1]:9" }), 'for="[::1]:9"');
  assertEquals(forwardedElement({ for: "1.2.3.4:9" }), 'for="1.2.3.4:9"');
});
