/**
 * The forwarding rules: which header fields cross the gateway, and whom it
 * believes about the way a request came.
 *
 * What clients say of the way is believed from trusted proxies alone. From all
 * others, and from whoever is behind the first address that is not trusted,
 * it is cut off: engines and logs that read the left-most address, as many do,
 * must not read what a client wrote.
 *
 * Invariant: no field that steers an engine passes unless it is allowed, none
 * of the gateway's own hints ever does, and an answer names no host of the
 * inside.
 *
 * @module
 */
import { type AddressBlock, isWithin, parseBlock } from "../core/cidr.ts";
import { type Header, type HeaderList, headerValue } from "../core/request.ts";
import type { Call } from "./call.ts";
import type { ClientRequest } from "./client_request.ts";
import { forwardedElement, forwardedHops, type Hop } from "./forwarded.ts";
import {
  answerHeaders,
  FIELDS_OWN,
  type RequestAdditions,
  upstreamHeaders,
} from "./headers.ts";
import { StoppedFields } from "./stopped_fields.ts";

/** What a gateway is told of forwarding; lists are checked already. */
export interface ForwardingOptions {
  readonly trustedProxies: readonly string[];
  readonly proxyFields: "x-forwarded" | "forwarded";
  readonly allowHeaders: readonly string[];
  readonly hideHeaders: readonly string[];
}

/** What is known of a request by its connection and its head. */
export type Arrival = Pick<ClientRequest, "clientAddress" | "head" | "scheme">;

/** The way of a request, as far as it is believed. */
export interface Way {
  /** The nearest address that is no trusted proxy's. */
  readonly clientAddress: string;
  readonly scheme: string;
  readonly host: string | undefined;
  /** All addresses from the client's on, the nearest last. */
  readonly addresses: readonly string[];
  /** What `forwarded` says, extended; absent where nobody speaks it. */
  readonly forwarded?: string;
}

/**
 * Request fields by which a client would choose the engine, the rank within it
 * or where its cache goes: of vLLM, SGLang's gateway, llm-d, the inference
 * extension of the Gateway API, Dynamo and AIBrix.
 */
export const STEERING_FIELDS: readonly string[] = [
  "routing-strategy",
  "target-pod",
  "x-data-parallel-host-port",
  "x-data-parallel-rank",
  "x-decode-instance-id",
  "x-dp-rank",
  "x-dynamo-routing-mode",
  "x-encoder-hosts-ports",
  "x-gateway-destination-endpoint",
  "x-gateway-destination-endpoint-subset",
  "x-kv-cache-source-host-port",
  "x-llm-d-reserved-host-port",
  "x-prefill-dp-rank",
  "x-prefill-instance-id",
  "x-prefiller-host-port",
  "x-prefiller-url",
  "x-sgl-decode-url",
  "x-smg-target-worker",
  "x-worker-instance-id",
];

/**
 * What proxies say of a client besides those fields that are taken over and
 * extended: nobody here has seen to it that it is true.
 */
const CLAIMS: readonly string[] = [
  "cf-connecting-ip",
  "true-client-ip",
  "x-client-ip",
  "x-forwarded-client-cert",
  "x-forwarded-prefix",
  "x-forwarded-scheme",
  "x-forwarded-ssl",
  "x-forwarded-user",
  "x-original-url",
  "x-rewrite-url",
];

/** A host and port as they may be told to an engine. */
const HOST = /^[A-Za-z0-9._~%!$&'()*+;=:[\]-]{1,255}$/;

/** The rules of one configuration. */
export class ForwardingRules {
  readonly #proxies: readonly AddressBlock[];
  readonly #fields: ForwardingOptions["proxyFields"];
  readonly #stopped: StoppedFields;
  readonly #hidden: StoppedFields;

  constructor(options: ForwardingOptions) {
    this.#proxies = options.trustedProxies
      .map(parseBlock)
      .filter((block) => block !== undefined);
    this.#fields = options.proxyFields;
    const steering = STEERING_FIELDS.filter((name) =>
      !options.allowHeaders.includes(name)
    );
    const claims = CLAIMS.filter((name) =>
      !options.allowHeaders.includes(name)
    );
    this.#stopped = new StoppedFields([
      ...FIELDS_OWN.request,
      ...steering,
      ...claims,
    ]);
    this.#hidden = new StoppedFields([
      ...FIELDS_OWN.answer,
      ...options.hideHeaders,
    ]);
  }

  /** The fields of the upstream request, without framing. */
  requestHeaders(
    call: Call<"attempt">,
    credential: Header | undefined,
  ): Header[] {
    return upstreamHeaders(call.request.head.headers, {
      host: call.target.host,
      requestId: call.id,
      hidesKeys: call.tenancy !== undefined,
      credential,
      way: this.wayOfCall(call),
      stopped: this.#stopped,
    });
  }

  /** The same for a request that nobody has admitted. */
  passed(
    request: Arrival,
    additions: Omit<RequestAdditions, "stopped" | "way">,
  ): Header[] {
    return upstreamHeaders(request.head.headers, {
      ...additions,
      way: this.wayOf(request),
      stopped: this.#stopped,
    });
  }

  /** The fields of the answer that come from the engine. */
  answerHeaders(call: Call<"relay">, keepsLength: boolean): Header[] {
    return answerHeaders(call.response.headers, {
      keepsLength,
      stopped: this.#hidden,
      inside: call.target,
    });
  }

  /** The same as `wayOf`, found out once for each call. */
  wayOfCall(call: Pick<Call, "request" | "way">): Way {
    return call.way ??= this.wayOf(call.request);
  }

  /** The way of a request; its client's address is for the log too. */
  wayOf({ clientAddress, head, scheme }: Arrival): Way {
    const host = headerValue(head.headers, "host");
    const nearest: Way = {
      clientAddress,
      scheme,
      host,
      addresses: [clientAddress],
    };
    if (!isWithin(clientAddress, this.#proxies)) return nearest;
    return this.#fields === "forwarded"
      ? this.#wayByForwarded(head.headers, nearest)
      : this.#wayByXForwarded(head.headers, nearest);
  }

  #wayByXForwarded(headers: HeaderList, nearest: Way): Way {
    const named = headerValue(headers, "x-forwarded-for")?.split(",") ?? [];
    const hops = named.map((text): Hop => ({ for: text.trim() }));
    // Proxies replace these two; in a list the last is the nearest one's.
    const proto = lastOf(headers, "x-forwarded-proto")?.toLowerCase();
    const host = lastOf(headers, "x-forwarded-host");
    return {
      ...nearest,
      ...this.#client(hops, nearest),
      ...(proto === "http" || proto === "https" ? { scheme: proto } : {}),
      ...(host !== undefined && HOST.test(host) ? { host } : {}),
    };
  }

  #wayByForwarded(headers: HeaderList, nearest: Way): Way {
    const value = headerValue(headers, "forwarded");
    const hops = value === undefined ? [] : forwardedHops(value);
    // What cannot be read is nobody's word.
    if (hops === undefined) return nearest;
    const { addresses, clientAddress } = this.#client(hops, nearest);
    const believed = hops.slice(hops.length + 1 - addresses.length);
    const { host, proto } = believed[0] ?? {};
    const own = forwardedElement({
      for: nearest.clientAddress,
      proto: nearest.scheme,
      ...(nearest.host === undefined ? {} : { host: nearest.host }),
    });
    return {
      clientAddress,
      addresses,
      scheme: proto === "http" || proto === "https" ? proto : nearest.scheme,
      host: host !== undefined && HOST.test(host) ? host : nearest.host,
      forwarded: [...believed.map(forwardedElement), own].join(", "),
    };
  }

  /** Goes back from the nearest for as long as it is a trusted proxy. */
  #client(
    hops: readonly Hop[],
    nearest: Way,
  ): Pick<Way, "addresses" | "clientAddress"> {
    const addresses = [nearest.clientAddress];
    for (const hop of hops.toReversed()) {
      const [next = ""] = addresses;
      if (!isWithin(next, this.#proxies)) break;
      const address = withoutPort(hop.for ?? "");
      if (address === undefined) break;
      addresses.unshift(address);
    }
    return { addresses, clientAddress: addresses[0] ?? "" };
  }
}

/** The last item of a list field; `undefined` when there is none. */
function lastOf(headers: HeaderList, name: string): string | undefined {
  return headerValue(headers, name)?.split(",").at(-1)?.trim();
}

/** An address of `ADDRESS`, `ADDRESS:PORT`, `[V6]` or `[V6]:PORT`. */
function withoutPort(text: string): string | undefined {
  const bare = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text)?.[1] ??
    /^([0-9.]+)(?::\d{1,5})?$/.exec(text)?.[1] ?? text;
  return parseBlock(bare) !== undefined && !bare.includes("/")
    ? bare
    : undefined;
}
