/**
 * Which header fields pass through the gateway, and which it adds.
 *
 * Invariant: nothing that speaks about one connection crosses to the other
 * (RFC 9110, 7.6.1): neither the listed fields nor those that `Connection`
 * names. Everything else passes unchanged and in order. Framing fields are
 * written by whoever writes the message.
 *
 * @module
 */
import type { Header, HeaderList } from "../core/request.ts";

/** Fields about one connection, or written anew for each message. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
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
]);

/**
 * Request fields the gateway answers for: `host` is the endpoint's, `expect`
 * is met by the listener, and the rest are extended or replaced.
 */
const REQUEST_OWN: ReadonlySet<string> = new Set([
  "expect",
  "host",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-request-id",
]);

/** Where clients present the gateway's own API keys. */
const KEY_FIELDS: ReadonlySet<string> = new Set(["authorization", "x-api-key"]);

/** What the gateway adds to a request. */
export interface RequestAdditions {
  /** The `Host` the endpoint expects. */
  readonly host: string;
  readonly requestId: string;
  readonly clientAddress: string;
  readonly scheme: "http" | "https";
  /** Whether API keys are the gateway's own, and no engine's business. */
  readonly hidesKeys?: boolean;
  /** What the endpoint wants to be shown, in place of what the client sent. */
  readonly credential?: Header | undefined;
}

/** The fields of the upstream request, without framing. */
export function upstreamHeaders(
  headers: HeaderList,
  additions: RequestAdditions,
): Header[] {
  const named = connectionNames(headers);
  const out: Header[] = [["host", additions.host]];
  const { credential, hidesKeys } = additions;
  if (credential !== undefined) out.push(credential);
  let forwardedFor = additions.clientAddress;
  let forwardedHost: string | undefined;
  let forwardedProto: string = additions.scheme;
  for (const header of headers) {
    const name = header[0];
    if (HOP_BY_HOP.has(name) || named?.has(name)) continue;
    if (hidesKeys && KEY_FIELDS.has(name) || name === credential?.[0]) continue;
    if (!REQUEST_OWN.has(name)) out.push(header);
    else if (name === "host") forwardedHost ??= header[1];
    else if (name === "x-forwarded-for") {
      forwardedFor = `${header[1]}, ${additions.clientAddress}`;
    } else if (name === "x-forwarded-host") forwardedHost = header[1];
    else if (name === "x-forwarded-proto") forwardedProto = header[1];
  }
  out.push(
    ["x-forwarded-for", forwardedFor],
    ["x-forwarded-proto", forwardedProto],
    ["x-request-id", additions.requestId],
  );
  if (forwardedHost !== undefined) {
    out.push(["x-forwarded-host", forwardedHost]);
  }
  return out;
}

/**
 * The fields of the answer that come from the engine.
 *
 * `content-length` is dropped here; `keepLength` keeps it where the body is
 * not what it measures (HEAD, 304) or where it frames a streamed body.
 */
export function answerHeaders(
  headers: HeaderList,
  keepLength: boolean,
): Header[] {
  const named = connectionNames(headers);
  const out: Header[] = [];
  for (const header of headers) {
    const name = header[0];
    if (name === "content-length" && keepLength) out.push(header);
    else if (name === "x-request-id" || name.startsWith("x-tryst-")) continue;
    else if (!HOP_BY_HOP.has(name) && !named?.has(name)) out.push(header);
  }
  return out;
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
