/**
 * Bugs that are planted on purpose, one at a time, and must be found.
 *
 * A canary is a change to a real part while worlds happen. If the checkers do
 * not find it, they would not find the like of it either.
 *
 * Invariant: what was planted is taken out again when the canary is disposed.
 *
 * @module
 */
import { stub } from "@std/testing/mock";
import { EndpointTable } from "../../src/core/endpoints/endpoint_table.ts";
import { type Placed, Placement } from "../../src/core/placement/placement.ts";
import { SessionTable } from "../../src/core/sessions/session_table.ts";
import { RelayedBody } from "../../src/gateway/relay.ts";
import {
  UpstreamClient,
  type UpstreamExchange,
  type UpstreamRequest,
} from "../../src/upstream/client.ts";
import { SilenceWatch } from "../../src/upstream/silence_watch.ts";

/** One planted bug. */
export interface Canary {
  /** The checker that must find it. */
  readonly foundBy: string;
  plant(): Disposable;
}

/** One call in so many does the wrong thing. */
const WRONG_ONE_IN = 7;

/** All canaries by name. */
export const CANARIES: Readonly<Record<string, Canary>> = {
  "forgets_settle": {
    foundBy: "settleOnce",
    plant() {
      const { settle } = Placement.prototype;
      let calls = 0;
      return stub(
        Placement.prototype,
        "settle",
        function (this: Placement, placed: Placed, nowMs: number): boolean {
          if (++calls % WRONG_ONE_IN === 0) return true;
          return settle.call(this, placed, nowMs);
        },
      );
    },
  },
  "settles_twice": {
    foundBy: "settleOnce",
    plant() {
      const { settle } = Placement.prototype;
      return stub(
        Placement.prototype,
        "settle",
        function (this: Placement, placed: Placed, nowMs: number): boolean {
          settle.call(this, placed, nowMs);
          return settle.call(this, placed, nowMs);
        },
      );
    },
  },
  "resends_posts": {
    foundBy: "noDoubleWork",
    plant() {
      const { start } = UpstreamClient.prototype;
      return stub(
        UpstreamClient.prototype,
        "start",
        function (this: UpstreamClient, request: UpstreamRequest) {
          const exchange = start.call(this, request);
          return again(exchange, () => start.call(this, request));
        },
      );
    },
  },
  "forgets_sessions": {
    foundBy: "affinityCause",
    plant() {
      const { binding } = SessionTable.prototype;
      let calls = 0;
      return stub(
        SessionTable.prototype,
        "binding",
        function (this: SessionTable, record: number): number {
          if (++calls % WRONG_ONE_IN === 0) return 0;
          return binding.call(this, record);
        },
      );
    },
  },
  "uses_ejected": {
    foundBy: "affinityCause",
    plant() {
      return stub(EndpointTable.prototype, "isEligible", () => true);
    },
  },
  "ignores_limits": {
    foundBy: "bounds",
    plant() {
      const { tryReserve } = EndpointTable.prototype;
      return stub(
        EndpointTable.prototype,
        "tryReserve",
        function (this: EndpointTable, slot: number): boolean {
          const limit = this.limit(slot);
          this.setLimit(slot, 0);
          const isReserved = tryReserve.call(this, slot);
          this.setLimit(slot, limit);
          return isReserved;
        },
      );
    },
  },
  "reads_ahead": {
    foundBy: "bounds",
    plant() {
      const { read } = RelayedBody.prototype;
      const ahead = new WeakMap<RelayedBody, Promise<Uint8Array[]>>();
      return stub(
        RelayedBody.prototype,
        "read",
        async function (this: RelayedBody): Promise<Uint8Array | undefined> {
          const known = ahead.get(this) ?? readAll(() => read.call(this));
          ahead.set(this, known);
          return (await known).shift();
        },
      );
    },
  },
  "looks_complete": {
    foundBy: "bytesPrefix",
    plant() {
      const { read } = RelayedBody.prototype;
      return stub(
        RelayedBody.prototype,
        "read",
        async function (this: RelayedBody): Promise<Uint8Array | undefined> {
          return await read.call(this).catch(() => undefined);
        },
      );
    },
  },
  "waits_for_ever": {
    foundBy: "liveness",
    plant() {
      return stub(SilenceWatch.prototype, "check", () => undefined);
    },
  },
};

/** An exchange that is sent a second time when it fails. */
function again(
  exchange: UpstreamExchange,
  start: () => UpstreamExchange,
): UpstreamExchange {
  let current = exchange;
  let isAborted = false;
  return {
    response: exchange.response.catch((error) => {
      if (isAborted) throw error;
      current = start();
      return current.response;
    }),
    abort: () => {
      isAborted = true;
      current.abort();
    },
    get bytesSent() {
      return current.bytesSent;
    },
  };
}

async function readAll(
  read: () => Promise<Uint8Array | undefined>,
): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  for (;;) {
    const chunk = await read();
    if (chunk === undefined) return chunks;
    chunks.push(chunk);
  }
}
