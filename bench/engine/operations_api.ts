/**
 * The engine's paths that are not inference: health, metrics, and what tests
 * ask to learn what reached the engine.
 *
 * Invariant: metric names are those of vLLM, the older and the newer ones, so
 * that readers of either find theirs.
 *
 * @module
 */
import type { Batch } from "./batch.ts";
import type { EngineRequest } from "./exchange.ts";
import type { Answer } from "./http_answer.ts";
import { jsonAnswer } from "./json.ts";

/** A longer body is not repeated by `/echo`, only measured. */
const ECHO_BYTES_MAX = 1024 * 1024;

/** What the metrics are made of. */
export interface MetricsSource {
  readonly batch: Batch;
  readonly model: string;
  /** Tokens of all answers that were begun. */
  readonly answerTokens: number;
}

/** `GET /metrics` in the Prometheus text format. */
export function metrics(source: MetricsSource): Answer {
  const { batch, model, answerTokens } = source;
  const { cache } = batch;
  const rows: readonly (readonly [string, string, number])[] = [
    ["num_requests_running", "gauge", batch.runningCount],
    ["num_requests_waiting", "gauge", batch.waitingCount],
    ["kv_cache_usage_perc", "gauge", batch.cacheUsage],
    ["gpu_cache_usage_perc", "gauge", batch.cacheUsage],
    ["prefix_cache_queries_total", "counter", cache.queryTokens],
    ["prefix_cache_hits_total", "counter", cache.hitTokens],
    ["gpu_prefix_cache_queries_total", "counter", cache.queryTokens],
    ["gpu_prefix_cache_hits_total", "counter", cache.hitTokens],
    ["prompt_tokens_total", "counter", cache.queryTokens],
    ["generation_tokens_total", "counter", answerTokens],
  ];
  let text = "";
  for (const [name, type, value] of rows) {
    text += `# TYPE vllm:${name} ${type}\n` +
      `vllm:${name}{engine="0",model_name="${model}"} ${value}\n`;
  }
  return {
    status: 200,
    headers: [["content-type", "text/plain; version=0.0.4; charset=utf-8"]],
    body: new TextEncoder().encode(text),
  };
}

/** `/echo`: tells what reached the engine, byte for byte. */
export function echo(request: EngineRequest): Answer {
  const { body, record } = request;
  const isShort = body.length <= ECHO_BYTES_MAX;
  return jsonAnswer({
    method: request.method,
    target: request.target,
    header_lines: request.headerLines,
    body_bytes: record.bodyByteCount,
    body_sha256: record.bodySha256,
    ...(isShort ? bodyMembers(body) : {}),
  });
}

/** `/echo/body`: the request's own body and type back. */
export function echoBody(request: EngineRequest): Answer {
  const type = request.headers.get("content-type") ??
    "application/octet-stream";
  return {
    status: 200,
    headers: [["content-type", type]],
    body: request.body,
  };
}

/** Text where the bytes are UTF-8, base64 where they are not. */
function bodyMembers(body: Uint8Array): Readonly<Record<string, string>> {
  try {
    return { body: new TextDecoder("utf-8", STRICT).decode(body) };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    let text = "";
    for (const byte of body) text += String.fromCharCode(byte);
    return { body_base64: btoa(text) };
  }
}

const STRICT = { fatal: true, ignoreBOM: true } as const;
