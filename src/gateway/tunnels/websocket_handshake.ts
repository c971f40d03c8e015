/**
 * The opening handshake of a WebSocket, once from each side (RFC 6455, 4).
 *
 * The two legs shake hands apart: each has its own key, and no extension is
 * offered to the engine, since what would be compressed would be unpacked by
 * the gateway again.
 *
 * Invariant: the client is told "yes" only after the engine has said it, and
 * only what the client has asked for.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { GatewayError } from "../../core/error.ts";
import {
  type Header,
  type HeaderList,
  headerValue,
  type RequestHead,
} from "../../core/request.ts";
import type { UpstreamResponse } from "../../upstream/client.ts";

/** RFC 6455, 1.3: joined to the key before it is hashed. */
const ACCEPT_SUFFIX = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/** The only version there is (RFC 6455, 4.1). */
const VERSION = "13";

/** RFC 6455, 4.1: 16 random bytes. */
const KEY_BYTES = 16;

/** 16 bytes in base64. */
const KEY = /^[A-Za-z0-9+/]{22}==$/;

/** Fields of one leg's handshake; the subprotocols alone go through. */
const OWN_LEG: ReadonlySet<string> = new Set([
  "sec-websocket-accept",
  "sec-websocket-extensions",
  "sec-websocket-key",
  "sec-websocket-version",
]);

/** A client's wish for a WebSocket, and how it is put to an engine. */
export class Handshake {
  readonly #key: string;
  readonly #protocols: ReadonlySet<string>;

  /**
   * Only `handshakeOf` makes one.
   *
   * @param random For the key.
   */
  constructor(head: RequestHead, random: () => number) {
    this.#protocols = new Set(listOf(head.headers, "sec-websocket-protocol"));
    const bytes = Array.from(
      { length: KEY_BYTES },
      () => Math.floor(random() * 256),
    );
    this.#key = btoa(String.fromCharCode(...bytes));
  }

  /** The fields of an upstream request, with the handshake in them. */
  requestHeaders(headers: HeaderList): Header[] {
    return [
      ...withoutOwnLeg(headers),
      ["connection", "Upgrade"],
      ["upgrade", "websocket"],
      ["sec-websocket-version", VERSION],
      ["sec-websocket-key", this.#key],
    ];
  }

  /**
   * Whether an engine has switched to something that was not asked for, or is
   * no WebSocket server at all (RFC 6455, 4.1). False for refusals.
   */
  isBrokenBy({ headers, upgraded }: UpstreamResponse): boolean {
    if (upgraded === undefined) return false;
    const accept = createHash("sha1").update(this.#key + ACCEPT_SUFFIX)
      .digest("base64");
    const protocol = headerValue(headers, "sec-websocket-protocol");
    return headerValue(headers, "sec-websocket-accept") !== accept ||
      headerValue(headers, "upgrade")?.toLowerCase() !== "websocket" ||
      !namesToken(headers, "connection", "upgrade") ||
      headerValue(headers, "sec-websocket-extensions") !== undefined ||
      (protocol !== undefined && !this.#protocols.has(protocol));
  }

  /**
   * What is left for the client of fields that passed from the engine; the
   * listener adds those of its own leg.
   */
  answerHeaders(headers: HeaderList): Header[] {
    return withoutOwnLeg(headers).filter(([name]) =>
      name !== "sec-websocket-protocol"
    );
  }
}

/**
 * The handshake that a request asks for; `undefined` for any other request.
 *
 * @throws {GatewayError} `request_malformed` when it asks in a way that no
 * engine would accept.
 */
export function handshakeOf(
  head: RequestHead,
  random: () => number,
): Handshake | undefined {
  const { headers } = head;
  const isAsked = head.method === "GET" &&
    namesToken(headers, "upgrade", "websocket") &&
    namesToken(headers, "connection", "upgrade");
  if (!isAsked) return undefined;
  if (headerValue(headers, "sec-websocket-version") !== VERSION) {
    refuse(`Sec-WebSocket-Version must be ${VERSION}`);
  }
  if (!KEY.test(headerValue(headers, "sec-websocket-key") ?? "")) {
    refuse("Sec-WebSocket-Key must be 16 bytes in base64");
  }
  const length = headerValue(headers, "content-length") ?? "0";
  const coding = headerValue(headers, "transfer-encoding");
  if (length !== "0" || coding !== undefined) {
    refuse("A WebSocket handshake has no body");
  }
  return new Handshake(head, random);
}

function refuse(message: string): never {
  throw new GatewayError("request_malformed", { message });
}

function withoutOwnLeg(headers: HeaderList): Header[] {
  return headers.filter(([name]) => !OWN_LEG.has(name));
}

function namesToken(headers: HeaderList, name: string, token: string): boolean {
  return listOf(headers, name).some((item) => item.toLowerCase() === token);
}

/** The items of a list field (RFC 9110, 5.6.1), over all its lines. */
function listOf(headers: HeaderList, name: string): string[] {
  return headers
    .filter((header) => header[0] === name)
    .flatMap(([, value]) => value.split(",").map((item) => item.trim()))
    .filter((item) => item !== "");
}
