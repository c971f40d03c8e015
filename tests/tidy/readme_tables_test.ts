/**
 * Tests that the README says what the code does.
 *
 * Invariant: a table that is missing fails like one that is out of date.
 *
 * @module
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { test } from "../leakproof.ts";
import { TABLES, withTables } from "./readme_tables.ts";

const README = new URL("../../README.md", import.meta.url);

function marked(name: string, content: string): string {
  return `a\n\n<!-- table: ${name} -->\n${content}<!-- end -->\n\nb\n`;
}

test("withTables() replaces what stands between the marks", () => {
  assertThrows(() => withTables(marked("none", "")), Error, "known are");
  const made = withTables(marked("errors", "| old |\n"));
  assert(!made.includes("| old |"));
  assert(made.includes("| `endpoints_full`"));
  assertEquals(withTables(made), made);
  assertEquals(withTables("no table\n"), "no table\n");
});

test("README.md has every table as the code has it", async () => {
  const text = await Deno.readTextFile(README);
  for (const name of Object.keys(TABLES)) {
    const isThere = text.includes(`<!-- table: ${name} -->`);
    assert(isThere, `README.md has no table "${name}"`);
  }
  // To bring it up to date: deno task readme.
  assertEquals(withTables(text), text);
});
