/** Tests of `body:` sources. @module */
import { assertEquals, assertThrows } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { bodyKind } from "./body.ts";

test("bodyKind refuses paths without names", () => {
  for (const path of ["", ".", "a.", ".a", "a..b", "a. .b"]) {
    assertThrows(() => bodyKind.parse(path), TypeError, `"${path}"`);
  }
  const message = "current size is 1025";
  assertThrows(() => bodyKind.parse("x".repeat(1025)), TypeError, message);
  bodyKind.parse("x".repeat(1024));
});

test("bodyKind splits at dots", () => {
  const wanted = {
    name: "body:a.b c.é",
    kind: "body",
    path: ["a", "b c", "é"],
  };
  assertEquals(Object(bodyKind.parse("a.b c.é")), wanted);
});
