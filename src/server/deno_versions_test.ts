/**
 * Which versions have which quirks.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { serverQuirks } from "./deno_versions.ts";

test("serverQuirks() tells 2.7 from later versions", () => {
  for (const version of ["2.7.0", "2.7.11"]) {
    assertEquals(serverQuirks(version).compressesAnswers, true, version);
  }
  for (const version of ["2.9.6", "2.10.0", "3.0.0"]) {
    assertEquals(serverQuirks(version).compressesAnswers, false, version);
  }
});
