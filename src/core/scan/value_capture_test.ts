/** Tests of collecting a value in pieces. @module */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { createHash } from "node:crypto";
import { test } from "../../../tests/leakproof.ts";
import { ValueCapture } from "./value_capture.ts";

const LIMIT = 8;

test("ValueCapture keeps values up to its limit and digests longer ones", () => {
  const capture = new ValueCapture();
  for (const size of [LIMIT + 1, LIMIT - 1, LIMIT, 3 * LIMIT, 1]) {
    const value = new Uint8Array(size).map((_, i) => 0x61 + i);
    capture.begin(LIMIT);
    capture.run(value);
    const isDigest = size > LIMIT;
    const bytes = isDigest
      ? [...createHash("sha256").update(value).digest()]
      : [...value];
    const got = capture.finish();
    assertEquals(got?.isDigest, isDigest);
    assertEquals([...got?.bytes ?? []], bytes);
  }
});

test("ValueCapture yields nothing for blanks of any length", () => {
  const capture = new ValueCapture();
  for (const size of [0, 1, LIMIT, LIMIT + 1, 5 * LIMIT]) {
    capture.begin(LIMIT);
    capture.run(new Uint8Array(size).fill(0x20));
    assertEquals(capture.finish(), undefined);
  }
});

test("ValueCapture does not depend on the pieces", () => {
  const pieces = fc.array(fc.uint8Array({ maxLength: 12 }), { maxLength: 8 });
  fc.assert(fc.property(pieces, (list) => {
    const whole = Uint8Array.from(list.flatMap((piece) => [...piece]));
    const outcomes = [[whole], list, whole].map((way) => {
      const capture = new ValueCapture();
      capture.begin(LIMIT);
      if (way instanceof Uint8Array) {
        for (const byte of way) capture.byte(byte);
      } else {
        for (const piece of way) capture.run(piece);
      }
      const value = capture.finish();
      return value && { ...value, bytes: [...value.bytes] };
    });
    assertEquals(outcomes[1], outcomes[0]);
    assertEquals(outcomes[2], outcomes[0]);
  }));
});
