/**
 * Families that are read: written as the registry of prom-client writes them.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { Registry } from "prom-client";
import { test } from "../../../tests/leakproof.ts";
import {
  type ReadFamily,
  type Reading,
  ReadRegistry,
  registerRead,
  single,
} from "./read_metrics.ts";

function family(values: readonly Reading[]): ReadFamily {
  return {
    kind: "gauge",
    name: "tryst_things",
    help: "Things\\ of\n two lines.",
    labels: ["a", "b"],
    read: () => values,
  };
}

/** The page of a family, by our registry and by the other. */
async function pages(one: ReadFamily): Promise<[string, string]> {
  const registries = [new ReadRegistry(), new Registry()] as const;
  for (const registry of registries) registerRead([one], [registry]);
  const [ours, theirs] = registries;
  return [await ours.metrics(), await theirs.metrics()];
}

test("registerRead() reads values when the page is asked for", async () => {
  const registry = new ReadRegistry();
  let count = 1;
  registerRead([{
    kind: "counter",
    name: "tryst_things_total",
    help: "Things.",
    read: single(() => count),
  }], [registry]);
  const head = "# HELP tryst_things_total Things.\n" +
    "# TYPE tryst_things_total counter\n";
  assertEquals(await registry.metrics(), `${head}tryst_things_total 1\n`);
  count = 2;
  assertEquals(await registry.metrics(), `${head}tryst_things_total 2\n`);
});

test("ReadRegistry writes what the other registry writes", async () => {
  for (
    const values of [
      [],
      [[{}, 0]],
      [[{ a: "" }, Infinity], [{ a: "x", b: "y" }, -Infinity]],
      [[{ a: 'q"\\\n' }, -0.5], [{ b: "é €" }, 1e21]],
    ] as Reading[][]
  ) {
    const [ours, theirs] = await pages(family(values));
    assertEquals(ours, theirs);
  }
  const label = fc.string({ unit: "binary", maxLength: 8 });
  const reading = fc.tuple(
    fc.record({ a: label, b: label }),
    fc.double({ noNaN: true }),
  );
  await fc.assert(fc.asyncProperty(fc.array(reading), async (values) => {
    const [ours, theirs] = await pages(family(values));
    assertEquals(ours, theirs);
  }));
});
