/**
 * Changes are taken from those who name the listener by its address.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { isOwnHost } from "./change_request.ts";

test("isOwnHost() knows names that were made to point here (DNS rebinding)", () => {
  const rows: readonly [host: string, hostname: string, isOwn: boolean][] = [
    ["", "127.0.0.1", false],
    ["", "0.0.0.0", false],
    [":8081", "127.0.0.1", false],
    ["evil.example", "127.0.0.1", false],
    ["evil.example:8081", "0.0.0.0", false],
    ["localhost.evil.example", "127.0.0.1", false],
    ["127.0.0.1.evil.example:8081", "0.0.0.0", false],
    ["evil.example#127.0.0.1", "0.0.0.0", false],
    ["127.0.0.1@evil.example", "127.0.0.1", false],
    ["[evil.example]", "::", false],
    ["10.0.0.5:8081", "127.0.0.1", false],
    ["10.0.0.6", "10.0.0.5", false],
    ["dead.beef", "0.0.0.0", false],
    ["127.0.0.1", "127.0.0.1", true],
    ["127.0.0.1:8081", "127.0.0.1", true],
    // A forwarded port is another one on this side.
    ["localhost:9999", "127.0.0.1", true],
    ["LocalHost", "10.0.0.5", true],
    ["[::1]:8081", "::1", true],
    ["[::1]", "127.0.0.1", true],
    ["10.0.0.5:8081", "10.0.0.5", true],
    ["10.0.0.5", "0.0.0.0", true],
    ["[fe80::1]:8081", "::", true],
    ["10.0.0.5", "::", true],
    ["Gateway.Internal:8081", "gateway.internal", true],
  ];
  for (const [host, hostname, isOwn] of rows) {
    assertEquals(isOwnHost(host, hostname), isOwn, `${host} at ${hostname}`);
  }
});
