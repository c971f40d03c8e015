/**
 * An engine whose streams wait at a gate: one event goes out at once, the rest
 * when the test opens the gate. What asks for no stream is answered at once.
 *
 * Invariant: when it is disposed, nothing of it is left open.
 *
 * @module
 */

/** What the gate lets through first, and at last. */
export const GATED_EVENTS = {
  first: 'data: {"n":1}\n\n',
  last: 'data: {"n":2}\n\ndata: [DONE]\n\n',
} as const;

const encoder = new TextEncoder();

/** A server on loopback. */
export class GatedEngine implements AsyncDisposable {
  readonly url: string;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #gate = Promise.withResolvers<void>();
  readonly #end = new AbortController();

  constructor() {
    this.#server = Deno.serve({
      hostname: "127.0.0.1",
      port: 0,
      signal: this.#end.signal,
      onListen: () => {},
    }, async (request) => {
      if (request.method === "GET") {
        return Response.json({ data: [{ id: "sim" }] });
      }
      // An engine computes nothing before it has the whole prompt; a gateway
      // that leaves before needs no answer.
      const text = await request.text().catch(() => "");
      return text.includes('"stream":true')
        ? this.#stream()
        : Response.json({ choices: [] });
    });
    this.url = `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /** Lets every answer go on to its end. */
  open(): void {
    this.#gate.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.open();
    this.#end.abort();
    await this.#server.finished;
  }

  #stream(): Response {
    const { first, last } = GATED_EVENTS;
    const gate = this.#gate.promise;
    const body = new ReadableStream({
      async start(controller) {
        controller.enqueue(encoder.encode(first));
        await gate;
        try {
          controller.enqueue(encoder.encode(last));
          controller.close();
        } catch {
          // The gateway has left before the gate was opened.
        }
      },
    });
    return new Response(body, {
      headers: {
        "content-type": "text/event-stream",
        "cache-control": "no-transform",
      },
    });
  }
}
