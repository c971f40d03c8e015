/**
 * Everything of one gateway that clients connect to: its listener, with TLS
 * where that is configured, and the listener that sends plain HTTP on to it.
 *
 * Invariant: when it has been stopped, nothing of it is left open.
 *
 * @module
 */
import type { Config } from "../config/config.ts";
import type { Clock, Log } from "../core/outside.ts";
import { Listener, type ListenerOptions } from "../server/listener.ts";
import { RedirectListener } from "../server/redirect_listener.ts";
import { CertificateWatch, readCertificate } from "./certificates.ts";
import { listeningAt } from "./listening_at.ts";

/** What a front is made of. */
export interface FrontParts
  extends Pick<ListenerOptions, "handle" | "port" | "reusePort"> {
  readonly config: Pick<Config, "listen" | "tls">;
  readonly clock: Clock;
  readonly log: Log;
}

/** Listens until it is stopped. */
export class Front {
  readonly #listener: Listener;
  readonly #redirect: RedirectListener | undefined;
  readonly #certificates: CertificateWatch | undefined;

  /** @throws {Error} when it cannot listen, or has no usable certificate. */
  constructor({ clock, config, log, ...options }: FrontParts) {
    const { listen: { hostname }, tls } = config;
    const certified = readCertificate(tls);
    const listener = listeningAt(
      "listen",
      { hostname, port: options.port },
      () => new Listener({ ...options, hostname, certified }),
    );
    this.#listener = listener;
    if (certified === undefined) return;
    try {
      const { redirectListen } = tls;
      this.#redirect = redirectListen && listeningAt(
        "tls.redirect_listen",
        redirectListen,
        () =>
          new RedirectListener({
            ...redirectListen,
            reusePort: options.reusePort,
            httpsPort: listener.port,
          }),
      );
    } catch (error) {
      listener.stop(0);
      throw error;
    }
    const exchange = listener.exchange.bind(listener);
    this.#certificates = new CertificateWatch(
      { clock, exchange, log, tls },
      certified,
    );
  }

  get hostname(): string {
    return this.#listener.hostname;
  }

  get port(): number {
    return this.#listener.port;
  }

  /** Where plain HTTP is sent on; `undefined` for nowhere. */
  get redirectPort(): number | undefined {
    return this.#redirect?.port;
  }

  /** Like `Listener.leave`. */
  leave(): void {
    this.#listener.leave();
  }

  /** Like `Listener.stop`. */
  async stop(deadlineMs: number): Promise<number> {
    this.#certificates?.close();
    await this.#redirect?.stop();
    return await this.#listener.stop(deadlineMs);
  }
}
