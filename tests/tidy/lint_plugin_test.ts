/**
 * Tests of the lint plugins: each rule on a planted violation and beside it.
 *
 * Invariant: every rule of both plugins has a row that it refuses.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import { test } from "../leakproof.ts";
import rooms from "./lint_plugin.ts";
import shape from "./shape_plugin.ts";

/** Rules that fired on a file, in the order of the source. */
function rulesFired(path: string, source: string): string[] {
  const root = new URL("../../", import.meta.url).pathname;
  return [rooms, shape].flatMap((plugin) =>
    Deno.lint.runPlugin(plugin, root + path, source).map(({ id }) => id)
  );
}

const DIRECTION = "rooms/import-direction";
const PURE = "rooms/pure-room";
const LINES = "shape/function-lines";
const EXPORTS = "shape/value-exports";
const DECLARATION = "shape/declaration";

test("rooms/import-direction refuses every way to import upwards", () => {
  const sources = [
    `import { a } from "../gateway/a.ts";`,
    `import type { A } from "../gateway/a.ts";`,
    `import "../gateway/a.ts";`,
    `export { a } from "../gateway/a.ts";`,
    `export * from "../gateway/a.ts";`,
    `export type { A } from "../gateway/a.ts";`,
    `const a = import("../gateway/a.ts");`,
    `type A = import("../gateway/a.ts").A;`,
  ];
  for (const source of sources) {
    assertEquals(rulesFired("src/core/x.ts", source), [DIRECTION], source);
    assertEquals(rulesFired("src/cli/x.ts", source), [], source);
    assertEquals(rulesFired("src/core/x_test.ts", source), [], source);
  }
  const computed = `const name = "a"; const a = import(name);`;
  assertEquals(rulesFired("src/cli/x.ts", computed), [DIRECTION]);
});

test("rooms/import-direction knows levels and what is beside src", () => {
  const table: [path: string, specifier: string, isAllowed: boolean][] = [
    ["src/policies/x.ts", "../session_keys/a.ts", false],
    ["src/policies/x.ts", "../config/a.ts", false],
    ["src/scheduling/x.ts", "../policies/a.ts", false],
    ["src/upstream/x.ts", "../gateway/a.ts", false],
    ["src/server/x.ts", "../admin/a.ts", false],
    ["src/server/x.ts", "../cli/a.ts", false],
    ["src/core/x.ts", "../other/a.ts", false],
    ["src/other/x.ts", "../core/a.ts", false],
    ["src/core/x.ts", "../../tests/leakproof.ts", false],
    ["src/core/x.ts", "../../bench/engine/a.ts", false],
    ["src/cli/x.ts", "../../bench/engine/a.ts", false],
    ["src/core/x.ts", "../../main.ts", false],
    ["src/cli/x.ts", "../../bench/a.ts", false],
    ["src/core/x.ts", "npm:a", false],
    ["src/cli/x.ts", "fast-check", false],
    ["src/core/x.ts", "node:fs", false],
    ["src/gateway/x.ts", "node:zlib", false],
    ["main.ts", "./src/core/a.ts", false],
    ["bench/engine/x.ts", "../../src/core/a.ts", false],
    ["src/core/x.ts", "./a.ts", true],
    ["src/policies/x.ts", "../core/a.ts", true],
    ["src/gateway/x.ts", "../upstream/a.ts", true],
    ["src/demo/x.ts", "../../bench/engine/a.ts", true],
    ["src/cli/x.ts", "../../deno.json", true],
    ["src/core/x.ts", "@std/assert", true],
    ["src/core/x.ts", "node:crypto", true],
    ["src/system/x.ts", "node:zlib", true],
    ["main.ts", "./src/cli/a.ts", true],
    ["bench/x.ts", "../src/core/a.ts", true],
    ["tests/x.ts", "../src/core/a.ts", true],
  ];
  for (const [path, specifier, isAllowed] of table) {
    const fired = rulesFired(path, `import "${specifier}";`);
    const expected = isAllowed ? [] : [DIRECTION];
    assertEquals(fired, expected, `${path} ${specifier}`);
  }
});

test("rooms/pure-room refuses ambient authority on levels 0 to 3", () => {
  const sources = [
    `const a = Deno.env;`,
    `const a = new Date();`,
    `const a = { Date };`,
    `const a = [performance.now()];`,
    `let a = Math.random;`,
    `setTimeout(() => {}, 1);`,
    `const a = globalThis["fetch"];`,
    `const a = crypto.subtle;`,
    `const a = AbortSignal.timeout(1);`,
    `const a: Deno.Addr[] = [];`,
  ];
  for (const source of sources) {
    for (const room of ["core", "config", "upstream", "gateway"]) {
      assertEquals(rulesFired(`src/${room}/x.ts`, source), [PURE], source);
    }
    for (
      const path of ["src/server/x.ts", "src/core/x_test.ts", "bench/x.ts"]
    ) {
      assertEquals(rulesFired(path, source), [], source);
    }
  }
});

test("rooms/pure-room lets members and keys have such names", () => {
  const source = `
    interface A { fetch(): void; Date: number }
    class B { performance = 1; console() { return this.performance; } }
    export function a(outside: { crypto: A }) {
      const { crypto: c } = outside;
      return { fetch: c.fetch, random: Math.floor(c.Date), b: new B() };
    }`;
  assertEquals(rulesFired("src/core/x.ts", source), []);
});

test("rooms/pure-room refuses promises on levels 0 and 1 only", () => {
  const sources = [
    `async function a() {}`,
    `export const a = { b: async () => {} };`,
    `class A { async b() {} }`,
    `export const a = new Promise(() => {});`,
    `export function a() { return Promise.resolve(1); }`,
  ];
  for (const source of sources) {
    assertEquals(rulesFired("src/core/x.ts", source), [PURE], source);
    assertEquals(rulesFired("src/config/x.ts", source), [PURE], source);
    assertEquals(rulesFired("src/upstream/x.ts", source), [], source);
  }
  const type = `export interface A { read(): Promise<number> }`;
  assertEquals(rulesFired("src/core/x.ts", type), []);
});

test("shape/function-lines allows 70 lines", () => {
  const body = (lines: number) => `function a() {${"\n".repeat(lines - 1)}}`;
  assertEquals(rulesFired("src/core/x.ts", body(71)), [LINES]);
  assertEquals(rulesFired("src/core/x.ts", body(70)), []);
  assertEquals(rulesFired("tests/x_test.ts", `b(() => ${body(80)});`), [
    LINES,
    LINES,
  ]);
});

test("shape/value-exports allows 3 values and any number of types", () => {
  const values = `export const a = 1, b = 2; export function c() {}`;
  const types = `export type A = 1; export interface B {} export type { C } fr`;
  const source = `${values} ${types}om "./c.ts";`;
  assertEquals(rulesFired("src/core/x.ts", source), []);
  for (const more of ["export class D {}", `export { d } from "./d.ts";`]) {
    assertEquals(rulesFired("src/core/x.ts", source + more), [EXPORTS], more);
    assertEquals(rulesFired("src/policies/mod.ts", source + more), []);
  }
});

test("shape/declaration refuses arrows, accessibility and defaults", () => {
  const sources = [
    `const a = () => {};`,
    `export const a = () => {};`,
    `class A { private a = 1; }`,
    `class A { public a() {} }`,
    `class A { constructor(readonly a: number) {} }`,
    `export default 1;`,
  ];
  for (const source of sources) {
    assertEquals(rulesFired("src/core/x.ts", source), [DECLARATION], source);
  }
  const fine = `class A { #a = 1; static b() { const c = () => {}; } }`;
  assertEquals(rulesFired("src/core/x.ts", fine), []);
});

test("the plugins stand in deno.json", async () => {
  const path = new URL("../../deno.json", import.meta.url);
  const text = await Deno.readTextFile(path);
  assertMatch(text, /"\.\/tests\/tidy\/lint_plugin\.ts"/);
  assertMatch(text, /"\.\/tests\/tidy\/shape_plugin\.ts"/);
});
