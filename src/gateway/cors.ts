/**
 * Cross-origin requests of web pages (the CORS protocol of the Fetch standard,
 * 3.3, and private network access).
 *
 * It stands before the gateway instead of in a phase of it: a preflight, which
 * browsers send without credentials, is answered before anybody is asked for
 * any and reaches no engine, and every answer passes here, errors and streams
 * included, before its first byte is sent.
 *
 * Invariant: an origin is allowed only as a whole and exactly; what engines
 * say of CORS is replaced; and caches are told that answers differ by origin.
 *
 * @module
 */
import type { Header, HeaderList, RequestHead } from "../core/request.ts";
import { headerValue } from "../core/request.ts";
import type { Answer, ClientRequest } from "./client_request.ts";

/** What pages may do. */
export interface CorsRules {
  /** Exact origins, or `*` alone for any. */
  readonly origins: readonly string[];
  /** Whether pages may send cookies; never with `*`. */
  readonly credentials: boolean;
}

/** 7,200 s: Chromium keeps the answer to a preflight for no longer. */
const MAX_AGE_S = 7_200;

/** SDKs name a dozen headers; 4 KiB are over 100. */
const NAMES_CHARS_MAX = 4_096;

const NAMES =
  /^[A-Za-z0-9!#$%&'*+.^_`|~-]+(?:[ \t]*,[ \t]*[A-Za-z0-9!#$%&'*+.^_`|~-]+)*$/;

/** A method is a token (RFC 9110, 9.1); the longest registered has 17. */
const METHOD = /^[A-Za-z-]{1,20}$/;

/** What scripts may read of an answer besides the few safe ones. */
const EXPOSED = [
  "x-request-id",
  "request-id",
  "x-tryst-endpoint",
  "x-tryst-affinity",
  "x-tryst-key-source",
  "x-tryst-queue-ms",
  "x-tryst-attempts",
  "x-tryst-error",
  "retry-after",
  "www-authenticate",
  "x-ratelimit-limit-requests",
  "x-ratelimit-remaining-requests",
  "x-ratelimit-reset-requests",
].join(", ");

const PREFLIGHT_VARY =
  "origin, access-control-request-method, access-control-request-headers";

/** Answers preflights, and marks every other answer for its page. */
export class Cors {
  readonly #origins: ReadonlySet<string>;
  readonly #isOpen: boolean;
  readonly #credentials: boolean;

  constructor({ origins, credentials }: CorsRules) {
    this.#origins = new Set(origins);
    this.#isOpen = this.#origins.has("*");
    this.#credentials = credentials && !this.#isOpen;
  }

  /** Answers a request, by `next` unless it is a preflight. */
  async handle(
    request: ClientRequest,
    next: (request: ClientRequest) => Promise<Answer>,
  ): Promise<Answer> {
    const { head } = request;
    const preflight = this.#preflight(head);
    if (preflight !== undefined) return preflight;
    const answer = await next(request);
    const headers = answer.headers.filter(([name]) =>
      !name.startsWith("access-control-")
    );
    headers.push(...this.#allowance(headerValue(head.headers, "origin")));
    if (!this.#isOpen) headers.push(["vary", "origin"]);
    return { ...answer, headers };
  }

  /** The answer to a preflight; `undefined` for any other request. */
  #preflight({ headers, method }: RequestHead): Answer | undefined {
    if (method !== "OPTIONS") return undefined;
    const origin = headerValue(headers, "origin");
    const wanted = headerValue(headers, "access-control-request-method");
    if (origin === undefined || wanted === undefined) return undefined;
    return {
      status: 204,
      headers: [
        ...this.#permission(headers, origin, wanted),
        ["vary", PREFLIGHT_VARY],
      ],
      body: undefined,
    };
  }

  /** Nothing for a page that may not: the browser then says so. */
  #permission(headers: HeaderList, origin: string, method: string): Header[] {
    const { allowed } = this.#match(origin);
    if (allowed === undefined || !METHOD.test(method)) return [];
    const out: Header[] = [
      ...this.#origin(allowed),
      ["access-control-allow-methods", method],
      ["access-control-max-age", String(MAX_AGE_S)],
    ];
    const names = headerValue(headers, "access-control-request-headers");
    if (names !== undefined && isNameList(names)) {
      out.push(["access-control-allow-headers", names]);
    }
    const isPrivate =
      headerValue(headers, "access-control-request-private-network") === "true";
    // Any page at all has no business in a private network.
    if (isPrivate && !this.#isOpen) {
      out.push(["access-control-allow-private-network", "true"]);
    }
    return out;
  }

  /** The fields of an answer that lets the page of `origin` read it. */
  #allowance(origin: string | undefined): Header[] {
    const { allowed } = this.#match(origin);
    if (allowed === undefined) return [];
    return [
      ...this.#origin(allowed),
      ["access-control-expose-headers", EXPOSED],
    ];
  }

  #origin(allowed: string): Header[] {
    const out: Header[] = [["access-control-allow-origin", allowed]];
    if (this.#credentials) {
      out.push(["access-control-allow-credentials", "true"]);
    }
    return out;
  }

  #match(origin: string | undefined): { readonly allowed?: string } {
    if (this.#isOpen) return { allowed: "*" };
    return origin !== undefined && this.#origins.has(origin)
      ? { allowed: origin }
      : {};
  }
}

function isNameList(names: string): boolean {
  return names.length <= NAMES_CHARS_MAX && NAMES.test(names.trim());
}
