/**
 * The target reaches the engine as the client wrote it.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { targetOf } from "./served_request.ts";

test("targetOf() cuts path and query byte for byte (PS #969)", () => {
  const rows: [method: string, url: string, target: string][] = [
    ["GET", "http://x/", "/"],
    ["GET", "http://x", "/"],
    ["GET", "http://x?a=b", "/?a=b"],
    ["POST", "http://x:8080/sleep?level=2", "/sleep?level=2"],
    ["GET", 'http://x/a/../b//c/%2e%2e/d?x=|"', '/a/../b//c/%2e%2e/d?x=|"'],
    ["GET", "http://other.example/z", "/z"],
    ["GET", "http://[::1]:80/p?q=http://y/", "/p?q=http://y/"],
    ["GET", "http://x/\u00e9?\u65e5", "/\xc3\xa9?\xe6\x97\xa5"],
    ["OPTIONS", "http://x/*", "*"],
    ["OPTIONS", "http://x/a/*", "/a/*"],
    ["GET", "http://x/*", "/*"],
  ];
  for (const [method, url, target] of rows) {
    assertEquals(targetOf(method, url), target, url);
  }
});
