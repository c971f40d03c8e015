/**
 * An engine that does nothing but list its models, whatever it is asked.
 *
 * Invariant: a request is answered once its body has come.
 *
 * @module
 */

/** Listens on a free port of loopback. */
export function startModelServer(
  models: readonly string[],
): Deno.HttpServer<Deno.NetAddr> {
  const data = models.map((id) => ({ id }));
  return Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    onListen: () => {},
  }, async (request) => {
    await request.text();
    return Response.json({ data });
  });
}
