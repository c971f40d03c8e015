/**
 * Tests of endpoint URLs and listen addresses.
 *
 * Invariant: what one spelling of an address comes to, every spelling does.
 *
 * @module
 */
import { assertEquals, assertThrows } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { Refusal } from "./complaint.ts";
import { parseEndpointUrl } from "./endpoint_url.ts";
import { addressesCollide, parseListenAddress } from "./listen_address.ts";

function urls(text: string): string[] {
  return parseEndpointUrl(text).map((place) => place.url);
}

test("parseEndpointUrl() refuses what is no base URL", () => {
  const bad: [unknown, string][] = [
    [undefined, "must be a URL"],
    [8000, "must be a URL"],
    ["", "must be http"],
    ["127.0.0.1:8000", "must be http"],
    ["http:127.0.0.1", "must be http"],
    ["http://", "must be http"],
    ["http://h:0", "must be http"],
    ["http://h:65536", "must be http"],
    ["http://h:80a", "must be http"],
    ["http://h\\x", "must be http"],
    ["http://h\n", "must be http"],
    ["ws://h:1", "must be http"],
    ["http://h?x=1", "no query"],
    ["http://h/#x", "no query"],
    ["unix:", "absolute path"],
    ["unix:run/x.sock", "absolute path"],
    ["unix:/run/", "absolute path"],
    ["http://h:8007-8000", "lower port first"],
    ["http://h:0-7", "ports from 1"],
    ["http://h:65535-65536", "ports from 1"],
    ["http://h:1-257", "at most 256"],
  ];
  for (const [value, message] of bad) {
    assertThrows(() => parseEndpointUrl(value), Refusal, message, `${value}`);
  }
});

test("parseEndpointUrl() refuses credentials (G12 Olla release notes)", () => {
  const bad = [
    "http://u:p@h",
    "https://token@h:1/x",
    "http://u:p/q@h:8000-8007",
  ];
  for (const value of bad) {
    assertThrows(() => parseEndpointUrl(value), Refusal, "credentials", value);
  }
});

test("parseEndpointUrl() reads address, host and path", () => {
  assertEquals(parseEndpointUrl("http://127.0.0.1:8000"), [{
    address: { kind: "tcp", hostname: "127.0.0.1", port: 8000, tls: false },
    basePath: "",
    host: "127.0.0.1:8000",
    url: "http://127.0.0.1:8000",
  }]);
  assertEquals(parseEndpointUrl("https://[::1]/a/b//"), [{
    address: { kind: "tcp", hostname: "::1", port: 443, tls: true },
    basePath: "/a/b",
    host: "[::1]",
    url: "https://[::1]/a/b",
  }]);
  assertEquals(parseEndpointUrl("unix:/run/vllm.sock"), [{
    address: { kind: "unix", path: "/run/vllm.sock" },
    basePath: "",
    host: "localhost",
    url: "unix:/run/vllm.sock",
  }]);
});

test("parseEndpointUrl() gives every spelling of an address one URL", () => {
  for (const text of ["http://Engine:80", "http://engine/", "http://ENGINE"]) {
    assertEquals(urls(text), ["http://engine"], text);
  }
});

test("parseEndpointUrl() expands a range of ports", () => {
  assertEquals(urls("http://h:8000-8000"), ["http://h:8000"]);
  assertEquals(urls("http://[::1]:8000-8001/p"), [
    "http://[::1]:8000/p",
    "http://[::1]:8001/p",
  ]);
  assertEquals(urls("http://127.0.0.1:8000-8007").length, 8);
  assertEquals(urls("http://h:1-256").length, 256);
});

test("parseListenAddress() takes HOST:PORT and nothing else", () => {
  const bad = [
    undefined,
    8080,
    "",
    "8080",
    ":8080",
    "h:",
    "h:x",
    "::1:8080",
    "[::1]",
    "h:65536",
    "h:123456",
    "a b:1",
    "http://h:1",
  ];
  for (const value of bad) {
    assertThrows(() => parseListenAddress(value), Refusal, "must", `${value}`);
  }
  const good: [string, string, number][] = [
    ["0.0.0.0:8080", "0.0.0.0", 8080],
    ["[::1]:65535", "::1", 65_535],
    ["my-host.local:0", "my-host.local", 0],
  ];
  for (const [text, hostname, port] of good) {
    assertEquals(parseListenAddress(text), { hostname, port });
  }
});

test("addressesCollide() minds wildcards and free ports", () => {
  const table: [string, string, boolean][] = [
    ["127.0.0.1:1", "127.0.0.1:2", false],
    ["127.0.0.1:0", "127.0.0.1:0", false],
    ["127.0.0.1:1", "127.0.0.2:1", false],
    ["127.0.0.1:1", "127.0.0.1:1", true],
    ["0.0.0.0:1", "127.0.0.1:1", true],
    ["127.0.0.1:1", "[::]:1", true],
  ];
  for (const [a, b, collide] of table) {
    const [first, second] = [parseListenAddress(a), parseListenAddress(b)];
    assertEquals(addressesCollide(first, second), collide, `${a} ${b}`);
  }
});
