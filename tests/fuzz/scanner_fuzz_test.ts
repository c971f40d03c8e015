/**
 * Keeps the scanner fuzzer honest, short enough for every run of the tests.
 *
 * Invariant: every document of the corpus passes for ever; a document that a
 * fuzzer once failed on is added there.
 *
 * @module
 */
import { assert } from "@std/assert";
import { test } from "../leakproof.ts";
import { SeededRandom } from "./random.ts";
import { checkDocument, fuzzScanner } from "./scanner_fuzz.ts";

const CORPUS = new URL("corpus/scanner/", import.meta.url);
/** Two seconds on a slow machine. */
const SMOKE_CASES = 500;

test("scanner agrees with JSON.parse on every kept document", async (t) => {
  const names = [...Deno.readDirSync(CORPUS)].map((entry) => entry.name);
  assert(names.length > 20, "Cannot find the corpus");
  for (const name of names.sort()) {
    await t.step(name, () => {
      const bytes = Deno.readFileSync(new URL(name, CORPUS));
      checkDocument(bytes, new SeededRandom(1));
    });
  }
});

test("scanner agrees with JSON.parse on random documents", () => {
  fuzzScanner({ seed: 1, cases: SMOKE_CASES });
});
