/**
 * Heads that two parsers could read in two ways are refused.
 *
 * @module
 */
import { assertEquals, assertThrows } from "@std/assert";
import { GatewayError } from "../core/error.ts";
import type { Header } from "../core/request.ts";
import { test } from "../../tests/leakproof.ts";
import { checkHead } from "./accept.ts";

interface Row {
  readonly name: string;
  readonly method?: string;
  readonly target?: string;
  readonly headers?: readonly Header[];
}

const REFUSED: readonly Row[] = [
  { name: "CONNECT", method: "CONNECT", target: "foo:443" },
  { name: "a method that is no token", method: "GE T" },
  { name: "a target that is no path", target: "foo" },
  { name: "a host with a slash", headers: [["host", "a/b"]] },
  { name: "a host with a blank", headers: [["host", "a b"]] },
  { name: "two hosts", headers: [["host", "a, b"]] },
  { name: "two lengths", headers: [["content-length", "3, 4"]] },
  { name: "a signed length", headers: [["content-length", "+3"]] },
  { name: "an empty length", headers: [["content-length", ""]] },
  { name: "a length in hex", headers: [["content-length", "0x3"]] },
  {
    name: "gzip before chunked",
    headers: [["transfer-encoding", "gzip, chunked"]],
  },
  { name: "identity", headers: [["transfer-encoding", "identity"]] },
  {
    name: "both framings (D3 h2o #3342)",
    headers: [["content-length", "3"], ["transfer-encoding", "chunked"]],
  },
];

const PASSED: readonly Row[] = [
  { name: "no headers at all" },
  { name: "an unusual method", method: "PURGE" },
  { name: "a star", method: "OPTIONS", target: "*" },
  { name: "a host with port", headers: [["host", "gw.example:8080"]] },
  { name: "an IPv6 host", headers: [["host", "[::1]:80"]] },
  { name: "an empty host", headers: [["host", ""]] },
  { name: "one length twice", headers: [["content-length", "3, 3"]] },
  { name: "chunked", headers: [["transfer-encoding", "Chunked"]] },
  { name: "an unnormalized path", target: "/a/../b//c/%2e%2e?x=|" },
];

test("checkHead() refuses what has two readings", () => {
  for (const { name, method = "POST", target = "/", headers = [] } of REFUSED) {
    const error = assertThrows(
      () => checkHead({ method, target, headers }),
      GatewayError,
      undefined,
      name,
    );
    assertEquals(error.code, "request_malformed", name);
  }
});

test("checkHead() passes the rest", () => {
  for (const { method = "POST", target = "/", headers = [] } of PASSED) {
    checkHead({ method, target, headers });
  }
});
