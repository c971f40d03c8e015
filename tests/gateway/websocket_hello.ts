/**
 * WebSocket handshakes as text, for either side of a tunnel.
 *
 * Invariant: every wait is bounded.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { assertMatch } from "@std/assert";
import { Peer } from "../scripted_server.ts";
import { within } from "./websocket_side.ts";

/** A client's handshake, with the example key of RFC 6455, 1.3. */
export function hello(
  target: string,
  lines: readonly string[] = [],
): string {
  return [
    `GET ${target} HTTP/1.1`,
    "Host: client.example",
    "Connection: keep-alive, Upgrade",
    "Upgrade: WebSocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ...lines,
    "\r\n",
  ].join("\r\n");
}

/** An engine's acceptance of a handshake given as it came. */
export function welcome(
  request: string,
  lines: readonly string[] = [],
): string {
  const key = /\r\nsec-websocket-key: (.*)\r\n/i.exec(request)?.[1] ?? "";
  const accept = createHash("sha1")
    .update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest("base64");
  return [
    "HTTP/1.1 101 Switching Protocols",
    "Upgrade: websocket",
    "Connection: upgrade",
    `Sec-WebSocket-Accept: ${accept}`,
    ...lines,
    "\r\n",
  ].join("\r\n");
}

/** A client's raw connection whose handshake was accepted. */
export async function rawTunnel(port: number, text: string): Promise<Peer> {
  const conn = await Deno.connect({ hostname: "127.0.0.1", port });
  conn.setNoDelay(true);
  const peer = new Peer(conn, 0);
  await peer.send(text);
  while (!peer.received.includes("\r\n\r\n")) {
    if (!await within(peer.receive(), "the answer to a handshake")) break;
  }
  assertMatch(peer.received, /^HTTP\/1.1 101 /);
  return peer;
}
