/**
 * Who gets in: by token, by host and by origin.
 *
 * @module
 */
import { assertEquals, assertThrows } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import {
  type AccessLevel,
  type AccessParts,
  AdminAccess,
  checkSameOrigin,
} from "./access.ts";
import { Problem } from "./problem.ts";

const TOKEN = "0123456789abcdef";

function requestOf(headers: Readonly<Record<string, string>>): Request {
  return new Request("http://127.0.0.1:8081/", { headers });
}

/** The status of the problem, or 200. */
function statusOf(check: () => void): number {
  try {
    check();
    return 200;
  } catch (error) {
    if (error instanceof Problem) return error.status;
    throw error;
  }
}

test("AdminAccess wants a token where others can reach it", () => {
  for (
    const hostname of ["0.0.0.0", "::", "10.0.0.5", "gw", "127.0.0.1.evil", ""]
  ) {
    assertThrows(() => new AdminAccess({ hostname }), TypeError, "token");
    new AdminAccess({ hostname, token: TOKEN });
  }
  for (const hostname of ["127.0.0.1", "127.9.9.9", "::1", "LocalHost"]) {
    new AdminAccess({ hostname });
  }
});

test("AdminAccess knows names that were made to point here (DNS rebinding)", () => {
  const rows: readonly [host: string, status: number][] = [
    ["", 421],
    [":8081", 421],
    ["evil.example", 421],
    ["localhost.evil.example", 421],
    ["127.0.0.1.evil.example:8081", 421],
    ["evil.example#127.0.0.1", 421],
    ["127.0.0.1@evil.example", 421],
    ["[evil.example]", 421],
    ["10.0.0.5:8081", 421],
    ["0.0.0.0:8081", 421],
    ["127.0.0.1", 200],
    ["127.0.0.1:8081", 200],
    // A forwarded port is another one on this side.
    ["localhost:9999", 200],
    ["LocalHost", 200],
    ["[::1]:8081", 200],
    ["[::1]", 200],
  ];
  const access = new AdminAccess({ hostname: "127.0.0.1" });
  for (const [host, status] of rows) {
    for (const level of ["token", "metrics"] as const) {
      const check = () => access.check(requestOf({ host }), level);
      assertEquals(statusOf(check), status, `${level} at "${host}"`);
    }
    access.check(requestOf({ host }), "open");
  }
});

test("AdminAccess asks for the token by level and address", () => {
  const loopback = { hostname: "127.0.0.1", token: TOKEN };
  const wide = { hostname: "0.0.0.0", token: TOKEN };
  const rows: readonly [
    parts: AccessParts,
    level: AccessLevel,
    anonymous: number,
  ][] = [
    [loopback, "token", 401],
    [loopback, "metrics", 421],
    [loopback, "open", 200],
    [{ ...loopback, metricsOpen: false }, "metrics", 401],
    [wide, "token", 401],
    [wide, "metrics", 401],
    [wide, "open", 200],
    [{ ...wide, metricsOpen: true }, "metrics", 200],
    [{ ...wide, metricsOpen: true }, "token", 401],
  ];
  for (const [parts, level, anonymous] of rows) {
    const access = new AdminAccess(parts);
    // Whoever has the token may come under any name.
    const host = "gateway.example";
    const text = JSON.stringify([parts, level]);
    const check = (headers: Record<string, string>) =>
      statusOf(() => access.check(requestOf({ host, ...headers }), level));
    assertEquals(check({}), anonymous, text);
    assertEquals(check({ authorization: `Bearer ${TOKEN}` }), 200, text);
    const wrong = check({ authorization: `Bearer ${TOKEN}x` });
    assertEquals(wrong, anonymous, text);
  }
});

test("checkSameOrigin() refuses pages of other origins", () => {
  const host = "127.0.0.1:8081";
  const rows: readonly [headers: Record<string, string>, status: number][] = [
    [{ "sec-fetch-site": "cross-site" }, 403],
    [{ "sec-fetch-site": "same-site" }, 403],
    [{ "sec-fetch-site": "" }, 403],
    [{ "sec-fetch-site": "cross-site", origin: `http://${host}` }, 403],
    [{ origin: "http://evil.example" }, 403],
    [{ origin: "null" }, 403],
    [{ origin: "" }, 403],
    [{ origin: "http://127.0.0.1" }, 403],
    [{ origin: `http://${host}/` }, 403],
    [{ origin: `file://${host}` }, 403],
    [{}, 200],
    [{ origin: `http://${host}` }, 200],
    [{ origin: `https://${host}` }, 200],
    [{ "sec-fetch-site": "none" }, 200],
    // A proxy may have changed the host; the browser knows better.
    [{ "sec-fetch-site": "same-origin", origin: "https://gw.example" }, 200],
  ];
  for (const [headers, status] of rows) {
    const check = () => checkSameOrigin(requestOf({ host, ...headers }));
    assertEquals(statusOf(check), status, JSON.stringify(headers));
  }
});
