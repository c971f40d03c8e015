/**
 * What answers requests from one change of the configuration to the next.
 *
 * Invariant: it is whole: a request meets the rules of one configuration.
 *
 * @module
 */
import type { Answer, ClientRequest } from "../gateway/client_request.ts";
import { Cors, type CorsRules } from "../gateway/cors.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { UpstreamClient } from "../upstream/client.ts";

/** A gateway of one configuration, with the client that it sends through. */
export class Era {
  readonly gateway: Gateway;
  readonly upstream: UpstreamClient;
  /** `undefined` where CORS is left to the engines. */
  readonly #cors: Cors | undefined;

  constructor(gateway: Gateway, upstream: UpstreamClient, cors: CorsRules) {
    this.gateway = gateway;
    this.upstream = upstream;
    this.#cors = cors.origins.length === 0 ? undefined : new Cors(cors);
  }

  /** Answers a request; never rejects. */
  handle(request: ClientRequest): Promise<Answer> {
    const { gateway } = this;
    return this.#cors === undefined
      ? gateway.handle(request)
      : this.#cors.handle(request, (request) => gateway.handle(request));
  }
}
