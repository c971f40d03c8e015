/**
 * Asks every endpoint for its models, again and again.
 *
 * The list says which pool an endpoint belongs to, and that there was an answer
 * says that the endpoint can be reached.
 *
 * Invariant: at most one question to an endpoint is open at a time, and an
 * answer is never read beyond its bound.
 *
 * @module
 */
import type { EndpointSpec } from "../core/endpoint.ts";
import type { Clock } from "../core/outside.ts";
import type { UpstreamClient, UpstreamResponse } from "../upstream/client.ts";
import type { Sighting } from "./directory.ts";

/** Milliseconds between two questions to an endpoint that answers. */
const REFRESH_MS = 10_000;

/** Milliseconds until one that did not answer is asked again. */
const RETRY_MS = 1_000;

/** Largest list read, in bytes; some thousand models. */
const LIST_BYTES_MAX = 4_194_304;

/** What a watch is made of. */
export interface ModelWatchParts {
  readonly clock: Clock;
  /** A client whose time limits suit a question that is answered at once. */
  readonly upstream: UpstreamClient;
  readonly report: (endpointId: string, sighting: Sighting) => void;
}

/** Watches a list of endpoints. */
export class ModelWatch {
  readonly #parts: ModelWatchParts;
  #cancels = new Map<string, () => void>();

  constructor(parts: ModelWatchParts) {
    this.#parts = parts;
  }

  /** Watches exactly these endpoints from now on. */
  watch(endpoints: readonly EndpointSpec[]): void {
    this.stop();
    for (const endpoint of endpoints) this.#ask(endpoint);
  }

  /** Asks no more; open questions are broken off. */
  stop(): void {
    for (const cancel of this.#cancels.values()) cancel();
    this.#cancels = new Map();
  }

  #ask(endpoint: EndpointSpec): void {
    const exchange = this.#parts.upstream.start({
      address: endpoint.address,
      method: "GET",
      target: `${endpoint.basePath}/v1/models`,
      headers: [["host", endpoint.host], ["accept", "application/json"]],
      body: undefined,
      contentLength: undefined,
    });
    let isCancelled = false;
    this.#cancels.set(endpoint.id, () => {
      isCancelled = true;
      exchange.abort();
    });
    const report = (sighting: Sighting) => {
      if (isCancelled) return;
      this.#parts.report(endpoint.id, sighting);
      const delayMs = sighting.kind === "reached" ? REFRESH_MS : RETRY_MS;
      this.#cancels.set(
        endpoint.id,
        this.#parts.clock.after(delayMs, () => this.#ask(endpoint)),
      );
    };
    readModels(exchange.response).then(
      (models) => report({ kind: "reached", models }),
      (error) => report({ kind: "unreached", reason: String(error) }),
    );
  }
}

/** The ids listed, or `undefined` when the answer holds no list. */
async function readModels(
  response: Promise<UpstreamResponse>,
): Promise<readonly string[] | undefined> {
  const { status, body } = await response;
  if (body === undefined) return undefined;
  const chunks: Uint8Array[] = [];
  if (body instanceof Uint8Array) chunks.push(body);
  else {
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
  }
  if (status !== 200) return undefined;
  return modelIds(await new Blob(chunks as BlobPart[]).text());
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
