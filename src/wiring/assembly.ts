/**
 * One gateway, put together from its parts: the same for a worker thread and
 * for a gateway within the process.
 *
 * A change of the configuration makes a new `Gateway` for the requests that
 * come from then on. Those under way keep the one they came to, and with it
 * their plan of keys, limits and timeouts; they never see half of a change.
 * What belongs to the thread stays, and serves both: places and sessions held,
 * the queue, the routes.
 *
 * Invariant: nothing here is shared between two assemblies but the buffers
 * they are given. Gateways of the past are kept while they have requests under
 * way, so there are never more of them than of those.
 *
 * @module
 */
import type { Config } from "../config/config.ts";
import { EndpointChoice } from "../core/placement/endpoint_choice.ts";
import { Ledger } from "../core/placement/ledger.ts";
import { PassiveHealth } from "../core/endpoints/passive_health.ts";
import { Placement } from "../core/placement/placement.ts";
import type { QueueBoard } from "../core/queue/queue_board.ts";
import { WaitQueue } from "../core/queue/wait_queue.ts";
import { Admission } from "../gateway/admission.ts";
import { CapacityEvidence } from "../gateway/capacity_evidence.ts";
import type { Answer, ClientRequest } from "../gateway/client_request.ts";
import { FailurePace } from "../gateway/failure_pace.ts";
import { ForwardingRules } from "../gateway/forwarding.ts";
import { Gateway } from "../gateway/gateway.ts";
import type { Inflate } from "../gateway/inflate.ts";
import type { LiveCall } from "../gateway/live_calls.ts";
import { Routes, type RoutesData } from "../gateway/routes.ts";
import { Traffic } from "../gateway/traffic.ts";
import type { UpstreamClient } from "../upstream/client.ts";
import { authenticationOf, type Secrets } from "./secrets.ts";
import { keyPlanOf } from "./configured_keys.ts";
import { haveSameTimeouts, upstreamOf } from "./configured_upstream.ts";
import { Era } from "./era.ts";
import { type AccountParts, accountsOf } from "./request_accounts.ts";
import {
  attachSharedState,
  budgetOf,
  type SharedBuffers,
  type SharedState,
} from "./shared_state.ts";
import { ThreadSettings } from "./thread_settings.ts";

/**
 * Milliseconds from the start for which a restored session stays bound to an
 * endpoint that has not passed its first probe. An engine in a long step of a
 * full batch answers no probe either; one that is silent for longer is lost.
 */
const UNSEEN_MS = 10_000;

/** What tells one gateway from another. */
export interface AssemblyParts extends AccountParts {
  readonly config: Config;
  readonly buffers: SharedBuffers;
  /** Which ledger and which row of counters are its own. */
  readonly index: number;
  readonly routes: RoutesData;
  readonly inflate: Inflate;
  /** None if absent: clients need no API key. */
  readonly secrets?: Secrets | undefined;
}

/** A gateway and what its owner needs of it. */
export class Assembly {
  readonly admission: Admission;
  /** What rings when another thread hands places over. */
  readonly bell: ReturnType<QueueBoard["bell"]>;
  readonly placement: Placement;
  readonly routes: Routes;
  readonly #parts: AssemblyParts;
  readonly #state: SharedState;
  readonly #settings: ThreadSettings;
  readonly #pace: FailurePace;
  #config: Config;
  #secrets: Secrets | undefined;
  #era: Era;
  #former: Era[] = [];

  constructor(parts: AssemblyParts) {
    const { buffers, config, index, outside } = parts;
    this.#parts = parts;
    this.#config = config;
    this.#secrets = parts.secrets;
    this.#state = attachSharedState(buffers);
    this.#settings = new ThreadSettings(config, outside.random);
    this.#pace = new FailurePace(outside);
    this.routes = new Routes(this.#state.endpoints, parts.routes);
    this.bell = this.#state.board.bell(index);
    const queue = this.#newQueue();
    this.placement = this.#newPlacement(queue);
    this.admission = this.#newAdmission(queue);
    this.#era = this.#newEra(upstreamOf(config, outside));
  }

  /** The gateway that takes the requests from now on. */
  get gateway(): Gateway {
    return this.#era.gateway;
  }

  /** The client of that gateway. */
  get upstream(): UpstreamClient {
    return this.#era.upstream;
  }

  /** Answers a request; never rejects. */
  handle(request: ClientRequest): Promise<Answer> {
    return this.#era.handle(request);
  }

  /** The oldest requests under way, the oldest first, at most `count`. */
  live(count: number): LiveCall[] {
    return this.#eras()
      .flatMap(({ gateway }) => gateway.live(count))
      .sort((one, other) => other.ageMs - one.ageMs)
      .slice(0, count);
  }

  /** Takes a new list of endpoints and models, for waiting calls too. */
  reroute(routes: RoutesData): void {
    this.routes.replace(routes);
    this.admission.reroute();
  }

  /**
   * Takes a new configuration, with the routes that belong to it.
   *
   * @param secrets Those of before, unless given.
   */
  reload(
    config: Config,
    routes: RoutesData,
    secrets: Secrets | undefined = this.#secrets,
  ): void {
    this.#change(config, secrets);
    this.reroute(routes);
  }

  /** Takes other API keys and credentials; requests under way keep theirs. */
  replaceKeys(secrets: Secrets): void {
    this.#change(this.#config, secrets);
  }

  /** Closes the tunnels with 1001, which no listener waits for. */
  stopTunnels(): void {
    for (const { gateway } of this.#eras()) gateway.stopTunnels();
  }

  /** Ends what is left, and closes all connections. */
  close(): void {
    for (const { gateway, upstream } of this.#eras()) {
      gateway.close();
      upstream.close();
    }
    this.#pace.close();
  }

  #change(config: Config, secrets: Secrets | undefined): void {
    const eras = this.#eras();
    const keepsClient = haveSameTimeouts(config, this.#config);
    const upstream = keepsClient
      ? this.upstream
      : upstreamOf(config, this.#parts.outside);
    this.#config = config;
    this.#secrets = secrets;
    this.#settings.change(config);
    this.#era = this.#newEra(upstream);
    this.#former = eras.filter((era) => this.#isNeeded(era));
    const needed = this.#eras().map((era) => era.upstream);
    for (const { upstream } of eras) {
      if (!needed.includes(upstream)) upstream.close();
    }
  }

  #eras(): Era[] {
    return [...this.#former, this.#era];
  }

  /** Whether a former era still has something under way. */
  #isNeeded({ gateway, upstream }: Era): boolean {
    return gateway.live(1).length > 0 ||
      upstream !== this.upstream && upstream.inFlightCount > 0;
  }

  #newQueue(): WaitQueue {
    const settings = this.#settings;
    return new WaitQueue({
      board: this.#state.board,
      endpoints: this.#state.endpoints,
      worker: this.#parts.index,
      get callsMax() {
        return settings.callsMax;
      },
    });
  }

  #newPlacement(queue: WaitQueue): Placement {
    const { buffers, index, outside } = this.#parts;
    const { endpoints, sessions } = this.#state;
    const settings = this.#settings;
    return new Placement({
      sessions,
      choice: new EndpointChoice({
        sessions,
        endpoints,
        get policy() {
          return settings.policy;
        },
        get fallback() {
          return settings.fallback;
        },
        get imbalance() {
          return settings.imbalance;
        },
        unseenUntilMs: outside.clock.nowMs() + UNSEEN_MS,
      }),
      ledger: new Ledger(buffers.ledgers[index]),
      places: queue,
    });
  }

  #newAdmission(queue: WaitQueue): Admission {
    const settings = this.#settings;
    return new Admission({
      outside: this.#parts.outside,
      placement: this.placement,
      queue,
      sessions: this.#state.sessions,
      get scheduling() {
        return settings.scheduling;
      },
      get settings() {
        return settings.queue;
      },
    });
  }

  #newEra(upstream: UpstreamClient): Era {
    return new Era(this.#newGateway(upstream), upstream, this.#config.cors);
  }

  #newGateway(upstream: UpstreamClient): Gateway {
    const { buffers, index, inflate, outside } = this.#parts;
    const { capacity, counters, endpoints, endpointTraffic } = this.#state;
    const config = this.#config;
    const plan = keyPlanOf(config);
    const forwarding = new ForwardingRules(config.forwarding);
    return new Gateway({
      outside,
      plan,
      placement: this.placement,
      admission: this.admission,
      routes: this.routes,
      forwarding,
      upstream,
      inflate,
      limits: {
        windowBytes: config.session.sniffWindowBytes,
        bodyBytesMax: config.limits.bodyBytes,
        progressMs: config.timeouts.bodyMs ?? Infinity,
      },
      budget: budgetOf(config, buffers, index),
      evidence: new CapacityEvidence(capacity),
      ...accountsOf(this.#parts, {
        config,
        forwarding,
        pace: this.#pace,
        plan,
      }),
      keepaliveMs: config.queue.keepaliveMs,
      health: new PassiveHealth(endpoints),
      retries: this.#settings.retries,
      attemptsMax: config.attempts.max,
      credentials: this.#secrets?.credentials,
      authentication: authenticationOf(this.#secrets, config, {
        buffers,
        index,
      }),
      traffic: new Traffic(counters.layout, {
        row: counters.row(index),
        endpoints: endpointTraffic.tally(index),
        sourceNames: plan.sourceNames,
      }),
    });
  }
}

/** Puts a gateway together. */
export function assembleGateway(parts: AssemblyParts): Assembly {
  return new Assembly(parts);
}
