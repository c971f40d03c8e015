/**
 * The configuration of one gateway, complete and checked.
 *
 * It is plain data that a structured clone can carry, as worker threads get it
 * by message: session-key sources and policies stand in it by their names.
 *
 * Invariant: a `Config` is frozen and every value in it is usable; whoever
 * holds one checks nothing again.
 *
 * @module
 */
import type { EndpointSpec } from "../core/endpoint.ts";
import type { HealthSettings } from "../core/endpoints/health_settings.ts";
import type { AdminSettings } from "./admin.ts";
import type { AuthSettings } from "./auth.ts";
import type { CorsSettings } from "./cors.ts";
import type { EngineMetricsSettings } from "./engine_metrics.ts";
import type { ForwardingSettings } from "./forwarding.ts";
import type { LogSettings } from "./log.ts";
import type { QueueSettings } from "./queue.ts";
import type { StateSettings } from "./state.ts";
import type { TenantsSettings } from "./tenants.ts";
import type { TlsSettings } from "./tls.ts";
import type { TracingSettings } from "./tracing.ts";

/** An address to listen on. */
export interface ListenAddress {
  /** A name or an IP address, IPv6 without brackets. */
  readonly hostname: string;
  /** 0 lets the operating system choose. */
  readonly port: number;
}

/** The configuration; the field table in `fields.ts` documents each value. */
export interface Config {
  readonly listen: ListenAddress;
  /** Worker threads; `auto` is one for each core. */
  readonly workers: number | "auto";
  readonly tls: TlsSettings;
  readonly cors: CorsSettings;
  readonly forwarding: ForwardingSettings;
  readonly admin: AdminSettings;
  readonly auth: AuthSettings;
  /** What tenants may; means something only where clients have keys. */
  readonly tenants: TenantsSettings;
  /** At most `ENDPOINTS_MAX`, with distinct ids; may be empty. */
  readonly endpoints: readonly EndpointSpec[];
  readonly session: {
    /** Session-key sources in order of preference, as text. */
    readonly keys: readonly string[];
    readonly sniffWindowBytes: number;
    /** Records of the session table; a multiple of 8. */
    readonly capacity: number;
    readonly idleTtlMs: number;
    /** Name of the routing policy for requests without a session key. */
    readonly fallback: string;
  };
  readonly routing: {
    /** Name of the routing policy for requests with a session key. */
    readonly policy: string;
    /** Load an endpoint may have relative to the mean; at least 1. */
    readonly imbalance: number;
    /** How long a call waits for its session's own endpoint; 0 and up. */
    readonly affinityPatienceMs: number;
  };
  readonly queue: QueueSettings;
  readonly limits: {
    readonly bodyBytes: number;
    /** Requests at once, over all workers. */
    readonly requests: number;
    /** Bytes of bodies held for sniffing, over all workers. */
    readonly sniffMemoryBytes: number;
  };
  readonly attempts: {
    /** Most attempts of one request; 1 for no failover. */
    readonly max: number;
    /** Further attempts earned by each request; 0 to 1. */
    readonly budget: number;
  };
  readonly stop: {
    /** How long readiness fails before the gateway stops accepting; 0 and up. */
    readonly readyGraceMs: number;
    /** How long running requests get after that. */
    readonly deadlineMs: number;
  };
  /** What holds for endpoints that say nothing else. */
  readonly health: HealthSettings;
  readonly state: StateSettings;
  readonly timeouts: {
    readonly connectMs: number;
    /** `undefined` waits for as long as the client does. */
    readonly firstByteMs: number | undefined;
    /** `undefined` waits for as long as the client does. */
    readonly idleMs: number | undefined;
    /** Longest wait for the client's body; `undefined` for no limit. */
    readonly bodyMs: number | undefined;
    /** Longest wait for a place on an endpoint; `undefined` for no limit. */
    readonly queueMs: number | undefined;
  };
  /** How engines are asked for their load. */
  readonly engineMetrics: EngineMetricsSettings;
  readonly log: LogSettings;
  readonly tracing: TracingSettings;
}

/** What the configuration must know of rooms that it does not import. */
export interface ConfigNames {
  /** @throws {TypeError} when `text` names no session-key source. */
  readonly parseSource: (text: string) => unknown;
  /** The session-key sources that `default` stands for. */
  readonly defaultSources: readonly string[];
  /** Names of all routing policies. */
  readonly policyNames: readonly string[];
  /** Names of all scheduling policies. */
  readonly schedulingNames: readonly string[];
}
