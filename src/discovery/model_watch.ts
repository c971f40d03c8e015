/**
 * Asks endpoints for their models: once before they take work, and again and
 * again while they do.
 *
 * The list says which pool an endpoint belongs to. Whether it is well is not
 * asked here: an endpoint that fails to list its models keeps those it had.
 *
 * Invariant: at most one question to an endpoint is open at a time, and an
 * answer is never read beyond its bounds, in bytes and in time.
 *
 * @module
 */
import type { EndpointSpec } from "../core/endpoint.ts";
import type { Clock } from "../core/outside.ts";
import type { UpstreamClient, UpstreamResponse } from "../upstream/client.ts";
import { type CredentialOf, questionHeaders } from "./question.ts";

/** Milliseconds between two questions to an endpoint that is ready. */
const REFRESH_MS = 10_000;

/** Milliseconds until an endpoint that was not ready is looked at again. */
const RETRY_MS = 1_000;

/** An engine lists its models at once or is not well: milliseconds. */
const ANSWER_MS = 5_000;

/** Largest list read, in bytes; some thousand models. */
const LIST_BYTES_MAX = 4_194_304;

/** What a watch is made of. */
export interface ModelWatchParts {
  readonly clock: Clock;
  readonly upstream: UpstreamClient;
  readonly credentialOf: CredentialOf;
  /** Whether an endpoint takes work; others are not asked by themselves. */
  readonly isReady: (endpointId: string) => boolean;
  /** Takes a list, or `undefined` where the endpoint has none. */
  readonly report: (
    endpointId: string,
    models: readonly string[] | undefined,
  ) => void;
}

/** A question under way. */
interface Question {
  readonly answered: Promise<void>;
  readonly cancel: () => void;
}

/** Watches a list of endpoints. */
export class ModelWatch {
  readonly #parts: ModelWatchParts;
  readonly #open = new Map<string, Question>();
  readonly #timers = new Map<string, () => void>();

  constructor(parts: ModelWatchParts) {
    this.#parts = parts;
  }

  /** Watches exactly these endpoints from now on. */
  watch(endpoints: readonly EndpointSpec[]): void {
    this.stop();
    for (const endpoint of endpoints) this.#later(endpoint, REFRESH_MS);
  }

  /** Asks no more; open questions are broken off. */
  stop(): void {
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
    for (const { cancel } of this.#open.values()) cancel();
    this.#open.clear();
  }

  /**
   * Asks one endpoint now. Resolves, never rejects, once that is reported, has
   * failed or was broken off.
   */
  refresh(endpoint: EndpointSpec): Promise<void> {
    const open = this.#open.get(endpoint.id);
    if (open !== undefined) return open.answered;
    const question = this.#ask(endpoint);
    this.#open.set(endpoint.id, question);
    return question.answered;
  }

  #later(endpoint: EndpointSpec, delayMs: number): void {
    const cancel = this.#parts.clock.after(delayMs, () => {
      const isReady = this.#parts.isReady(endpoint.id);
      this.#later(endpoint, isReady ? REFRESH_MS : RETRY_MS);
      if (isReady) this.refresh(endpoint);
    });
    this.#timers.set(endpoint.id, cancel);
  }

  #ask(endpoint: EndpointSpec): Question {
    const { clock, credentialOf, report, upstream } = this.#parts;
    const exchange = upstream.start({
      address: endpoint.address,
      method: "GET",
      target: `${endpoint.basePath}/v1/models`,
      headers: questionHeaders(endpoint, credentialOf, [
        "accept",
        "application/json",
      ]),
      body: undefined,
    });
    let isCancelled = false;
    const cancelDeadline = clock.after(ANSWER_MS, exchange.abort);
    const end = () => {
      cancelDeadline();
      if (!isCancelled) this.#open.delete(endpoint.id);
    };
    const answered = readModels(exchange.response).then((list) => {
      end();
      if (!isCancelled && list !== "unknown") report(endpoint.id, list);
    }, end); // What cannot be asked is unknown, not gone.
    const cancel = () => {
      isCancelled = true;
      cancelDeadline();
      exchange.abort();
    };
    return { answered, cancel };
  }
}

/**
 * The ids listed; `undefined` when the engine has no list, `unknown` when it
 * cannot tell for now.
 */
async function readModels(
  response: Promise<UpstreamResponse>,
): Promise<readonly string[] | undefined | "unknown"> {
  const { status, body } = await response;
  const text = await readText(body);
  if (status >= 500 || status === 429) return "unknown";
  return status === 200 && text !== undefined ? modelIds(text) : undefined;
}

/** A body as text; `undefined` for none, and for one that is too large. */
async function readText(
  body: UpstreamResponse["body"],
): Promise<string | undefined> {
  if (body === undefined) return undefined;
  if (body instanceof Uint8Array) return new TextDecoder().decode(body);
  const chunks: Uint8Array[] = [];
  let byteCount = 0;
  for (;;) {
    const chunk = await body.read();
    if (chunk === undefined) break;
    byteCount += chunk.length;
    if (byteCount > LIST_BYTES_MAX) {
      body.cancel();
      return undefined;
    }
    chunks.push(chunk);
  }
  return await new Blob(chunks as BlobPart[]).text();
}

/** The ids in `{"data": [{"id": ...}]}`, sorted; `undefined` if it is not so. */
export function modelIds(text: string): readonly string[] | undefined {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof list !== "object" || list === null || !("data" in list)) {
    return undefined;
  }
  if (!Array.isArray(list.data)) return undefined;
  const ids: string[] = [];
  for (const model of list.data) {
    if (typeof model?.id === "string") ids.push(model.id);
  }
  return ids.length === 0 ? undefined : [...new Set(ids)].sort();
}
