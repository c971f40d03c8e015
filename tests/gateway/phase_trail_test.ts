/**
 * The check of trails finds what it is there for.
 *
 * @module
 */
import { assertEquals, assertThrows } from "@std/assert";
import { test } from "../leakproof.ts";
import { assertLegalTrails, trailOf } from "./phase_trail.ts";

/** Events as phase, next phase and id: that of request `a` unless given. */
function eventsOf(
  ...steps: readonly (readonly [string, (string | undefined)?, string?])[]
) {
  return steps.map(([phase, next, id = "a"]) => ({
    request_id: id,
    phase,
    next,
    ms: 0,
  }));
}

test("assertLegalTrails() finds trails that no request may leave", () => {
  const rows: readonly {
    readonly events: ReturnType<typeof eventsOf>;
    readonly says: string;
  }[] = [
    { events: eventsOf(["accept", "key"]), says: "illegal" },
    { events: eventsOf(["relay", "admit"]), says: "illegal" },
    { events: eventsOf(["accept"]), says: "illegal" },
    { events: eventsOf(["accepted", "sniff"]), says: "illegal" },
    { events: eventsOf(["settle", "settle"]), says: "illegal" },
    { events: eventsOf(["sniff", "settle"]), says: "out of order" },
    {
      events: eventsOf(["accept", "sniff"], ["key", "rank"]),
      says: "out of order",
    },
    {
      events: eventsOf(["accept", "settle"], ["settle"], ["settle"]),
      says: "out of order",
    },
    {
      events: eventsOf(["accept", "settle"], ["settle", undefined, "b"]),
      says: "out of order",
    },
    { events: eventsOf(["accept", "settle"]), says: "has not ended" },
  ];
  for (const { events, says } of rows) {
    assertThrows(() => assertLegalTrails(events), Error, says);
  }
});

test("assertLegalTrails() takes requests that share an id", () => {
  const events = eventsOf(
    ["accept", "sniff"],
    ["accept", "settle"],
    ["sniff", "settle"],
    ["settle"],
    ["accept", "settle", "b"],
    ["settle"],
    ["settle", undefined, "b"],
  );
  assertLegalTrails(events);
  assertEquals(trailOf(events, "b"), ["accept", "settle"]);
});
