/**
 * Tests of the versions of Deno.
 *
 * Invariant: both ends of both refused ranges stand in the table.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { denoVersionProblem } from "./deno_version.ts";

test("denoVersionProblem() refuses what is old or damages bodies", () => {
  const table: [string, string | undefined][] = [
    ["", "Cannot read"],
    ["canary", "Cannot read"],
    ["1.46.3", "too old"],
    ["2.0.0", "too old"],
    ["2.7.9", "too old"],
    ["2.7.10", "too old"],
    ["2.8.0", "damages"],
    ["2.8.3", "damages"],
    ["2.9.0", "damages"],
    ["2.9.5", "damages"],
    ["2.9.5+1a2b3c4", "damages"],
    ["2.7.11", undefined],
    ["2.7.14", undefined],
    ["2.9.6", undefined],
    ["2.10.0", undefined],
    ["3.0.0", undefined],
    [Deno.version.deno, undefined],
  ];
  for (const [version, piece] of table) {
    const problem = denoVersionProblem(version);
    assertEquals(problem?.includes(piece ?? ""), piece && true, version);
  }
});
