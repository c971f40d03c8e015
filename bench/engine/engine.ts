/**
 * A simulated inference engine: a real HTTP/1.1 server with the timing, the
 * prefix cache, the queue and the faults of an engine, and no model.
 *
 * It is the other side of the gateway in tests, benchmarks and the demo, so it
 * imports nothing of the gateway and agrees with it on nothing but HTTP.
 *
 * Invariant: whatever happens to a client, `stop()`, `kill()` and disposal
 * leave no socket, timer or task behind.
 *
 * @module
 */
import { anthropicError, messages } from "./anthropic_api.ts";
import { type Api, type ApiContext, openaiError } from "./api.ts";
import { Batch, type BatchOptions } from "./batch.ts";
import type { EngineRequest, Handler } from "./exchange.ts";
import { Faults } from "./faults.ts";
import { Generator } from "./generation.ts";
import type { Answer } from "./http_answer.ts";
import { HttpServer, type ListenAddress } from "./http_server.ts";
import { parseObject } from "./json.ts";
import { completions, embeddings, modelList } from "./openai_api.ts";
import { echo, echoBody, metrics } from "./operations_api.ts";
import {
  RequestLog,
  type RequestLogOptions,
  type RequestRecord,
} from "./request_log.ts";
import { responsesApi } from "./responses_api.ts";

/** How an engine is set up; everything has a default. */
export interface EngineOptions
  extends Partial<BatchOptions>, Partial<RequestLogOptions> {
  /** Names the engine in the ids of its answers; `engine` unless given. */
  readonly id?: string;
  /** `127.0.0.1` unless given. */
  readonly hostname?: string;
  /** A free port unless given. */
  readonly port?: number;
  /** Listens on this unix socket instead of a port. */
  readonly path?: string;
  /** What `/v1/models` lists; `sim` unless given. */
  readonly models?: readonly string[];
  /** Whether a model that is not listed is refused with 404. */
  readonly checksModel?: boolean;
  /** Seed of the faults' probabilities. */
  readonly seed?: number;
  /** Answers every POST with this JSON at once: for load tests. */
  readonly fixedAnswer?: string;
}

/** Counts since the start, and levels now. */
export interface EngineStats {
  readonly requestCount: number;
  readonly connectionCount: number;
  readonly connectionsOpen: number;
  readonly runningCount: number;
  readonly waitingCount: number;
  readonly cacheBlocks: number;
  readonly prefixQueryTokens: number;
  readonly prefixHitTokens: number;
}

/** A running engine. */
export interface Engine extends AsyncDisposable {
  readonly id: string;
  /** Base URL without a trailing slash; `unix:PATH` for a unix socket. */
  readonly url: string;
  /** 0 on a unix socket. */
  readonly port: number;
  /** What goes wrong, changeable at any time. */
  readonly faults: Faults;
  /** The last requests, oldest first. */
  readonly requests: readonly RequestRecord[];
  readonly stats: EngineStats;
  /** As `RequestLog.until()`; within 5 seconds unless given. */
  until(
    matches: (record: RequestRecord) => boolean,
    withinMs?: number,
  ): Promise<RequestRecord>;
  /** Refuses new connections until `accept()`; open ones go on. */
  refuse(): Promise<void>;
  /** Accepts connections again, at the same address. */
  accept(): void;
  /** Ends at once, as a process that is killed. */
  kill(): Promise<void>;
  /** Ends when the running exchanges have, or a limit has passed. */
  stop(): Promise<void>;
}

/**
 * The pace of a mid-sized model on one GPU, near enough: 10,000 tokens a
 * second of prefill, 100 tokens a second of decoding, and room for 65,536
 * tokens of cache.
 */
const DEFAULT_BATCH: BatchOptions = {
  prefillMsPerToken: 0.1,
  decodeMsPerToken: 10,
  batchMax: 64,
  cacheBlocks: 4096,
  speed: 1,
};

/** 1,000 records of up to 64 KiB are at most 64 MB. */
const DEFAULT_LOG: RequestLogOptions = {
  recordsMax: 1000,
  recordBodyBytesMax: 64 * 1024,
};

const UNTIL_WITHIN_MS = 5000;

/**
 * Starts an engine; it listens when the promise resolves.
 *
 * @throws {Deno.errors.AddrInUse} when the port or path is taken.
 */
export async function startEngine(
  options: EngineOptions = {},
): Promise<Engine> {
  const id = options.id ?? "engine";
  const pace = { ...DEFAULT_BATCH, ...options };
  const batch = new Batch(pace);
  const log = new RequestLog({ ...DEFAULT_LOG, ...options });
  const faults = new Faults(options.seed ?? 1);
  const server = new HttpServer({
    address: addressOf(options),
    handler: createHandler(options, batch, {
      engineId: id,
      models: options.models ?? ["sim"],
      checksModel: options.checksModel ?? false,
      generator: new Generator(batch, pace.decodeMsPerToken / pace.speed),
    }),
    faults,
    log,
  });
  // Within the promise, so that a port in use rejects it.
  await Promise.resolve(server.listen());
  return {
    id,
    url: options.path === undefined
      ? `http://${options.hostname ?? "127.0.0.1"}:${server.port}`
      : `unix:${options.path}`,
    port: server.port,
    faults,
    requests: log.records,
    get stats() {
      return statsOf(server, batch);
    },
    until: (matches, withinMs = UNTIL_WITHIN_MS) =>
      log.until(matches, withinMs),
    refuse: () => server.refuse(),
    accept: () => server.listen(),
    kill: () => server.kill(),
    stop: () => server.stop(),
    [Symbol.asyncDispose]: () => server.kill(),
  };
}

function addressOf(options: EngineOptions): ListenAddress {
  if (options.path !== undefined) return { path: options.path };
  return {
    hostname: options.hostname ?? "127.0.0.1",
    port: options.port ?? 0,
  };
}

function statsOf(server: HttpServer, batch: Batch): EngineStats {
  return {
    requestCount: server.requestCount,
    connectionCount: server.connectionCount,
    connectionsOpen: server.connectionsOpen,
    runningCount: batch.runningCount,
    waitingCount: batch.waitingCount,
    cacheBlocks: batch.cache.blockCount,
    prefixQueryTokens: batch.cache.queryTokens,
    prefixHitTokens: batch.cache.hitTokens,
  };
}

function createHandler(
  options: EngineOptions,
  batch: Batch,
  context: ApiContext,
): Handler {
  const fixed = options.fixedAnswer;
  const fixedAnswer: Answer | undefined = fixed === undefined ? undefined : {
    status: 200,
    headers: [["content-type", "application/json"]],
    body: new TextEncoder().encode(fixed),
  };
  const apis: ReadonlyMap<string, Api> = new Map<string, Api>([
    ["/v1/chat/completions", completions],
    ["/v1/completions", completions],
    ["/v1/embeddings", embeddings],
    ["/v1/responses", responsesApi()],
    ["/v1/messages", messages],
  ]);
  return (request) => {
    if (fixedAnswer !== undefined && request.method === "POST") {
      return fixedAnswer;
    }
    const api = request.method === "POST" ? apis.get(request.path) : undefined;
    if (api !== undefined) return callApi(api, request, context);
    return operate(request, batch, context);
  };
}

function callApi(
  api: Api,
  request: EngineRequest,
  context: ApiContext,
): Answer | Promise<Answer> {
  const fail = request.path === "/v1/messages" ? anthropicError : openaiError;
  const body = parseObject(request.body);
  if (body === undefined) {
    return fail(400, "The request body is not a JSON object");
  }
  const named = body["model"];
  const model = typeof named === "string" ? named : context.models[0] ?? "sim";
  if (context.checksModel && !context.models.includes(model)) {
    return fail(404, `The model '${model}' does not exist.`);
  }
  return api({ context, request, body, model });
}

function operate(
  request: EngineRequest,
  batch: Batch,
  context: ApiContext,
): Answer {
  switch (request.path) {
    case "/v1/models":
      return modelList(context.models);
    case "/health":
      return { status: 200, headers: [], body: new Uint8Array() };
    case "/metrics":
      return metrics({
        batch,
        model: context.models[0] ?? "sim",
        answerTokens: context.generator.answerTokens,
      });
    case "/echo":
    case "/sink":
      return echo(request);
    case "/echo/body":
      return echoBody(request);
    default:
      return openaiError(404, `Not Found: ${request.path}`);
  }
}
