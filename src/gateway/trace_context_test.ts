/**
 * Trace contexts by the rules of the W3C Recommendation.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../tests/leakproof.ts";
import type { Header } from "../core/request.ts";
import { traceContextOf, withTraceContext } from "./trace_context.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";

test("traceContextOf() refuses what is no traceparent", () => {
  const table = [
    "",
    "00",
    `00-${TRACE}-${PARENT}`,
    `00-${TRACE}-${PARENT}-`,
    `00-${TRACE}-${PARENT}-1`,
    `00-${TRACE}-${PARENT}-001`,
    `00-${TRACE}-${PARENT}-01-`,
    `00-${TRACE}-${PARENT}-01-more`,
    `00-${TRACE}-${PARENT}-0g`,
    `0-${TRACE}-${PARENT}-01`,
    `ff-${TRACE}-${PARENT}-01`,
    `FF-${TRACE}-${PARENT}-01`,
    `00-${TRACE.toUpperCase()}-${PARENT}-01`,
    `00-${TRACE}-${PARENT.toUpperCase()}-01`,
    `00-${"0".repeat(32)}-${PARENT}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `00-${TRACE.slice(1)}-${PARENT}-01`,
    `00-${TRACE}0-${PARENT}-01`,
    `00-${TRACE}-${PARENT}0-01`,
    `00_${TRACE}_${PARENT}_01`,
    `01-${TRACE}-${PARENT}-01.more`,
  ];
  for (const value of table) {
    const headers: Header[] = [["traceparent", value]];
    assertEquals(traceContextOf(headers), undefined, value);
  }
  const twice: Header = ["traceparent", `00-${TRACE}-${PARENT}-01`];
  assertEquals(traceContextOf([twice, twice]), undefined);
  assertEquals(traceContextOf([["tracestate", "a=b"]]), undefined);
});

test("traceContextOf() reads this version and later ones", () => {
  const table: [value: string, flags: number][] = [
    [`00-${TRACE}-${PARENT}-00`, 0],
    [`00-${TRACE}-${PARENT}-01`, 1],
    [`00-${TRACE}-${PARENT}-02`, 2],
    // What is not known is not passed on.
    [`00-${TRACE}-${PARENT}-ff`, 3],
    [` 00-${TRACE}-${PARENT}-01\t`, 1],
    [`01-${TRACE}-${PARENT}-01`, 1],
    [`cc-${TRACE}-${PARENT}-01-what-comes`, 1],
  ];
  for (const [value, flags] of table) {
    assertEquals(
      traceContextOf([["traceparent", value]]),
      { traceId: TRACE, parentId: PARENT, flags },
      value,
    );
  }
});

test("withTraceContext() keeps a tracestate that is a list, and no other", () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, at) => `k${at}=v`).join(",");
  const table: [value: string, isKept: boolean][] = [
    ["", true],
    ["a=1", true],
    ["a=1,b=2", true],
    ["a=1 , b=2,", true],
    ["a=1\t,,b=2", true],
    ["fw529a3039@dt=FfAAAA", true],
    ["0tenant@vendor=1", true],
    ["a/b-c_d*e=1", true],
    [`a=${"v".repeat(256)}`, true],
    [`${"k".repeat(256)}=v`, true],
    [many(32), true],
    [many(33), false],
    ["a", false],
    ["a=", false],
    ["=1", false],
    ["a=b=c", false],
    ["A=1", false],
    ["0a=1", false],
    ["a@0b=1", false],
    ["a@b@c=1", false],
    ["a =1", false],
    ["a=1,a=2", false],
    ["a=\u00e9", false],
    [`a=${"v".repeat(257)}`, false],
    [`${"k".repeat(257)}=v`, false],
  ];
  const context = { traceId: TRACE, parentId: PARENT, flags: 1 };
  const own: Header = ["traceparent", `00-${TRACE}-${PARENT}-01`];
  for (const [value, isKept] of table) {
    const state: Header = ["tracestate", value];
    const headers: Header[] = [["a", "b"], state, ["traceparent", "x"]];
    assertEquals(
      withTraceContext(headers, context, true),
      isKept ? [["a", "b"], state, own] : [["a", "b"], own],
      value,
    );
    assertEquals(
      withTraceContext(headers, context, false),
      [["a", "b"], own],
      "a new trace",
    );
  }
});

test("withTraceContext() reads several tracestate fields as one list", () => {
  const context = { traceId: TRACE, parentId: PARENT, flags: 0 };
  const one: Header = ["tracestate", "a=1"];
  const kept = withTraceContext([one, ["tracestate", "b=2"]], context, true);
  assertEquals(kept.map(([name]) => name), [
    "tracestate",
    "tracestate",
    "traceparent",
  ]);
  assertEquals(withTraceContext([one, one], context, true), [
    ["traceparent", `00-${TRACE}-${PARENT}-00`],
  ]);
});

test("traceContextOf() reads what withTraceContext() writes", () => {
  const digit = fc.constantFrom(..."0123456789abcdef");
  const hex = (length: number) =>
    fc.string({ unit: digit, minLength: length, maxLength: length })
      .filter((text) => !/^0+$/.test(text));
  const contexts = fc.record({
    traceId: hex(32),
    parentId: hex(16),
    flags: fc.integer({ min: 0, max: 3 }),
  });
  fc.assert(fc.property(contexts, (context) => {
    assertEquals(traceContextOf(withTraceContext([], context, true)), context);
  }));
});
