/**
 * Explains what the gateway would make of a request: which session it belongs
 * to and why, and where it would go.
 *
 * Invariant: it asks the parts of the gateway and decides nothing by itself;
 * no key, no credential and no prompt is shown, only names and 8 digits of a
 * hash.
 *
 * @module
 */
import type { Config } from "../../config/config.ts";
import { GatewayError } from "../../core/error.ts";
import { type KeyHash, shortHash } from "../../core/hash.ts";
import { TenantScope } from "../../core/tenants/tenant_scope.ts";
import { checkHead } from "../../gateway/accept.ts";
import { ForwardingRules } from "../../gateway/forwarding.ts";
import { type Hints, readHints } from "../../gateway/hints.ts";
import { parseSource } from "../../session_keys/parse.ts";
import { keyPlanOf } from "../../wiring/configured_keys.ts";
import type { ExplainedRequest } from "./explain_request.ts";
import { routeOf } from "./explain_route.ts";
import {
  scannedBody,
  type SniffFinding,
  sniffRequest,
} from "./explain_sniff.ts";
import { findingOf, type SourceFinding } from "./explain_sources.ts";
import { columns } from "../help.ts";
import { plainText } from "../top/top_text.ts";

/** What came of it. */
export interface Explanation {
  readonly lines: readonly string[];
  /** Whether the gateway would refuse the request by itself. */
  readonly isRefused: boolean;
}

/** What is explained, and for whom. */
export interface ExplainOptions {
  readonly config: Config;
  /** Whose request it is, where clients need an API key. */
  readonly tenant: string | undefined;
  /** A number in [0, 1). */
  readonly random: () => number;
}

/** Endpoints listed; whoever has more wants to know the first few. */
const RANKING_MAX = 16;

/** Explains one request. */
export async function explainRequest(
  request: ExplainedRequest,
  options: ExplainOptions,
): Promise<Explanation> {
  const { config } = options;
  const { body, head } = request;
  const size = body === undefined ? "no body" : `${body.length} bytes of body`;
  const plan = keyPlanOf(config);
  // A segment of the path may be a key, and so may be the query.
  const path = plan.pathTemplate(head) ?? head.target.split("?", 1)[0];
  const title = [
    `Request: ${plainText(head.method)} ${plainText(path)}` +
    ` with ${size}`,
    ...request.notes.map((note) => `  Note: ${note}`),
  ];
  try {
    checkHead(head);
    const hints = readHints(head.headers);
    const sniffed = await sniffRequest(request, {
      config,
      plan,
      bodyBytesMax: settingsOf(options)?.bodyBytes,
    });
    const lines = [
      ...title,
      ...await keyLines(request, sniffed, options),
      ...hintLines(hints, options),
      ...routeLines(sniffed, options),
      ...headerLines(request, options),
      "  Nobody was asked: every endpoint counts as ready, idle and serving" +
      " each model",
    ];
    const isRefused = config.endpoints.length === 0 ||
      isForbidden(sniffed, options);
    return { lines, isRefused };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { code, message, row } = error;
    return {
      lines: [...title, `  Refused with ${row.status} ${code}: ${message}`],
      isRefused: true,
    };
  }
}

/** Which source has the key, and why better ones have none. */
async function keyLines(
  request: ExplainedRequest,
  sniffed: SniffFinding,
  options: ExplainOptions,
): Promise<string[]> {
  const { config } = options;
  const { found, model } = sniffed;
  const sources = config.session.keys.map(parseSource);
  const looked = {
    head: request.head,
    body: await scannedBody(request, config),
  };
  const rank = found?.sourceIndex ?? sources.length;
  const passed = sources.slice(0, rank).map((source) => {
    const finding = findingOf(source, looked);
    return [source.name, passedText(finding, sniffed)];
  });
  const hash = scoped(found?.hash, options);
  const key = found === undefined
    ? "none: no source has one, so it is no session's request"
    : `from ${sources[rank]?.name}` +
      (hash === undefined ? "" : `, hash ${shortHash(hash)}`);
  return [
    `  Session key: ${key}`,
    ...(passed.length === 0
      ? []
      : ["  Better sources, and why they do not count:", ...indented(passed)]),
    `  Body: ${bodyText(request, sniffed)}`,
    `  Model: ${model === undefined ? "none found" : plainText(model)}`,
  ];
}

function passedText(finding: SourceFinding, sniffed: SniffFinding): string {
  if (!finding.isUsable) return finding.text;
  return sniffed.isWindowFull
    ? "stands behind session.sniff_window, where nothing is looked at"
    : "stands where the gateway does not look: see type and coding of the body";
}

function bodyText(
  { body }: ExplainedRequest,
  { byteCount, gaveUp, isWindowFull, found }: SniffFinding,
): string {
  if (body === undefined) return "none";
  if (gaveUp) return "no JSON object, forwarded as it is";
  if (isWindowFull) {
    return `key unknown after ${byteCount} bytes, then it flows`;
  }
  if (byteCount === 0) {
    return found === undefined
      ? "not looked at, it flows as it comes"
      : "not held, as the head decides";
  }
  return `${byteCount} of ${body.length} bytes read before it flows`;
}

function hintLines(hints: Hints, options: ExplainOptions): string[] {
  const { priorityMax, priorityMin } = options.config.queue;
  const { expectedMs, isFinal, priority } = hints;
  const max = settingsOf(options)?.priorityMax ?? priorityMax;
  const heeded = Math.min(Math.max(priority, priorityMin), max);
  const bound = heeded === priority ? "" : `, asked for ${priority}`;
  return [
    `  Hints: priority ${heeded}${bound}` +
    `, expected ${expectedMs === undefined ? "unknown" : `${expectedMs}ms`}` +
    `, ${isFinal ? "last of its session" : "not said to be the last"}`,
  ];
}

/** The order of the endpoints, and why it is that. */
function routeLines(sniffed: SniffFinding, options: ExplainOptions): string[] {
  const { config, random } = options;
  const { found } = sniffed;
  if (config.endpoints.length === 0) {
    return ["  Routed to: nowhere, as there is no endpoint (503)"];
  }
  if (isForbidden(sniffed, options)) {
    return [
      `  Refused with 403 model_forbidden: tenant "${options.tenant}" may not` +
      " ask for it",
    ];
  }
  const hash = scoped(found?.hash, options);
  if (found !== undefined && hash === undefined) {
    return [
      '  Routed to: unknown without "--tenant", as each tenant has sessions of' +
      " its own",
    ];
  }
  const { isKeyed, policy, pool, ranking } = routeOf(config, hash, random);
  const why = isKeyed
    ? `${policy} orders by hash of key and endpoint, alike in every gateway`
    : `${policy} does not go by a session key: this is one order of many`;
  const rows = ranking.slice(0, RANKING_MAX).map(({ id, score, share }, at) => [
    `${at + 1}.`,
    plainText(id),
    score === undefined ? "" : `score ${score.toFixed(4)}`,
    `${(100 * share).toFixed(1)}% of sessions`,
  ]);
  const more = ranking.length - rows.length;
  return [
    `  Pool: ${plainText(pool)}`,
    `  Routed to: ${plainText(ranking[0]?.id)}, because ${why}`,
    ...indented(rows.map((row) => row.filter((cell) => cell !== ""))),
    ...(more > 0 ? [`    ${more} more`] : []),
    ...(found === undefined
      ? []
      : ["  A session that is bound already stays where it is bound"]),
  ];
}

/** Names of the headers that do not pass, and of those that are added. */
function headerLines(
  { head }: ExplainedRequest,
  { config }: ExplainOptions,
): string[] {
  const [endpoint] = config.endpoints;
  const rules = new ForwardingRules(config.forwarding);
  const sent = rules.passed({ head, clientAddress: "", scheme: "http" }, {
    host: endpoint?.host ?? "",
    requestId: "",
    hidesKeys: config.auth.keysFile !== undefined,
    credential: endpoint?.credential && [endpoint.credential.header, ""],
  });
  const before = new Map(head.headers);
  const after = new Map(sent);
  const names = (list: Iterable<string>) => [...list].sort().join(", ");
  const dropped = names([...before.keys()].filter((name) => !after.has(name)));
  const added = names(
    [...after].filter(([name, value]) => before.get(name) !== value)
      .map(([name]) => name),
  );
  return [
    `  Headers dropped or framed anew: ${dropped || "none"}`,
    `  Headers added or replaced: ${added || "none"}`,
  ];
}

/** The hash by which a session is known; `undefined` if that is not known. */
function scoped(
  hash: KeyHash | undefined,
  { config, tenant }: ExplainOptions,
): KeyHash | undefined {
  if (hash === undefined || config.auth.keysFile === undefined) return hash;
  return tenant === undefined ? undefined : new TenantScope(tenant).of(hash);
}

/** What the tenant may; `undefined` where there are none. */
function settingsOf({ config, tenant }: ExplainOptions) {
  const { auth, tenants } = config;
  if (auth.keysFile === undefined || tenant === undefined) return undefined;
  return tenants.listed.find(({ name }) => name === tenant)?.settings ??
    tenants.others;
}

/** Whether the tenant may not ask for the model, if it is there at all. */
function isForbidden(
  { model }: SniffFinding,
  options: ExplainOptions,
): boolean {
  const models = settingsOf(options)?.models;
  return models !== undefined &&
    (model === undefined || !models.includes(model));
}

function indented(rows: readonly (readonly string[])[]): string[] {
  return columns(rows).map((line) => `  ${line}`);
}
