/**
 * Fuzzes the admin API of a running gateway.
 *
 * The routes are those of its own description where it has one
 * (`/openapi.json`), else the table below. Methods, paths, queries, fields and
 * bodies are right, wrong and damaged. No answer may be an error of the
 * gateway's own, show where its sources are, or keep it from the next one.
 *
 * Invariant: a failure names the seed and the request.
 *
 * @module
 */
import { serveProgram } from "../admin/program.ts";
import { call } from "../gateway/raw_client.ts";
import type { Reply } from "../gateway/reply.ts";
import type { FuzzOptions } from "./fuzz_options.ts";
import { DocumentMaker } from "./json_documents.ts";
import { SeededRandom } from "./random.ts";

/** One thing that may be asked. */
export interface AdminRoute {
  readonly method: string;
  readonly path: string;
}

/** What every version has. */
const ROUTES: readonly AdminRoute[] = [
  { method: "GET", path: "/healthz" },
  { method: "GET", path: "/readyz" },
  { method: "GET", path: "/metrics" },
  { method: "GET", path: "/endpoints" },
  { method: "POST", path: "/endpoints/drain" },
  { method: "POST", path: "/endpoints/restore" },
];

/** A gateway without endpoints: it is as ready as it gets at once. */
const CONFIG = "endpoints: []\nworkers: 1\n";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
const IDS = ["e0", "", "%00", "..", "%2e%2e", "é", "a/b", "x".repeat(3_000)];
const FIELDS = [
  "Content-Type: application/json",
  "Content-Type: text/plain",
  "Authorization: Bearer x",
  "Authorization: \xff",
  "Origin: http://evil.example",
  "Sec-Fetch-Site: cross-site",
  "Accept: */*;q=x",
  "If-None-Match: *",
  "Range: bytes=0-0",
];
const BODIES = ['{"id":"e0"}', '{"id":1}', "{", "[]", "null", '"e0"', ""];
/** Documents are small: the limit on a body has a test of its own. */
const LONG_PERIOD = 20;

/** Its answer has no end to read up to; the dashboard's tests read it. */
const ENDLESS = "/events";

/** Not ready, and not set up for what is asked: both are said on purpose. */
const MEANT: readonly number[] = [501, 503];

/** @throws {Error} at the first answer that must not be. */
export async function fuzzAdmin({ seed, cases }: FuzzOptions): Promise<void> {
  await using gateway = await serveProgram(CONFIG);
  const routes = await routesOf(gateway.adminPort);
  for (let index = 0; index < cases; index++) {
    const request = requestOf(new SeededRandom(seed + index), routes);
    const problem = problemOf(await ask(gateway.adminPort, request));
    if (problem === undefined) continue;
    throw new Error(
      `Cannot pass admin fuzzing with --seed ${seed + index} --cases 1: ` +
        `${problem} for ${JSON.stringify(request)}`,
    );
  }
  const alive = await ask(gateway.adminPort, plain("GET", "/healthz"));
  if (alive?.status !== 200) throw new Error("Cannot go on after all");
}

/** The routes that the gateway describes itself, or those of the table. */
async function routesOf(port: number): Promise<readonly AdminRoute[]> {
  const reply = await ask(port, plain("GET", "/openapi.json"));
  if (reply?.status !== 200) return ROUTES;
  const { paths } = JSON.parse(reply.body) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({
      method: method.toUpperCase(),
      path,
    }))
  ).filter(({ path }) => path !== ENDLESS);
}

function requestOf(
  random: SeededRandom,
  routes: readonly AdminRoute[],
): string {
  const route = random.pick(routes);
  const method = random.oneIn(3) ? random.pick(METHODS) : route.method;
  let target = route.path.replaceAll(/\{[^}]*\}/g, () => random.pick(IDS));
  if (random.oneIn(4)) target += `?id=${random.pick(IDS)}&${random.below(9)}`;
  if (random.oneIn(8)) target += random.pick(["/", "//", "/..", "%2f", "?"]);
  const fields = FIELDS.filter(() => random.oneIn(4));
  const body = random.oneIn(2)
    ? random.pick(BODIES)
    : new DocumentMaker(random, LONG_PERIOD).document();
  const bytes = latin1(body);
  return `${method} ${latin1(target)} HTTP/1.1\r\nHost: localhost\r\n` +
    fields.map((field) => `${field}\r\n`).join("") +
    `Content-Length: ${bytes.length}\r\nConnection: close\r\n\r\n${bytes}`;
}

function plain(method: string, target: string): string {
  return `${method} ${target} HTTP/1.1\r\nHost: localhost\r\n` +
    "Connection: close\r\n\r\n";
}

/** An answer, or `undefined` when the connection ends without one. */
async function ask(port: number, request: string): Promise<Reply | undefined> {
  try {
    return await call(port, request);
  } catch (error) {
    if (String(error).includes("the connection ended")) return undefined;
    throw error;
  }
}

/** What must not be, in an answer; no answer is the listener's refusal. */
function problemOf(reply: Reply | undefined): string | undefined {
  if (reply === undefined) return undefined;
  const { body, headers, status } = reply;
  if (status >= 500 && !MEANT.includes(status)) {
    return `status ${status}: ${body}`;
  }
  if (/file:\/\/|\/src\/|\.ts:\d/.test(body)) return `tells of itself: ${body}`;
  const type = headers.get("content-type") ?? "";
  if (status >= 400 && body.startsWith("{") && !type.includes("json")) {
    return `status ${status} of type "${type}"`;
  }
  return undefined;
}

/** UTF-8 of `text` as latin-1, one character a byte. */
function latin1(text: string): string {
  let bytes = "";
  for (const byte of new TextEncoder().encode(text)) {
    bytes += String.fromCharCode(byte);
  }
  return bytes;
}
