/** Tests of `query:` sources. @module */
import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { test } from "../../tests/leakproof.ts";
import { queryKind } from "./query.ts";

test("queryKind refuses a blank name", () => {
  for (const name of ["", " "]) {
    assertThrows(() => queryKind.parse(name), TypeError, `"${name}"`);
  }
});

test("queryKind finds the first value that is not blank", () => {
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["/", undefined],
    ["/sid=1", undefined],
    ["*", undefined],
    ["/?", undefined],
    ["/?sid", undefined],
    ["/?sid=", undefined],
    ["/?sid=%20+", undefined],
    ["/?SID=1&xsid=2", undefined],
    ["/?sid=1&sid=2", "1"],
    ["/?sid=&sid=2", "2"],
    ["/?a=b&s%69d=%61+b%2Bc", "a b+c"],
    ["/?sid=%e6%97%a5", "日"],
    ["/?sid=%zz%4", "%zz%4"],
    ["/?sid=a=b?c", "a=b?c"],
    ["http://host/?sid=1", "1"],
  ];
  for (const [target, wanted] of rows) {
    assertEquals(find(target), wanted, target);
  }
});

test("queryKind decodes what URLSearchParams encodes", () => {
  fc.assert(fc.property(fc.string({ unit: "grapheme" }), (value) => {
    const target = `/?${new URLSearchParams({ a: value, sid: value })}`;
    const isBlank = /^[ \t\r\n]*$/.test(value);
    assertEquals(find(target), isBlank ? undefined : value.toWellFormed());
  }));
});

function find(target: string): string | undefined {
  const source = queryKind.parse("sid");
  if (source.kind !== "head") return undefined;
  const bytes = source.find({ method: "GET", target, headers: [] });
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return bytes && decoder.decode(bytes);
}
