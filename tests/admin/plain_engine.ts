/**
 * An engine that answers everything at once, but for the paths it is told to
 * hold, and that knows which sessions have met it.
 *
 * Invariant: when it is disposed, nothing of it is left open.
 *
 * @module
 */

/** A server on loopback. */
export class PlainEngine implements AsyncDisposable {
  readonly url: string;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #end = new AbortController();
  readonly #held = new Map<string, PromiseWithResolvers<void>>();

  constructor(models: readonly string[]) {
    const list = { data: models.map((id) => ({ id })) };
    this.#server = Deno.serve({
      hostname: "127.0.0.1",
      port: 0,
      signal: this.#end.signal,
      onListen: () => {},
    }, async (request) => {
      const path = new URL(request.url).pathname;
      await this.#held.get(path)?.promise;
      if (request.method === "GET") return Response.json(list);
      await request.text().catch(() => "");
      return Response.json({ choices: [] });
    });
    this.url = `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /** Has requests for `path` wait until they are let go. */
  hold(path: string): void {
    this.#held.set(path, Promise.withResolvers());
  }

  /** Answers what waits for `path`, and what comes after. */
  release(path: string): void {
    this.#held.get(path)?.resolve();
    this.#held.delete(path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const path of [...this.#held.keys()]) this.release(path);
    this.#end.abort();
    await this.#server.finished;
  }
}
