/**
 * A gateway that is nothing but its status, behind the real admin listener.
 *
 * Invariant: its totals only rise, as those of a real one do, and a change that
 * is asked of it shows in its status.
 *
 * @module
 */
import { AdminListener } from "../../src/admin/admin_listener.ts";
import type {
  EndpointView,
  FailureView,
  GatewayStatus,
  LiveRequest,
} from "../../src/admin/status.ts";
import type { EndpointState } from "../../src/core/endpoint.ts";

/** Ends that are named by hand, in the order of the endpoints. */
const IDS: readonly string[] = [
  "gpu-1",
  "gpu-2",
  "http://10.12.0.31:8000",
  "gpu-4-long-context",
];

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** What can be changed about it from outside. */
export class MadeUpGateway implements AsyncDisposable {
  readonly states = new Map<string, EndpointState>(
    IDS.map((id) => [id, "ready"]),
  );
  readonly changes: string[] = [];
  ids: readonly string[] = IDS;
  failures: FailureView[] = [];
  live: LiveRequest[] = [];
  waiting = 0;
  errorCount = 0;
  version = "0.1.0";
  startedAtMs = Date.now() - 3 * DAY_MS - 4 * HOUR_MS;
  /** Milliseconds between two steps; without it they are as long as real. */
  stepMs: number | undefined;
  /** Steps of made-up traffic. */
  step = 0;
  #admin: AdminListener;

  constructor(port = 0) {
    this.#admin = this.#listen(port);
  }

  get port(): number {
    return this.#admin.port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/`;
  }

  /** Stops and comes back on the same port, with nothing counted. */
  async restart(whileDown: () => Promise<void>): Promise<void> {
    const { port } = this;
    await this.#admin.stop();
    await whileDown();
    this.startedAtMs = Date.now();
    this.step = 0;
    this.#admin = this.#listen(port);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#admin.stop();
  }

  /** The status now, after one more step of traffic. */
  status(): GatewayStatus {
    this.step++;
    const nowMs = this.stepMs === undefined
      ? Date.now()
      : this.startedAtMs + this.step * this.stepMs;
    const endpoints = this.ids.map((id, index) => this.#view(id, index, nowMs));
    const received = this.step * 42 + Math.round(30 * Math.sin(this.step / 9));
    return {
      version: this.version,
      nowMs,
      startedAtMs: this.startedAtMs,
      isReady: endpoints.some(({ state }) => state === "ready"),
      workers: { serving: 4, total: 4, deaths: 0 },
      endpoints,
      queue: {
        waiting: this.waiting,
        longestWaitMs: this.waiting === 0 ? 0 : 7_230,
        levels: this.waiting === 0 ? [] : [
          { level: -1, count: 1 },
          { level: 0, count: Math.ceil(this.waiting * 0.6) },
          { level: 2, count: Math.floor(this.waiting * 0.3) },
        ],
      },
      sessions: { live: 18_422, capacity: 262_144, evictions: 0 },
      traffic: {
        received,
        outcomes: {
          "2xx": received - this.errorCount,
          "upstream_reset": this.errorCount,
          "client_gone": this.step,
        },
        affinity: {
          none: this.step * 2,
          new: this.step * 3,
          hit: this.step * 35,
          moved: Math.floor(this.step / 4),
          spilled: Math.floor(this.step / 3),
        },
        attempts: received,
        responseBytes: received * 9_000,
        firstByteMsSum: received * 310,
        firstByteCount: received,
      },
      memoryBytes: 193_000_000 + this.step * 1_000,
      live: this.live,
      failures: this.failures,
    };
  }

  #view(id: string, index: number, nowMs: number): EndpointView {
    const state = this.states.get(id) ?? "ready";
    const wave = Math.sin(this.step / (5 + index)) + 1;
    const isIn = state === "ready";
    const limit = [16, 32, null, 8][index % 4] ?? null;
    return {
      id,
      state,
      sinceMs: nowMs - (index + 1) * 754_000,
      weight: 1,
      inFlight: isIn ? Math.round(wave * (limit ?? 20) / 2) : 0,
      limit,
      limitSource: limit === null
        ? "none"
        : index % 2 === 0
        ? "configured"
        : "learned",
      sessions: [6_120, 9_010, 3_204, 88][index % 4] ?? 0,
      consecutiveFailures: state === "ejected" ? 5 : 0,
      lastAnswerAgeMs: 130,
      models: 2,
      attempts: this.step * 10,
      failures: state === "ejected" ? 17 : 0,
      hits: this.step * 9 - Math.round(4 * wave),
      firstByteMsSum: this.step * 3_000 + Math.round(wave * 4_000),
      firstByteCount: this.step * 10,
      gauges: index === 2 ? null : {
        running: Math.round(wave * 8),
        waiting: index,
        cacheUsage: 0.42 + index / 10,
        ageMs: 400,
      },
    };
  }

  /** The endpoints as the admin API lists them. */
  #reports() {
    const nowMs = Date.now();
    return this.ids.map((id, index) => {
      const { limit, lastAnswerAgeMs, models, ...view } = this.#view(
        id,
        index,
        nowMs,
      );
      return {
        ...view,
        limit: limit ?? undefined,
        lastAnswerAgeMs: lastAnswerAgeMs ?? undefined,
        models: models ?? undefined,
      };
    });
  }

  #listen(port: number): AdminListener {
    const change =
      (name: "drain" | "restore", state: EndpointState) => (id: string) => {
        this.changes.push(`${name} ${id}`);
        if (!this.ids.includes(id)) return false;
        this.states.set(id, state);
        return true;
      };
    return new AdminListener({
      hostname: "127.0.0.1",
      port,
      log: () => {},
      readiness: () => ({
        isStopping: false,
        eligible: 1,
        total: 1,
        serving: 1,
        workers: 1,
      }),
      metrics: () => Promise.resolve(""),
      status: () => this.status(),
      endpoints: {
        list: () => this.#reports(),
        drain: change("drain", "draining"),
        restore: change("restore", "ready"),
        setWeight: () => false,
        setLimit: () => false,
      },
    });
  }
}

/** Requests in all phases, oldest first. */
export function someRequests(count: number): LiveRequest[] {
  const phases = ["relay", "relay", "attempt", "admit", "sniff"];
  return Array.from({ length: count }, (_, index) => ({
    id: `0192f3${(index * 7_919 + 4_096).toString(16).padStart(6, "0")}`,
    phase: phases[index % phases.length] ?? "relay",
    ageMs: 64_000 / (index + 1),
    method: "POST",
    path: index % 3 === 0 ? "/v1/messages" : "/v1/chat/completions",
    endpoint: index % 5 === 3 ? null : IDS[index % IDS.length] ?? null,
    session: index % 6 === 5
      ? null
      : (index * 2_654_435_761 >>> 0).toString(16).padStart(8, "0"),
    worker: index % 4,
  }));
}

/** Failures of several kinds, latest first. */
export function someFailures(): FailureView[] {
  const nowMs = Date.now();
  return [
    {
      atMs: nowMs - 4_000,
      id: "0192f3a1c0de",
      code: "upstream_reset",
      endpoint: "gpu-2",
      cause: "connection reset by peer after 18,204 bytes",
    },
    {
      atMs: nowMs - 41_000,
      id: "0192f3a1c0aa",
      code: "upstream_unreachable",
      endpoint: "gpu-2",
      cause: "connection refused (os error 111)",
    },
    {
      atMs: nowMs - 400_000,
      id: "0192f3a1bb07",
      code: "client_gone",
      endpoint: "gpu-1",
      cause: null,
    },
    {
      atMs: nowMs - 5_400_000,
      id: "0192f3a1a001",
      code: "queue_timeout",
      endpoint: null,
      cause: null,
    },
  ];
}
