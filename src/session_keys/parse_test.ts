/** Tests of parsing sources, and of the registers behind it. @module */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { isPerRequestId, parseSource } from "./parse.ts";

test("parseSource() says what is wrong and what is known", () => {
  const rows: readonly (readonly [string, string])[] = [
    ["", "with a kind of body, cookie, header, path, query"],
    ["x-session-id", 'source "x-session-id": wanted is KIND:ARGUMENT'],
    [":a", "wanted is KIND:ARGUMENT"],
    ["head:a", 'session-key source "head": known are body, cookie'],
    ["Header:a", 'session-key source "Header"'],
    ["header:", 'Cannot use "" as a header name'],
    ["header:a|claude", 'filter "claude": known are claude_session'],
    ["body:a|", 'filter ""'],
    ["body:a..b|claude_session", '"a..b"'],
  ];
  for (const [text, message] of rows) {
    assertThrows(() => parseSource(text), TypeError, message);
  }
});

test("parseSource() parses every kind", () => {
  const rows: readonly (readonly [string, string, string])[] = [
    ["header:X-Session-Id", "header:x-session-id", "head"],
    ["cookie:sid", "cookie:sid", "head"],
    ["query:a:b", "query:a:b", "head"],
    ["path:/v1/threads/{id}/*", "path:/v1/threads/{id}/*", "head"],
    ["body:metadata.session_id", "body:metadata.session_id", "body"],
  ];
  for (const [text, name, kind] of rows) {
    const source = parseSource(text);
    assertEquals([source.name, source.kind], [name, kind]);
    assertEquals(source.filter, undefined);
  }
});

test("parseSource() attaches filters to head and body sources", () => {
  for (const text of ["header:a|claude_session", "body:a.b|claude_session"]) {
    const source = parseSource(text);
    assertEquals(source.name, text);
    assertEquals(source.filter?.(new TextEncoder().encode("x")), undefined);
    assert(source.filter !== undefined);
  }
});

test("isPerRequestId() knows ids of requests and traces (PS #706)", () => {
  for (
    const name of [
      "x-request-id",
      "x-correlation-id",
      "x-trace-id",
      "traceparent",
      "request-id",
      "x-client-request-id",
    ]
  ) {
    assertEquals(isPerRequestId(name), true);
    assertEquals(isPerRequestId(parseSource(`header:${name}`).name), true);
    assertEquals(isPerRequestId(`header:${name.toUpperCase()}`), true);
    assertEquals(isPerRequestId(`header:${name}|claude_session`), true);
  }
  for (const name of ["header:x-session-id", "body:id", "header:x-request"]) {
    assertEquals(isPerRequestId(name), false);
  }
});
