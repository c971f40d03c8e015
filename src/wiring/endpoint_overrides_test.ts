/**
 * What has been set outlives a list that says nothing new.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../tests/leakproof.ts";
import { parseConfig } from "../config/parse.ts";
import type { EndpointSpec } from "../core/endpoint.ts";
import { EndpointOverrides } from "./endpoint_overrides.ts";

/** Endpoints `a`, `b`, ... with these weights, and limits of 8. */
function listOf(...weights: readonly number[]): readonly EndpointSpec[] {
  const endpoints = weights.map((weight, index) => ({
    url: `http://h:${index + 1}`,
    id: String.fromCharCode(97 + index),
    weight,
    "max_in_flight": 8,
  }));
  const result = parseConfig({ endpoints }, {
    names: {
      parseSource: () => {},
      defaultSources: ["header:x"],
      policyNames: ["rendezvous", "power_of_two"],
      schedulingNames: ["critical_path", "las"],
    },
  });
  if (result.kind === "refused") throw new Error("Cannot parse the list");
  return result.config.endpoints;
}

function weightsOf(specs: readonly EndpointSpec[] | undefined) {
  return specs?.map(({ weight }) => weight);
}

test("EndpointOverrides keep what was set until that very key changes", () => {
  const overrides = new EndpointOverrides();
  const set = (specs: readonly EndpointSpec[], value: number | undefined) =>
    overrides.set(specs, {
      id: "a",
      name: "weight",
      to: value === undefined ? undefined : { value },
    }) ?? [];
  const one = listOf(1, 1);
  assertEquals(
    overrides.set(one, { id: "z", name: "weight", to: { value: 2 } }),
    undefined,
  );
  const five = set(one, 5);
  assertEquals(weightsOf(five), [5, 1]);
  assertEquals(weightsOf(overrides.apply(listOf(1, 7))), [5, 7]);
  // An endpoint that is gone for a while comes back as it was.
  overrides.apply([]);
  assertEquals(weightsOf(overrides.apply(one)), [5, 1]);
  assertEquals(weightsOf(set(five, undefined)), [1, 1]);
  assertEquals(weightsOf(overrides.apply(one)), [1, 1]);
  set(one, 5);
  assertEquals(weightsOf(overrides.apply(listOf(2, 1))), [2, 1]);
  assertEquals(weightsOf(overrides.apply(one)), [1, 1]);
});

test("EndpointOverrides keep settings of one endpoint apart", () => {
  const overrides = new EndpointOverrides();
  const [spec] = listOf(1);
  if (spec === undefined) throw new Error("Cannot be");
  const heavy = overrides.set([spec], {
    id: "a",
    name: "weight",
    to: { value: 5 },
  }) ?? [];
  overrides.set(heavy, {
    id: "a",
    name: "maxInFlight",
    to: { value: undefined },
  });
  const [both] = overrides.apply([spec]);
  assertEquals([both?.weight, both?.maxInFlight], [5, undefined]);
  const [limited] = overrides.apply([{ ...spec, maxInFlight: 9 }]);
  assertEquals([limited?.weight, limited?.maxInFlight], [5, 9]);
});

test("EndpointOverrides set back leave the configured list", () => {
  const weight = fc.integer({ min: 1, max: 4 });
  fc.assert(fc.property(fc.array(weight, { maxLength: 12 }), (values) => {
    const overrides = new EndpointOverrides();
    const configured = listOf(2, 2);
    let specs: readonly EndpointSpec[] = configured;
    for (const value of values) {
      const change = { id: "b", name: "weight", to: { value } } as const;
      specs = overrides.set(specs, change) ?? [];
      assertEquals(weightsOf(specs), [2, value]);
      assertEquals(weightsOf(overrides.apply(configured)), [2, value]);
    }
    const back = { id: "b", name: "weight", to: undefined } as const;
    assertEquals(weightsOf(overrides.set(specs, back)), [2, 2]);
    assertEquals(overrides.apply(configured), [...configured]);
  }));
});
