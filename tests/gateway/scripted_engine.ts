/**
 * A gateway in front of one engine that a test plays by hand, byte by byte.
 *
 * The gateway's own question for the list of models is answered here, so that
 * a script sees the requests of clients only.
 *
 * Invariant: everything is closed at the end, and requests are counted as in
 * any other world.
 *
 * @module
 */
import { type Peer, ScriptedServer } from "../scripted_server.ts";
import {
  type GatewayOptions,
  type GatewayWorld,
  withGateway,
} from "./world.ts";

/** Without a list of models an endpoint serves every model. */
const NO_MODELS = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";

/** What an engine does with one request, given as it came. */
export type Script = (peer: Peer, request: string) => Promise<void>;

/** A script that answers each request with the same text or bytes. */
export function always(answer: string | Uint8Array): Script {
  return (peer) => peer.send(answer);
}

/** Runs `body` with a gateway in front of an engine that follows `script`. */
export async function withScript(
  script: Script,
  body: (world: GatewayWorld) => Promise<void>,
  options: GatewayOptions = {},
): Promise<void> {
  await using server = new ScriptedServer(async (peer) => {
    for (;;) {
      const request = await peer.request();
      if (request === "") return;
      if (request.startsWith("GET /v1/models ")) await peer.send(NO_MODELS);
      else await script(peer, request);
    }
  });
  const { address } = server;
  if (address.kind !== "tcp") throw new Error("Cannot reach a unix socket");
  const url = `http://127.0.0.1:${address.port}`;
  await withGateway([{ url }], options, body);
}
