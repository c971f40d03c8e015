/**
 * The dashboard with events as fast as the page reads them: minutes in
 * seconds.
 *
 * Invariant: an event is sent only when the one before it is on the page, so
 * each is shown.
 *
 * @module
 */
import { Dashboard } from "../../src/admin/dashboard/dashboard.ts";
import type { GatewayStatus } from "../../src/admin/status.ts";

/** A listener whose events are pushed by hand. */
export class FastFeed implements AsyncDisposable {
  readonly #dashboard: Dashboard;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #encoder = new TextEncoder();
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor(status: () => GatewayStatus) {
    this.#dashboard = new Dashboard({ status, failed: () => {} });
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      (request) => this.#answer(new URL(request.url).pathname),
    );
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}/`;
  }

  /** Sends one event to the page that listens. */
  push(status: GatewayStatus): void {
    const text = `data: ${JSON.stringify(status)}\n\n`;
    this.#controller?.enqueue(this.#encoder.encode(text));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#controller?.close();
    this.#dashboard.close();
    await this.#server.shutdown();
  }

  #answer(path: string): Response {
    if (path === "/") return this.#dashboard.page();
    if (path === "/events") {
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => {
          this.#controller = controller;
        },
        cancel: () => {
          this.#controller = undefined;
        },
      });
      return new Response(body, {
        headers: { "content-type": "text/event-stream" },
      });
    }
    return this.#dashboard.asset(path) ?? new Response(null, { status: 404 });
  }
}
