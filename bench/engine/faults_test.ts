/**
 * The choice of what goes wrong, apart from its going wrong.
 *
 * Invariant: the same seed gives the same choices.
 *
 * @module
 */
import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { assertThrows } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { Faults, NO_FAULTS } from "./faults.ts";

test("draw() gives the one frozen set when nothing is to go wrong", () => {
  const faults = new Faults(1);
  assertStrictEquals(faults.draw("/"), NO_FAULTS);
  faults.set({ status: 500 }, { targetPrefix: "/v1/" });
  assertStrictEquals(faults.draw("/health"), NO_FAULTS);
  assertEquals(faults.draw("/v1/models"), { status: 500 });
  faults.clear();
  assertStrictEquals(faults.draw("/v1/models"), NO_FAULTS);
});

test("draw() hits as many requests as a rule says", () => {
  const faults = new Faults(1);
  faults.set({ hang: true }, { times: 2 });
  assertEquals([1, 2, 3].map(() => faults.draw("/").hang ?? false), [
    true,
    true,
    false,
  ]);
});

test("draw() merges rules, the later one winning", () => {
  const faults = new Faults(1);
  faults.add({ switches: { status: 500, retryAfter: "1" } });
  faults.add({ switches: { status: 503 } });
  assertEquals(faults.draw("/"), { status: 503, retryAfter: "1" });
});

test("draw() is as probable as the rule and repeats with its seed", () => {
  const drawn = (seed: number) => {
    const faults = new Faults(seed);
    faults.set({ hang: true }, { probability: 0.25 });
    return Array.from({ length: 1000 }, () => faults.draw("/").hang === true);
  };
  assertEquals(drawn(7), drawn(7));
  assert(drawn(7).join() !== drawn(8).join());
  const share = drawn(7).filter(Boolean).length / 1000;
  assert(share > 0.2 && share < 0.3, `${share}`);
});

test("add() refuses the rule after the last", () => {
  const faults = new Faults(1);
  for (let i = 0; i < 64; i++) faults.add({ switches: {} });
  assertThrows(() => faults.add({ switches: {} }), RangeError);
});
