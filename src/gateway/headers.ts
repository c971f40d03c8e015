/**
 * Which header fields pass through the gateway, and which it adds.
 *
 * Invariant: nothing that speaks about one connection crosses to the other
 * (RFC 9110, 7.6.1): neither the listed fields nor those that `Connection`
 * names. What else stops is said by the forwarding rules; the rest passes
 * unchanged and in order. Framing fields are written by whoever writes the
 * message.
 *
 * @module
 */
import type { Header, HeaderList } from "../core/request.ts";
import type { Way } from "./forwarding.ts";
import type { StoppedFields } from "./stopped_fields.ts";

/** Fields about one connection, or written anew for each message. */
const HOP_BY_HOP: readonly string[] = [
  "connection",
  "content-length",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

/** The gateway's own: hints in requests, its account in answers. */
const OWN_FIELDS = "x-tryst-*";

/**
 * Fields that are not passed on as they are. As all lists of this kind they
 * have names, and beginnings of names with a star.
 */
export const FIELDS_OWN = {
  /**
   * Those about one connection, `host`, which is the endpoint's, `expect`,
   * which the listener meets, and those about the way, which the gateway
   * writes anew.
   */
  request: [
    ...HOP_BY_HOP,
    OWN_FIELDS,
    "expect",
    "forwarded",
    "host",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-proto",
    "x-forwarded-server",
    "x-real-ip",
    "x-request-id",
  ],
  answer: [...HOP_BY_HOP, OWN_FIELDS, "x-request-id"],
} as const;

/** Where clients present the gateway's own API keys. */
const KEY_FIELDS: ReadonlySet<string> = new Set(["authorization", "x-api-key"]);

/** What the gateway adds to a request, and what it stops. */
export interface RequestAdditions {
  /** The `Host` the endpoint expects. */
  readonly host: string;
  readonly requestId: string;
  readonly way: Way;
  /** What does not pass: `FIELDS_OWN.request` and more. */
  readonly stopped: StoppedFields;
  /** Whether API keys are the gateway's own, and no engine's business. */
  readonly hidesKeys?: boolean;
  /** What the endpoint wants to be shown, in place of what the client sent. */
  readonly credential?: Header | undefined;
}

/** The fields of the upstream request, without framing. */
export function upstreamHeaders(
  headers: HeaderList,
  { credential, hidesKeys, host, requestId, stopped, way }: RequestAdditions,
): Header[] {
  const named = connectionNames(headers);
  const out: Header[] = [["host", host]];
  if (credential !== undefined) out.push(credential);
  for (const header of headers) {
    const name = header[0];
    if (stopped.has(name) || named?.has(name)) continue;
    if (hidesKeys && KEY_FIELDS.has(name) || name === credential?.[0]) continue;
    out.push(header);
  }
  const { addresses, clientAddress } = way;
  out.push(
    [
      "x-forwarded-for",
      addresses.length === 1 ? clientAddress : addresses.join(", "),
    ],
    ["x-forwarded-proto", way.scheme],
    ["x-request-id", requestId],
  );
  if (way.host !== undefined) out.push(["x-forwarded-host", way.host]);
  if (way.forwarded !== undefined) out.push(["forwarded", way.forwarded]);
  return out;
}

/** What is done to an answer's fields. */
export interface AnswerRules {
  /**
   * `content-length` is dropped but where the body is not what it measures
   * (HEAD, 304) or where it frames a streamed body.
   */
  readonly keepsLength: boolean;
  /** What does not pass: `FIELDS_OWN.answer` and more. */
  readonly stopped: StoppedFields;
  /** The endpoint, whose own address must not show. */
  readonly inside: { readonly host: string; readonly basePath: string };
}

/** The fields of the answer that come from the engine. */
export function answerHeaders(
  headers: HeaderList,
  { inside, keepsLength, stopped }: AnswerRules,
): Header[] {
  const named = connectionNames(headers);
  const out: Header[] = [];
  for (const header of headers) {
    const name = header[0];
    if (stopped.has(name) || named?.has(name)) {
      if (keepsLength && name === "content-length") out.push(header);
    } else if (name === "location" || name === "content-location") {
      out.push([name, outsideLocation(header[1], inside)]);
    } else out.push(header);
  }
  return out;
}

/**
 * Where an engine sends a client on to: if to itself, by path alone, as its
 * clients know it by the gateway's address (RFC 9110, 10.2.2).
 */
function outsideLocation(
  value: string,
  { basePath, host }: AnswerRules["inside"],
): string {
  const match = /^(?:https?:)?\/\/([^/?#]*)(.*)$/is.exec(value);
  const isInside = match?.[1]?.toLowerCase() === host.toLowerCase();
  const path = isInside ? match?.[2] ?? "" : value;
  if (!isInside && !path.startsWith("/")) return value;
  const inner = `${basePath}/`;
  if (basePath !== "" && path.startsWith(inner)) {
    return path.slice(basePath.length);
  }
  return path.startsWith("/") ? path : `/${path}`;
}

/** The names that `Connection` lists, or `undefined` when it lists none. */
function connectionNames(headers: HeaderList): Set<string> | undefined {
  let names: Set<string> | undefined;
  for (const [name, value] of headers) {
    if (name !== "connection") continue;
    for (const part of value.split(",")) {
      const word = part.trim().toLowerCase();
      if (word === "" || word === "close" || word === "keep-alive") continue;
      names ??= new Set();
      names.add(word);
    }
  }
  return names;
}
