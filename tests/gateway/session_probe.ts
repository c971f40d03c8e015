/**
 * Tells from outside which session a request was taken for.
 *
 * A session is bound first by a header that holds its key. A request that then
 * hits that binding has the same key, byte for byte, wherever it was found.
 *
 * Invariant: only what clients can see is used.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { call } from "./raw_client.ts";
import type { Reply } from "./reply.ts";
import { post } from "./requests.ts";

/** What the gateway says of one request. */
export interface Placed {
  readonly status: number;
  readonly endpoint: string | undefined;
  readonly affinity: string | undefined;
  readonly source: string | undefined;
}

/** The part of an answer that says where the request went, and why. */
export function placed({ status, headers }: Reply): Placed {
  return {
    status,
    endpoint: headers.get("x-tryst-endpoint"),
    affinity: headers.get("x-tryst-affinity"),
    source: headers.get("x-tryst-key-source"),
  };
}

/** Asserts that `request` is of the session `key`, found by `source`. */
export async function assertSession(
  port: number,
  expected: { readonly key: string; readonly source: string },
  request: string | Uint8Array,
): Promise<void> {
  const { key, source } = expected;
  const bound = placed(
    await call(port, post("/echo", "{}", [`x-session-id: ${key}`])),
  );
  assertEquals(
    placed(await call(port, request)),
    { status: 200, endpoint: bound.endpoint, affinity: "hit", source },
    `not of the session "${key.slice(0, 80)}"`,
  );
}

/** Asserts that `request` is served, and has no session. */
export async function assertNoSession(
  port: number,
  request: string | Uint8Array,
): Promise<void> {
  const { status, affinity, source } = placed(await call(port, request));
  assertEquals(
    { status, affinity, source },
    { status: 200, affinity: "none", source: "none" },
    String(request).slice(-200),
  );
}
