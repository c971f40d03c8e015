import { assertEquals } from "@std/assert";
import { test } from "../leakproof.ts";
import { fuzzResponse } from "./response_fuzz.ts";
import { referenceOutcome } from "./response_reference.ts";

test("the client agrees with the reference on 800 responses", async () => {
  await fuzzResponse({ seed: 1, cases: 800 });
});

test("referenceOutcome() knows a whole response from a broken one", () => {
  const rows: readonly (readonly [text: string, kind: string])[] = [
    ["", "reset"],
    ["HTTP/1.1 200 OK\n", "malformed"],
    ["HTTP/1.1 200 OK\r\n", "reset"],
    ["HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\na", "reset"],
    ["HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab", "response"],
    ["HTTP/1.1 200 OK\r\n\r\nab", "response"],
  ];
  for (const [text, kind] of rows) {
    assertEquals(referenceOutcome(text, "GET").kind, kind, text);
  }
});
