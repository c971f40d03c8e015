/**
 * What the forwarding rules cost a request: which fields go on to the engine,
 * and which come back, as SDKs and engines send them.
 *
 * @module
 */
import type { Header } from "../src/core/request.ts";
import type { Call } from "../src/gateway/call.ts";
import {
  type ForwardingOptions,
  ForwardingRules,
} from "../src/gateway/forwarding.ts";
import { parseConfig } from "../src/config/parse.ts";
import { LOAD_NAMES } from "../src/cli/load_names.ts";

/** Of OpenAI's client for Python, with a session. */
const REQUEST: readonly Header[] = [
  ["host", "gateway.example:8080"],
  ["accept-encoding", "gzip, deflate"],
  ["connection", "keep-alive"],
  ["accept", "application/json"],
  ["content-type", "application/json"],
  ["user-agent", "OpenAI/Python 2.8.1"],
  ["x-stainless-lang", "python"],
  ["x-stainless-package-version", "2.8.1"],
  ["x-stainless-os", "Linux"],
  ["x-stainless-arch", "x64"],
  ["x-stainless-runtime", "CPython"],
  ["x-stainless-runtime-version", "3.12.3"],
  ["authorization", "Bearer sk-0123456789"],
  ["x-session-id", "0123456789"],
  ["x-stainless-retry-count", "0"],
  ["content-length", "1024"],
];

/** Of uvicorn, in front of vLLM. */
const ANSWER: readonly Header[] = [
  ["date", "Mon, 30 Nov 2026 10:00:00 GMT"],
  ["server", "uvicorn"],
  ["content-length", "1024"],
  ["content-type", "application/json"],
  ["x-request-id", "0123456789"],
];

function optionsOf(forwarding: Record<string, unknown>): ForwardingOptions {
  const parsed = parseConfig({
    forwarding,
    endpoints: ["http://127.0.0.1:8000"],
  }, { names: LOAD_NAMES });
  if (parsed.kind === "refused") throw new Error("Cannot read the options");
  return parsed.config.forwarding;
}

/** A call as far as forwarding looks at it. */
function callOf(headers: readonly Header[]): Call<"relay"> {
  const call = {
    id: "req-0123456789abcdef",
    request: {
      head: { method: "POST", target: "/v1/chat/completions", headers },
      clientAddress: "10.0.0.7",
      scheme: "http",
    },
    response: { status: 200, headers: ANSWER },
    target: { host: "127.0.0.1:8000", basePath: "" },
    tenancy: undefined,
    way: undefined,
  };
  return call as unknown as Call<"relay">;
}

const plain = new ForwardingRules(optionsOf({}));
const trusting = new ForwardingRules(
  optionsOf({ trusted_proxies: ["10.0.0.0/8", "fd00::/8"] }),
);

Deno.bench("the fields of a request", { group: "request" }, () => {
  const call = callOf(REQUEST);
  plain.requestHeaders(call as unknown as Call<"attempt">, undefined);
});

const PROXIED: readonly Header[] = [
  ...REQUEST,
  ["x-forwarded-for", "192.0.2.1, 10.0.0.9"],
  ["x-forwarded-proto", "https"],
];

Deno.bench("those of one that proxies sent", { group: "request" }, () => {
  const call = callOf(PROXIED);
  trusting.requestHeaders(call as unknown as Call<"attempt">, undefined);
});

const call = callOf(REQUEST);
Deno.bench("the fields of an answer", { group: "answer" }, () => {
  plain.answerHeaders(call, true);
});
