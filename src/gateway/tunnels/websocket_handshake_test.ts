/**
 * Which requests ask for a WebSocket, and which answers grant what was asked.
 *
 * @module
 */
import { assertEquals, assertThrows } from "@std/assert";
import { test } from "../../../tests/leakproof.ts";
import { GatewayError } from "../../core/error.ts";
import type { Header } from "../../core/request.ts";
import { handshakeOf } from "./websocket_handshake.ts";

const HEADERS: readonly Header[] = [
  ["host", "client.example"],
  ["connection", "keep-alive, Upgrade"],
  ["upgrade", "websocket"],
  ["sec-websocket-version", "13"],
  ["sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="],
  ["sec-websocket-extensions", "permessage-deflate"],
];

/** The key that zeros make, and its acceptance. */
const ZERO_KEY = "AAAAAAAAAAAAAAAAAAAAAA==";
const ZERO_ACCEPT = "ICX+Yqv66kxgM0FcWaLWlFLwTAI=";

function asked(changes: Record<string, string | undefined>, method = "GET") {
  const headers = HEADERS
    .map(([name, value]) => [name, name in changes ? changes[name] : value])
    .concat(
      Object.entries(changes).filter(([name]) =>
        !HEADERS.some((header) => header[0] === name)
      ),
    )
    .filter((header): header is [string, string] => header[1] !== undefined);
  return handshakeOf({ method, target: "/", headers }, () => 0);
}

test("handshakeOf() refuses a handshake that no engine would accept", () => {
  const rows: Record<string, string | undefined>[] = [
    { "sec-websocket-version": undefined },
    { "sec-websocket-version": "8" },
    { "sec-websocket-version": "13, 8" },
    { "sec-websocket-key": undefined },
    { "sec-websocket-key": "" },
    { "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ" },
    { "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==, x" },
    { "content-length": "1" },
    { "transfer-encoding": "chunked" },
  ];
  for (const row of rows) {
    const error = assertThrows(() => asked(row), GatewayError);
    assertEquals(error.code, "request_malformed", JSON.stringify(row));
  }
});

test("handshakeOf() leaves other requests alone", () => {
  assertEquals(asked({}, "POST"), undefined);
  const rows: Record<string, string | undefined>[] = [
    { upgrade: undefined },
    { upgrade: "h2c" },
    { upgrade: "websockets" },
    { connection: undefined },
    { connection: "keep-alive" },
    { connection: "upgrades" },
  ];
  for (const row of rows) {
    assertEquals(asked(row), undefined, JSON.stringify(row));
  }
});

test("handshakeOf() takes tokens in any case and place", () => {
  const rows: Record<string, string | undefined>[] = [
    {},
    { upgrade: "h2c, WebSocket" },
    { connection: "UPGRADE" },
    { "content-length": "0" },
  ];
  for (const row of rows) {
    const fields = asked(row)?.requestHeaders([
      ["host", "engine"],
      ["sec-websocket-protocol", "a"],
      ["sec-websocket-key", "x"],
      ["sec-websocket-extensions", "permessage-deflate"],
    ]);
    assertEquals(fields, [
      ["host", "engine"],
      ["sec-websocket-protocol", "a"],
      ["connection", "Upgrade"],
      ["upgrade", "websocket"],
      ["sec-websocket-version", "13"],
      ["sec-websocket-key", ZERO_KEY],
    ]);
  }
});

test("isBrokenBy() takes what was asked for and refusals", () => {
  const granted: readonly Header[] = [
    ["upgrade", "WebSocket"],
    ["connection", "Upgrade"],
    ["sec-websocket-accept", ZERO_ACCEPT],
  ];
  const upgraded = {
    read: () => Promise.resolve(null),
    write: () => Promise.resolve(0),
    close: () => {},
  };
  const handshake = asked({ "sec-websocket-protocol": "a,b , c" });
  const rows: [name: string, headers: Header[], isBroken: boolean][] = [
    ["nothing", [], true],
    ["no upgrade", granted.slice(1), true],
    ["no acceptance", granted.slice(0, 2), true],
    ["foreign protocol", [...granted, ["sec-websocket-protocol", "d"]], true],
    ["two protocols", [...granted, ["sec-websocket-protocol", "a, b"]], true],
    ["extension", [...granted, ["sec-websocket-extensions", "x"]], true],
    ["plain", [...granted], false],
    ["protocol", [...granted, ["sec-websocket-protocol", "b"]], false],
  ];
  for (const [name, headers, isBroken] of rows) {
    const response = { status: 101, reason: "", headers, body: undefined };
    assertEquals(
      handshake?.isBrokenBy({ ...response, upgraded }),
      isBroken,
      name,
    );
    assertEquals(handshake?.isBrokenBy({ ...response, status: 403 }), false);
  }
});
