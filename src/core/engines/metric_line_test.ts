/**
 * Lines of the Prometheus text format, the broken ones first.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../../tests/leakproof.ts";
import { readSample, subjectOf } from "./metric_line.ts";

function sampleOf(line: string) {
  const subject = subjectOf(line);
  return subject === undefined ? undefined : readSample(line, subject.end);
}

test("subjectOf() names what a line is about", () => {
  const rows: [line: string, name: string | undefined, isComment?: boolean][] =
    [
      ["", undefined],
      ["   ", undefined],
      ["7up 1", undefined],
      ['{a="b"} 1', undefined],
      ["# just words", undefined],
      ["#TYPE a gauge", undefined],
      ["# EOF", undefined],
      ["# TYPE a:b gauge", "a:b", true],
      ['#\tHELP  a_b Words { and "more"', "a_b", true],
      ["a", "a", false],
      [" \ta:b_c9{", "a:b_c9", false],
      ["_ 1", "_", false],
    ];
  for (const [line, name, isComment] of rows) {
    const subject = subjectOf(line);
    assertEquals([subject?.name, subject?.isComment], [name, isComment], line);
  }
});

test("readSample() refuses what is no sample", () => {
  const lines = [
    "a",
    "a ",
    "a{",
    "a{}",
    "a{} ",
    "a{x} 1",
    "a{x=} 1",
    "a{x=1} 1",
    'a{x="1} 1',
    'a{x="1"',
    'a{x="1" y="2"} 1',
    "a{,} 1",
    'a{x="1",,} 1',
    'a{x="\\"} 1',
    'a{9="1"} 1',
    "a-1",
    "a=1",
    "a one",
    "a 1x",
    "a 0x10",
    "a 1_000",
    "a 1,5",
    "a 1e",
    "a .",
    "a --1",
    "a +",
    "a infinit",
    `a ${"1".repeat(65)}`,
    `a{x="${"x".repeat(8_192)}"} 1`,
  ];
  for (const line of lines) assertEquals(sampleOf(line), undefined, line);
});

test("readSample() reads values as programs print them", () => {
  const rows: [line: string, value: number][] = [
    ["a 0", 0],
    ["a 3.0", 3],
    ["a\t12", 12],
    ["a   12   1700000000000", 12],
    ['a 12 # {trace="x"} 1 2', 12],
    ["a 12\r", 12],
    ["a{} 1", 1],
    ["a{}1", 1],
    ["a 1.", 1],
    ["a .5", 0.5],
    ["a +4", 4],
    ["a -4", -4],
    ["a 8.128902e+06", 8_128_902],
    ["a 9.75E-06", 9.75e-6],
    ["a 1e999", Infinity],
    ["a NaN", NaN],
    ["a nan", NaN],
    ["a Inf", Infinity],
    ["a +Inf", Infinity],
    ["a -Inf", -Infinity],
    [`a ${"1".repeat(64)}`, Number("1".repeat(64))],
  ];
  for (const [line, value] of rows) {
    assertEquals(sampleOf(line)?.value, value, line);
  }
});

test("readSample() reads labels, whatever their values hold", () => {
  const rows: [line: string, labels: [name: string, value: string][]][] = [
    ["a 1", []],
    ["a { } 1", []],
    ['a{x="1"} 1', [["x", '"1"']]],
    ['a {\tx = "1" , y="2" , } 1', [["x", '"1"'], ["y", '"2"']]],
    ['a{x="",y="}"} 1', [["x", '""'], ["y", '"}"']]],
    ['a{x="a, y=\\"b\\"} 5"} 1', [["x", '"a, y=\\"b\\"} 5"']]],
    ['a{x="\\\\",y="\\n"} 1', [["x", '"\\\\"'], ["y", '"\\n"']]],
    ['a{x="Modell Größe"} 1', [["x", '"Modell Größe"']]],
  ];
  for (const [line, labels] of rows) {
    assertEquals(sampleOf(line), { labels, value: 1 }, line);
  }
});
