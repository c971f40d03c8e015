/**
 * Keeps the fuzzers of configuration, admin API and gateway honest, short
 * enough for every run of the tests.
 *
 * Invariant: every text of the corpus passes for ever; one that the fuzzer once
 * failed on is added there.
 *
 * @module
 */
import { assert } from "@std/assert";
import { test } from "../leakproof.ts";
import { fuzzAdmin } from "./admin_fuzz.ts";
import { checkText, fuzzConfig, SECRET } from "./config_fuzz.ts";
import { fuzzGateway } from "./gateway_fuzz.ts";

const CORPUS = new URL("corpus/config/", import.meta.url);

test("every kept configuration is accepted or refused with reasons", async (t) => {
  const names = [...Deno.readDirSync(CORPUS)].map((entry) => entry.name);
  assert(names.length >= 8, "Cannot find the corpus");
  for (const name of names.sort()) {
    await t.step(name, () => {
      checkText(Deno.readTextFileSync(new URL(name, CORPUS)), SECRET);
    });
  }
});

test("random configurations are accepted or refused with reasons", () => {
  fuzzConfig({ seed: 1, cases: 500 });
});

test("random requests reach the engine in one reading, or not", async () => {
  await fuzzGateway({ seed: 1, cases: 128 });
});

test("random admin requests get answers that tell nothing of the inside", async () => {
  await fuzzAdmin({ seed: 1, cases: 60 });
});
