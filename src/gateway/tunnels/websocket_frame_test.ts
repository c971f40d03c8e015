/**
 * What is sent is one masked frame of the shortest form.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../../tests/leakproof.ts";
import { maskedFrame, OPCODE } from "./websocket_frame.ts";

test("maskedFrame() makes the frame of RFC 6455, 5.7", () => {
  const payload = new TextEncoder().encode("Hello");
  const mask = 0x37fa213d;
  assertEquals(
    [...maskedFrame({ opcode: OPCODE.text, payload, mask })],
    [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58],
  );
  assertEquals(new TextDecoder().decode(payload), "Hello");
});

test("maskedFrame() states lengths in their shortest form", () => {
  const rows: [length: number, head: number[]][] = [
    [0, [0x82, 0x80]],
    [125, [0x82, 0x80 | 125]],
    [126, [0x82, 0x80 | 126, 0, 126]],
    [65_535, [0x82, 0x80 | 126, 255, 255]],
    [65_536, [0x82, 0x80 | 127, 0, 0, 0, 0, 0, 1, 0, 0]],
  ];
  for (const [length, head] of rows) {
    const payload = new Uint8Array(length);
    const frame = maskedFrame({ opcode: OPCODE.binary, payload, mask: 0 });
    assertEquals([...frame.subarray(0, head.length)], head);
    assertEquals(frame.length, head.length + 4 + length);
  }
});

test("maskedFrame() masks every byte by its place", () => {
  const words = fc.integer({ min: 0, max: 2 ** 32 - 1 });
  fc.assert(fc.property(fc.uint8Array(), words, (payload, mask) => {
    const frame = maskedFrame({ opcode: OPCODE.binary, payload, mask });
    const masked = frame.subarray(frame.length - payload.length);
    const unmasked = masked.map((byte, i) =>
      byte ^ (mask >>> (24 - 8 * (i % 4))) & 255
    );
    assertEquals(unmasked, payload);
  }));
});
