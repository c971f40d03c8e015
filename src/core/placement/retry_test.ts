/**
 * The rows of the replay rule.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../../tests/leakproof.ts";
import { type FailedAttempt, mayTryAgain } from "./retry.ts";

const UNSENT: FailedAttempt = {
  isUpstreamFault: true,
  hasResponse: false,
  sent: false,
  method: "POST",
  isReplayable: true,
};

test("mayTryAgain() never repeats what may have been processed (F4 openresty #200, F5 miles #1334)", () => {
  const rows: [name: string, change: Partial<FailedAttempt>, may: boolean][] = [
    ["a POST whose bytes were sent", { sent: true }, false],
    ["a PATCH whose bytes were sent", { sent: true, method: "PATCH" }, false],
    ["a lower-case get", { sent: true, method: "get" }, false],
    [
      "a PUT whose body is partly gone",
      { sent: true, method: "PUT", isReplayable: false },
      false,
    ],
    [
      "a GET that was answered with rubbish",
      { sent: true, method: "GET", hasResponse: true },
      false,
    ],
    ["a client that left", { isUpstreamFault: false }, false],
    ["a POST that never left", {}, true],
    ["a streamed POST that never left", { isReplayable: false }, true],
    ["a GET that was sent", { sent: true, method: "GET" }, true],
    ["a DELETE that was sent", { sent: true, method: "DELETE" }, true],
  ];
  for (const [name, change, may] of rows) {
    assertEquals(mayTryAgain({ ...UNSENT, ...change }), may, name);
  }
});
