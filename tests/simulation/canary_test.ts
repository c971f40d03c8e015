/**
 * Every planted bug is found, by the checker that is there for it.
 *
 * Invariant: no planted bug outlives its test.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { test } from "../leakproof.ts";
import { CANARIES } from "./canaries.ts";
import { checkWorld } from "./check.ts";
import * as checkers from "./checkers/mod.ts";

/** Seeds within which a bug must show: the rarest takes 8. */
const SEEDS_MAX = 30;

for (const [name, canary] of Object.entries(CANARIES)) {
  test(`${canary.foundBy} finds the canary ${name}`, async () => {
    using _planted = canary.plant();
    for (let seed = 1; seed <= SEEDS_MAX; seed++) {
      const problems = await checkWorld({ seed });
      if (problems.some((it) => it.startsWith(`${canary.foundBy}: `))) return;
    }
    assert(false, `not found in ${SEEDS_MAX} worlds`);
  });
}

test("every checker has a canary", () => {
  const found = new Set(Object.values(CANARIES).map(({ foundBy }) => foundBy));
  assertEquals([...found].sort(), Object.keys(checkers).sort());
});

test("a canary is gone when it has been disposed", async () => {
  assertEquals(await checkWorld({ seed: 1 }), []);
});
