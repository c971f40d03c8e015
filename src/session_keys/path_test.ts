/** Tests of `path:` sources. @module */
import { assertEquals, assertThrows } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { pathKind } from "./path.ts";

test("pathKind refuses templates it cannot match", () => {
  const rows: readonly (readonly [string, string])[] = [
    ["", "starts with a slash"],
    ["v1/{id}", "starts with a slash"],
    ["/v1/threads", "exactly one"],
    ["/{id}/{id}", "exactly one"],
    ["/{id}/{name}", "whole segment"],
    ["/x{id}/{id}", "whole segment"],
    ["/*/{id}", "only as the last"],
    ["/{id}/a*", "only as the last"],
    ["/{id}/*/*", "only as the last"],
    ["/{id}?a=b", "without blanks"],
    ["/{id}/é", "printable ASCII"],
    ["/{id}/a b", "without blanks"],
  ];
  for (const [template, message] of rows) {
    assertThrows(() => pathKind.parse(template), TypeError, message);
  }
});

test("pathKind finds the segment", () => {
  const rest = "/v1/threads/{id}/*";
  const exact = "/v1/threads/{id}";
  const rows: readonly (readonly [string, string, string | undefined])[] = [
    [rest, "/v1/threads", undefined],
    [rest, "/v1/thread/t1/runs", undefined],
    [rest, "/V1/threads/t1/runs", undefined],
    [rest, "/x/v1/threads/t1", undefined],
    [rest, "*", undefined],
    [rest, "host:443", undefined],
    [rest, "", undefined],
    [rest, "/v1/threads/t1", "t1"],
    [rest, "/v1/threads/t1/", "t1"],
    [rest, "/v1/threads/t1/runs/r1?limit=/v1/threads/t2", "t1"],
    [rest, "/v1/thre%61ds/%741%2F/runs", "t1/"],
    [rest, "/v1/threads/a+b/runs", "a+b"],
    [rest, "http://host:80/v1/threads/t1/runs", "t1"],
    [rest, "/v1/threads//runs", ""],
    [exact, "/v1/threads/t1", "t1"],
    [exact, "/v1/threads/t1?a=b", "t1"],
    [exact, "/v1/threads/t1/", undefined],
    [exact, "/v1/threads/t1/runs", undefined],
  ];
  for (const [template, target, wanted] of rows) {
    assertEquals(find(template, target), wanted, `${template} ${target}`);
  }
});

function find(template: string, target: string): string | undefined {
  const source = pathKind.parse(template);
  if (source.kind !== "head") return undefined;
  const bytes = source.find({ method: "GET", target, headers: [] });
  return bytes && new TextDecoder().decode(bytes);
}
