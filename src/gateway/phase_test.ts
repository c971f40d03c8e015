/**
 * The table of phases is what its invariant says.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { type Phase, PHASES, SUCCESSORS } from "./phase.ts";

const NEXT: Readonly<Record<Phase, readonly Phase[]>> = SUCCESSORS;

test("SUCCESSORS lists every phase in order, and a way to settle", () => {
  assertEquals(Object.keys(SUCCESSORS), [...PHASES]);
  PHASES.forEach((phase, index) => {
    const straight = PHASES[index + 1];
    if (straight === undefined) assertEquals(NEXT[phase], [], phase);
    else {
      assert(NEXT[phase].includes(straight), `${phase} to ${straight}`);
      assert(NEXT[phase].includes("settle"), `${phase} to settle`);
    }
  });
});

test("SUCCESSORS leads back from a failed attempt only", () => {
  const back = PHASES.flatMap((from, index) =>
    NEXT[from]
      .filter((to) => PHASES.indexOf(to) <= index)
      .map((to) => `${from} to ${to}`)
  );
  assertEquals(back, ["attempt to admit"]);
});
