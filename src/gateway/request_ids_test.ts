/**
 * Ids of requests: taken where harmless, made otherwise.
 *
 * @module
 */
import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { acceptableRequestId, RequestIds } from "./request_ids.ts";

test("acceptableRequestId() refuses what could forge a log line (sgl-router X-Request-Id)", () => {
  const refused = ["", "a b", "a\nINFO forged", "é", "x".repeat(129)];
  for (const value of [...refused, undefined]) {
    assertEquals(acceptableRequestId(value), undefined, String(value));
  }
  for (const value of ["x", "a-b_c.1", "x".repeat(128)]) {
    assertEquals(acceptableRequestId(value), value);
  }
});

test("RequestIds makes ids that differ, and from those of other gateways", () => {
  const one = new RequestIds(() => 0.25);
  const other = new RequestIds(() => 0.75);
  const first = one.idOf([]);
  assertMatch(first, /^req-[0-9a-v]{16}$/);
  assertNotEquals(first, one.idOf([]));
  assertNotEquals(first, other.idOf([]));
  assertEquals(one.idOf([["x-request-id", "mine"]]), "mine");
});
