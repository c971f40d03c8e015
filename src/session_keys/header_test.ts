/** Tests of `header:` sources. @module */
import type { HeaderList } from "../core/request.ts";
import { assertEquals, assertThrows } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { headerKind } from "./header.ts";

test("headerKind refuses what is no field name", () => {
  for (const name of ["", " ", "a b", "a:b", "é", 'a"', "a\n", "a(b)"]) {
    assertThrows(() => headerKind.parse(name), TypeError, `"${name}"`);
  }
});

test("headerKind finds the first value that is not blank", () => {
  const rows: readonly (readonly [HeaderList, string | undefined])[] = [
    [[], undefined],
    [[["x-session-idx", "1"]], undefined],
    [[["x-session-id", ""]], undefined],
    [[["x-session-id", ""], ["x-session-id", "2"]], "2"],
    [[["x-session-id", "1"], ["x-session-id", "2"]], "1"],
    [[["x-session-id", "\u00e6\u0097\u00a5"]], "日"],
  ];
  const source = headerKind.parse("X-Session-Id");
  assertEquals(source.name, "header:x-session-id");
  for (const [headers, wanted] of rows) {
    const bytes = source.kind === "head" &&
      source.find({ method: "GET", target: "/", headers });
    assertEquals(bytes && new TextDecoder().decode(bytes), wanted);
  }
});
