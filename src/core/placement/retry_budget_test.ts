/**
 * The retry budget bounds attempts by requests.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../../tests/leakproof.ts";
import { RetryBudget } from "./retry_budget.ts";

test("RetryBudget lets the reserve through and then the ratio", () => {
  const budget = new RetryBudget(0.25);
  for (let i = 0; i < 100; i++) assert(budget.spend());
  assertEquals(budget.spend(), false);
  for (let i = 0; i < 3; i++) budget.earn();
  assertEquals(budget.spend(), false);
  budget.earn();
  assertEquals(budget.spend(), true);
});

test("RetryBudget never allows more than reserve plus ratio", () => {
  const steps = fc.array(fc.boolean(), { maxLength: 2_000 });
  fc.assert(
    fc.property(
      steps,
      fc.double({ min: 0, max: 1, noNaN: true }),
      (list, ratio) => {
        const budget = new RetryBudget(ratio);
        let earned = 0;
        let spent = 0;
        for (const isRequest of list) {
          if (isRequest) {
            budget.earn();
            earned++;
          } else if (budget.spend()) spent++;
          assert(spent <= 100 + ratio * earned + 1e-6);
        }
      },
    ),
  );
});
