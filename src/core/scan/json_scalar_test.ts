/** Tests of reading numbers and literal names. @module */
import { assertEquals } from "@std/assert";
import { test } from "../../../tests/leakproof.ts";
import { ScalarReader } from "./json_scalar.ts";
import { ValueCapture } from "./value_capture.ts";

test("ScalarReader refuses what is no scalar", () => {
  const tokens = ["-", "01", "-01", "+1", "1.", ".5", "1e", "1e+", "1.e5"];
  const names = ["tru", "truee", "True", "nul", "NaN", "x", "1x", "]", "0x1"];
  for (const token of [...tokens, ...names]) {
    assertEquals(read(`${token},`).kind, "broken", token);
  }
});

test("ScalarReader keeps the token of a number", () => {
  for (const token of ["0", "-0", "42", "1.50", "1E+5", "-2.5e-10"]) {
    for (const end of [",", "}", " ", "\n"]) {
      assertEquals(read(token + end), { kind: "number", token });
    }
  }
});

test("ScalarReader keeps all digits of a long number", () => {
  const token = "12345678901234567890";
  assertEquals(read(`${token}}`), { kind: "number", token });
});

test("ScalarReader knows the literal names, and waits for their end", () => {
  for (const token of ["true", "false", "null"]) {
    assertEquals(read(`${token}}`).kind, token);
    assertEquals(read(token).kind, "more");
  }
  assertEquals(read("4").kind, "more");
});

function read(text: string): { kind: string; token: string } {
  const capture = new ValueCapture();
  const reader = new ScalarReader(capture);
  capture.begin(64);
  reader.begin(true);
  for (const byte of new TextEncoder().encode(text)) {
    if (reader.kind === "more") reader.push(Uint8Array.of(byte), 0);
  }
  const bytes = capture.finish()?.bytes;
  return { kind: reader.kind, token: new TextDecoder().decode(bytes) };
}
