/**
 * Addresses and blocks, what is none first.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../tests/leakproof.ts";
import { isWithin, parseAddress, parseBlock } from "./cidr.ts";

test("parseAddress() takes nothing that is no address", () => {
  const bad = [
    "",
    "1",
    "1.2.3",
    "1.2.3.4.5",
    "1.2.3.256",
    "1.2.3.-4",
    "01.2.3.4",
    "1.2.3.4 ",
    "1.2.3.4:80",
    "0x7f.0.0.1",
    ":",
    ":::",
    "1::2::3",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "1:2:3:4:5:6:7::8",
    "12345::",
    "g::",
    "fe80::1%eth0",
    "[::1]",
    "::1.2.3",
    "1.2.3.4::",
    "unknown",
    "_hidden",
    "localhost",
    "1".repeat(46),
  ];
  for (const text of bad) assertEquals(parseAddress(text), undefined, text);
});

test("parseAddress() reads every spelling of an address alike", () => {
  const table: [string, string][] = [
    ["::ffff:10.1.2.3", "10.1.2.3"],
    ["::FFFF:a01:203", "10.1.2.3"],
    ["0:0:0:0:0:ffff:10.1.2.3", "10.1.2.3"],
    ["2001:DB8::1", "2001:db8:0:0:0:0:0:1"],
    ["::", "0:0:0:0:0:0:0:0"],
    ["1::", "1:0:0:0:0:0:0:0"],
    ["64:ff9b::1.2.3.4", "64:ff9b::102:304"],
    ["1:2:3:4:5:6::8", "1:2:3:4:5:6:0:8"],
  ];
  for (const [one, other] of table) {
    assertEquals(parseAddress(one), parseAddress(other), one);
    assertEquals(parseAddress(one) === undefined, false, one);
  }
});

test("parseBlock() takes nothing that is no block", () => {
  const bad = [
    "",
    "/8",
    "10.0.0.0/",
    "10.0.0.0/33",
    "10.0.0.0/-1",
    "10.0.0.0/08",
    "10.0.0.0/8/8",
    "10.0.0.0/8 ",
    "10.0.0.1/8",
    "10.0.0.0/255.0.0.0",
    "::/129",
    "::1/127",
    "::ffff:10.0.0.0/95",
    "example/8",
  ];
  for (const text of bad) assertEquals(parseBlock(text), undefined, text);
});

test("isWithin() keeps to the bits of a block", () => {
  const table: [string, string, boolean][] = [
    ["10.0.0.0/8", "10.255.255.255", true],
    ["10.0.0.0/8", "11.0.0.0", false],
    ["10.0.0.0/8", "::ffff:10.0.0.1", true],
    ["::ffff:10.0.0.0/104", "10.9.9.9", true],
    ["172.16.0.0/12", "172.31.255.255", true],
    ["172.16.0.0/12", "172.32.0.0", false],
    ["192.0.2.7", "192.0.2.7", true],
    ["192.0.2.7", "192.0.2.6", false],
    ["192.0.2.6/31", "192.0.2.7", true],
    ["0.0.0.0/0", "203.0.113.1", true],
    ["0.0.0.0/0", "::1", false],
    ["::/0", "2001:db8::1", true],
    ["::/0", "10.0.0.1", false],
    ["::/0", "::ffff:10.0.0.1", false],
    ["2001:db8::/33", "2001:db8:7fff::", true],
    ["2001:db8::/33", "2001:db8:8000::", false],
    ["::1", "::1", true],
    ["10.0.0.0/8", "unknown", false],
  ];
  for (const [text, address, expected] of table) {
    const block = parseBlock(text);
    assertEquals(
      block !== undefined && isWithin(address, [block]),
      expected,
      `${address} in ${text}`,
    );
  }
  assertEquals(isWithin("10.0.0.1", []), false);
});

test("an address is in every block that is cut from it, and in no sibling", () => {
  const bytes = fc.uint8Array({ minLength: 4, maxLength: 4 });
  fc.assert(fc.property(bytes, fc.integer({ min: 1, max: 32 }), (ip, bits) => {
    const value = ip.reduce((sum, byte) => sum * 256 + byte, 0);
    const size = 2 ** (32 - bits);
    const start = value - (value % size);
    const sibling = Math.floor(start / size) % 2 === 0
      ? start + size
      : start - size;
    for (const [from, expected] of [[start, true], [sibling, false]] as const) {
      const text = [24, 16, 8, 0].map((by) => Math.floor(from / 2 ** by) % 256);
      const block = parseBlock(`${text.join(".")}/${bits}`);
      if (block === undefined) throw new Error(text.join("."));
      assertEquals(isWithin(ip.join("."), [block]), expected);
    }
  }));
});
