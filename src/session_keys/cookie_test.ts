/** Tests of `cookie:` sources. @module */
import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { test } from "../../tests/leakproof.ts";
import { cookieKind } from "./cookie.ts";

test("cookieKind refuses what is no cookie name", () => {
  for (const name of ["", "a b", "a;b", "a=b", "a\u0000"]) {
    assertThrows(() => cookieKind.parse(name), TypeError, "as a cookie name");
  }
});

test("cookieKind finds the first value that is not blank", () => {
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["", undefined],
    ["sid", undefined],
    ["sid=", undefined],
    ['sid=""', undefined],
    ["SID=1", undefined],
    ["xsid=1; sidx=2", undefined],
    ["=sid", undefined],
    [";;; = ;sid=1", "1"],
    ["a=b; sid=1; sid=2", "1"],
    ["sid=; sid=2", "2"],
    ['sid="1"', "1"],
    ['sid="1', '"1'],
    ["sid=a=b", "a=b"],
    ["\tsid = 1 ;", "1"],
    ["a=%;sid=%20", "%20"],
  ];
  for (const [cookies, wanted] of rows) {
    assertEquals(find([cookies]), wanted, cookies);
  }
  assertEquals(find(["a=b", "sid=1"]), "1");
});

test("cookieKind never throws", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => {
    find([text, `${text}sid`, `sid=${text}`]);
  }));
});

function find(cookies: readonly string[]): string | undefined {
  const source = cookieKind.parse("sid");
  if (source.kind !== "head") return undefined;
  const headers = cookies.map((value) => ["cookie", value] as const);
  const bytes = source.find({ method: "GET", target: "/", headers });
  return bytes && new TextDecoder().decode(bytes);
}
