/**
 * A collector that takes spans over OTLP/HTTP as JSON, and checks the form of
 * what it is sent.
 *
 * Invariant: when it is disposed, nothing of it is left open, and everything
 * that it was sent was an export of spans.
 *
 * @module
 */

/** A span as it is sent. */
export interface Collected {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { key: string; value: unknown }[];
  readonly events: readonly { name: string; timeUnixNano: string }[];
  readonly status: { readonly code?: number; readonly message?: string };
}

/** Takes spans on a free loopback port. */
export class CollectorStand implements AsyncDisposable {
  readonly url: string;
  readonly spans: Collected[] = [];
  /** All that has come. */
  text = "";
  requestCount = 0;
  #wrong: string | undefined;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor(status = 200) {
    this.#server = Deno.serve({
      hostname: "127.0.0.1",
      port: 0,
      onListen: () => {},
    }, async (request) => {
      this.#take(request, await request.text());
      this.requestCount += 1;
      return Response.json({}, { status });
    });
    this.url = `http://127.0.0.1:${this.#server.addr.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
    if (this.#wrong !== undefined) throw new Error(this.#wrong);
  }

  #take(request: Request, text: string): void {
    this.text += text;
    const type = request.headers.get("content-type");
    const isExport = request.method === "POST" &&
      new URL(request.url).pathname.endsWith("/v1/traces") &&
      type === "application/json";
    if (!isExport) this.#wrong = `Cannot take ${request.method} as ${type}`;
    for (const { resource, scopeSpans } of JSON.parse(text).resourceSpans) {
      const [{ key, value }] = resource.attributes;
      if (key !== "service.name" || value.stringValue !== "tryst") {
        this.#wrong = "Cannot tell whose spans these are";
      }
      for (const { spans } of scopeSpans) this.spans.push(...spans);
    }
  }
}
