/**
 * Tests of the real edge.
 *
 * Invariant: nothing is stood in for here.
 *
 * @module
 */
import { assertEquals, assertRejects } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { processEdge } from "./edge.ts";

test("readTextFile() reads up to its limit", async () => {
  const { readTextFile } = processEdge();
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(path, "\u{1f600}abc");
    await assertRejects(() => readTextFile(path, 6), RangeError, "more than 6");
    assertEquals(await readTextFile(path, 7), "\u{1f600}abc");
    assertEquals(await readTextFile(path, 8), "\u{1f600}abc");
    await Deno.writeFile(path, new Uint8Array([0xff]));
    await assertRejects(() => readTextFile(path, 8), TypeError);
  } finally {
    await Deno.remove(path);
  }
});

test("processEdge() tells the version of Deno", () => {
  assertEquals(processEdge().denoVersion, Deno.version.deno);
});
