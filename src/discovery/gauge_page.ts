/**
 * Asks an endpoint once for its page of metrics, wherever that is.
 *
 * It is looked for under the base path, as health probes go, and where that
 * has none at the server's root, which a proxy of one engine often leaves
 * open. Endpoints that share a server are not looked for at its root: whose
 * page that is cannot be told.
 *
 * Invariant: whatever the answer is, it comes to an outcome within the
 * deadline, and no more of it is held than the bound.
 *
 * @module
 */
import type { EndpointSpec } from "../core/endpoint.ts";
import {
  type EngineGauges,
  readEngineGauges,
} from "../core/engines/engine_metrics.ts";
import type { Address, Clock } from "../core/outside.ts";
import type { UpstreamClient } from "../upstream/client.ts";
import { readText } from "./answer_text.ts";
import { type CredentialOf, questionHeaders } from "./question.ts";

/** A page is printed at once, or the engine is too busy to: milliseconds. */
const ANSWER_MS = 1_000;

/** Largest page read, in bytes; engines of many ranks print some hundred KiB. */
const PAGE_BYTES_MAX = 4_194_304;

/** Statuses that say that a path is not there, or not for GET. */
const MISSING: ReadonlySet<number> = new Set([404, 405, 501]);

/** Statuses below 500 that say nothing about the next time. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429]);

/** What came of a question. */
export type PageOutcome =
  | {
    readonly kind: "read";
    readonly gauges: EngineGauges;
    /** Where the page was. */
    readonly target: string;
  }
  /** There is no such page, and there will hardly be one soon. */
  | { readonly kind: "missing"; readonly detail: string }
  /** The endpoint cannot tell for now. */
  | { readonly kind: "failed" };

/** What pages are asked for with. */
export interface PageParts {
  readonly clock: Clock;
  readonly upstream: UpstreamClient;
  readonly credentialOf: CredentialOf;
}

/** A question under way. */
export interface PageQuestion {
  /** Never rejects. */
  readonly outcome: Promise<PageOutcome>;
  /** Breaks it off at once; the outcome is then `failed`. */
  readonly cancel: () => void;
}

const FAILED: PageOutcome = { kind: "failed" };

/** Asks `endpoint` at each of `targets` until one has the page. */
export function askForPage(
  parts: PageParts,
  endpoint: EndpointSpec,
  targets: readonly string[],
): PageQuestion {
  let abort = () => {};
  let isOver = false;
  const cancel = () => {
    isOver = true;
    cancelDeadline();
    abort();
  };
  const cancelDeadline = parts.clock.after(ANSWER_MS, cancel);
  async function ask(): Promise<PageOutcome> {
    let outcome = FAILED;
    for (const target of targets) {
      const exchange = start(parts, endpoint, target);
      abort = exchange.abort;
      outcome = await outcomeOf(target, exchange.response);
      if (isOver) return FAILED;
      if (outcome.kind !== "missing") break;
    }
    return outcome;
  }
  // Late, refused, reset or no HTTP at all: health probes tell of that.
  const outcome = ask().catch(() => FAILED).finally(cancelDeadline);
  return { outcome, cancel };
}

/**
 * Where the pages of endpoints may be, best first.
 *
 * @param endpoints All there are, as it matters who shares a server.
 */
export function pageTargets(
  endpoints: readonly EndpointSpec[],
  path: string,
): ReadonlyMap<EndpointSpec, readonly string[]> {
  const counts = new Map<string, number>();
  for (const { address } of endpoints) {
    const server = serverOf(address);
    counts.set(server, (counts.get(server) ?? 0) + 1);
  }
  return new Map(endpoints.map((endpoint) => {
    const { address, basePath } = endpoint;
    const isAlone = counts.get(serverOf(address)) === 1;
    const targets = basePath !== "" && isAlone
      ? [basePath + path, path]
      : [basePath + path];
    return [endpoint, targets];
  }));
}

function start(
  { credentialOf, upstream }: PageParts,
  endpoint: EndpointSpec,
  target: string,
) {
  return upstream.start({
    address: endpoint.address,
    method: "GET",
    target,
    headers: questionHeaders(endpoint, credentialOf, [
      "accept",
      "text/plain;version=0.0.4",
    ]),
    body: undefined,
  });
}

async function outcomeOf(
  target: string,
  response: ReturnType<UpstreamClient["start"]>["response"],
): Promise<PageOutcome> {
  const { status, body } = await response;
  const page = await readText(body, PAGE_BYTES_MAX);
  const asked = `GET ${target}`;
  if (status !== 200) {
    const isServerFault = status >= 500 && !MISSING.has(status);
    if (isServerFault || PASSING.has(status)) return FAILED;
    return { kind: "missing", detail: `${asked} answered ${status}` };
  }
  if (page === undefined) {
    const detail = `${asked} answered more than ${PAGE_BYTES_MAX} bytes`;
    return { kind: "missing", detail };
  }
  const gauges = readEngineGauges(page);
  return gauges === undefined
    ? { kind: "missing", detail: `${asked} answered no known metric` }
    : { kind: "read", gauges, target };
}

function serverOf(address: Address): string {
  return address.kind === "unix"
    ? `unix:${address.path}`
    : `${address.hostname}:${address.port}`;
}
