/**
 * A gateway within this process, in front of simulated engines, with an admin
 * listener that is put together as that of the program is.
 *
 * Invariant: when the body has run, however it ended, nothing is left open.
 *
 * @module
 */
import type { ReloadOutcome } from "../../src/admin/reload_outcome.ts";
import { startAdmin } from "../../src/cli/admin_side.ts";
import type { LogLevel } from "../../src/core/outside.ts";
import { SnapshotFile } from "../../src/stores/snapshot_file.ts";
import { systemClock } from "../../src/system/clock.ts";
import { createDial } from "../../src/system/dial.ts";
import { DrainKeeper } from "../../src/wiring/drain_keeper.ts";
import { SessionKeeper } from "../../src/wiring/session_keeper.ts";
import { call } from "../gateway/raw_client.ts";
import type { Reply } from "../gateway/reply.ts";
import { post } from "../gateway/requests.ts";
import { withWorld, type World, type WorldOptions } from "../gateway/world.ts";

/** Milliseconds for an answer: the admin side does nothing slow. */
const ANSWER_MS_MAX = 10_000;

/** What comes of reloading. */
const UNCHANGED: ReloadOutcome = {
  kind: "unchanged",
  changes: [],
  needsRestart: [],
  complaints: [],
};

/** What was answered. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** JSON, or text where it is none. */
  readonly body: unknown;
}

/** A gateway and its admin side. */
export interface AdminWorld extends World {
  readonly adminUrl: string;
  /** Log events of failures of the admin side itself. */
  readonly adminFailures: readonly string[];
  readonly levels: readonly LogLevel[];
  /** Asks the admin side; a body is sent as JSON. */
  ask(method: string, path: string, body?: unknown): Promise<Answer>;
  /** Sends a turn of a session through the gateway. */
  turn(session: string, model?: string): Promise<Reply>;
}

/** Runs `body` with it. */
export function withAdminWorld(
  options: WorldOptions,
  body: (world: AdminWorld) => Promise<void>,
): Promise<void> {
  return withWorld(options, async (world) => {
    const { control } = world.gateway;
    const adminFailures: string[] = [];
    const levels: LogLevel[] = [];
    const directory = await Deno.makeTempDir();
    const outside = {
      clock: systemClock,
      random: Math.random,
      dial: createDial(),
      log: (_level: LogLevel, event: string, fields = {}) => {
        if (!event.startsWith("admin.")) return;
        adminFailures.push(`${event} ${JSON.stringify(fields)}`);
      },
    };
    const keeper = new SessionKeeper({
      control,
      file: new SnapshotFile(directory),
      outside,
      idleTtlMs: 60_000,
      intervalMs: 3_600_000,
    });
    const admin = startAdmin({
      config: {
        admin: {
          listen: { hostname: "127.0.0.1", port: 0 },
          tokenFile: undefined,
          metricsOpen: "auto",
        },
      },
      control,
      drains: new DrainKeeper({ control, file: undefined, log: outside.log }),
      keeper,
      outside,
      live: { look: () => [] },
      failures: { list: () => [] },
      reloading: { reloader: { report: { complaint: undefined } } },
      supervisor: { servingCount: 1 },
      workerCount: 1,
      isStopping: false,
    }, {
      token: undefined,
      setLogLevel: (level) => levels.push(level),
      reload: () => Promise.resolve(UNCHANGED),
    });
    const adminUrl = `http://127.0.0.1:${admin.port}`;
    try {
      await body({
        ...world,
        adminUrl,
        adminFailures,
        levels,
        ask: (method, path, json) => ask(`${adminUrl}${path}`, method, json),
        turn: (session, model = "sim") => turn(world.port, session, model),
      });
    } finally {
      await admin.stop();
      await keeper.stop();
      await Deno.remove(directory, { recursive: true });
    }
  });
}

async function ask(
  url: string,
  method: string,
  body: unknown,
): Promise<Answer> {
  const response = await fetch(url, {
    method,
    ...(body === undefined ? {} : {
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
  });
  const { headers, status } = response;
  const text = await response.text();
  const isJson = /json/.test(headers.get("content-type") ?? "");
  return { status, headers, body: isJson ? JSON.parse(text) : text };
}

function turn(port: number, session: string, model: string): Promise<Reply> {
  const body = JSON.stringify({ model, "max_tokens": 2 });
  const headers = [`x-session-id: ${session}`, "Connection: close"];
  return call(port, post("/v1/chat/completions", body, headers));
}
