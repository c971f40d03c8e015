/**
 * What clients of the chaos set out to do, and how often.
 *
 * Invariant: equal draws give equal requests; what a plan does is in
 * `client.ts` and `tunnel.ts`, by its name.
 *
 * @module
 */
import type { Chance } from "../simulation/chance.ts";
import { targetOf } from "./expected.ts";

/** Plans by name, with how often each is drawn relative to the others. */
const WEIGHTS = {
  post: 8,
  post_body_key: 4,
  get: 4,
  put: 2,
  stream: 6,
  chunked: 2,
  large: 1,
  leave_in_head: 1,
  leave_in_upload: 1,
  leave_waiting: 2,
  leave_streaming: 2,
  leave_at_end: 1,
  tunnel: 2,
} as const;

/** What a client sets out to do. */
export type Plan = keyof typeof WEIGHTS;

/** A request as it is to be sent. */
export interface PlannedRequest {
  readonly plan: Plan;
  readonly id: string;
  readonly method: string;
  readonly target: string;
  /** Ends with the empty line. */
  readonly head: string;
  readonly body: string;
}

/** Sessions that all clients share. */
const SESSIONS = 64;

/** Bytes of a body over what the gateway takes in one read. */
const LARGE_BYTES = { min: 80_000, max: 250_000 };

/** Plans whose answer is a stream of events. */
const STREAMS: ReadonlySet<Plan> = new Set([
  "stream",
  "leave_streaming",
  "leave_at_end",
]);

/** Draws a plan. */
export function drawPlan(chance: Chance): Plan {
  const plans = Object.entries(WEIGHTS) as [Plan, number][];
  const total = plans.reduce((sum, [, weight]) => sum + weight, 0);
  let left = chance.below(total);
  for (const [plan, weight] of plans) {
    if (left < weight) return plan;
    left -= weight;
  }
  throw new Error("Cannot draw a plan: the weights do not add up");
}

/** Draws the request of a plan. */
export function drawRequest(
  plan: Plan,
  id: string,
  chance: Chance,
): PlannedRequest {
  const session = `session-${chance.below(SESSIONS)}`;
  const isStream = STREAMS.has(plan);
  const target = targetOf(isStream ? "/v1/chat/completions" : "/v1/things", {
    events: isStream ? chance.between(3, 24) : 0,
    pauseMs: chance.between(0, 20),
    pad: chance.oneIn(8) ? chance.between(1_000, 40_000) : chance.below(200),
  });
  const method = METHODS[plan] ?? "POST";
  const isLarge = plan === "large" || plan === "chunked" ||
    plan === "leave_in_upload";
  const pad = isLarge
    ? chance.between(LARGE_BYTES.min, LARGE_BYTES.max)
    : chance.below(600);
  const isBodyKey = plan === "post_body_key" || plan === "large";
  const body = method === "GET" ? "" : JSON.stringify({
    model: "sim",
    stream: isStream,
    pad: "y".repeat(pad),
    ...(isBodyKey ? { session_id: session } : {}),
  });
  const framing = plan === "chunked"
    ? ["transfer-encoding: chunked"]
    : method === "GET"
    ? []
    : [`content-length: ${body.length}`];
  const lines = [
    `${method} ${target} HTTP/1.1`,
    "host: gateway",
    `x-request-id: ${id}`,
    ...(isBodyKey ? [] : [`x-session-id: ${session}`]),
    ...(method === "GET" ? [] : ["content-type: application/json"]),
    ...framing,
  ];
  return {
    plan,
    id,
    method,
    target,
    head: `${lines.join("\r\n")}\r\n\r\n`,
    body,
  };
}

/** Methods other than POST. */
const METHODS: Partial<Record<Plan, string>> = {
  get: "GET",
  put: "PUT",
  tunnel: "GET",
};
