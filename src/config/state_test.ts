/**
 * The keys under `state`, bad values first.
 *
 * @module
 */
import { assertEquals, assertThrows } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { Refusal } from "./complaint.ts";
import type { Spot } from "./field.ts";
import { STATE_FIELDS } from "./state.ts";

const SPOT: Spot = {
  origin: "state.directory",
  names: {
    parseSource: () => undefined,
    defaultSources: [],
    policyNames: [],
    schedulingNames: ["critical_path", "fcfs", "las"],
  },
  complaints: [],
};

test("state.directory is a path or none", () => {
  const { read } = STATE_FIELDS.stateDirectory;
  const bad = [undefined, null, 1, true, [], {}, "", " ", "a\0b"];
  for (const value of [...bad, "x".repeat(4_001), "é".repeat(2_001)]) {
    assertThrows(() => read(value, SPOT), Refusal, "path of a directory");
  }
  assertEquals(read("none", SPOT), undefined);
  for (const path of ["/var/lib/tryst", "state", "x".repeat(4_000)]) {
    assertEquals(read(path, SPOT), path);
  }
});

test("state.interval is a duration", () => {
  const { read } = STATE_FIELDS.stateInterval;
  for (const value of [0, 60, "0s", "none", "25d", "1"]) {
    assertThrows(() => read(value, SPOT), Refusal, "must be");
  }
  assertEquals(read("1m", SPOT), 60_000);
  assertEquals(read("1ms", SPOT), 1);
});
