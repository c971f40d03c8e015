/**
 * A gateway in front of engines that a test plays by hand, byte by byte.
 *
 * The gateway's own questions, for health and for the list of models, are
 * answered here, so that a script sees the requests of clients only.
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

const HEALTHY = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/** What an engine does with one request, given as it came. */
export type Script = (peer: Peer, request: string) => Promise<void>;

/** How the engines are set up besides their script. */
export interface ScriptOptions extends GatewayOptions {
  /** Models by engine; one engine that lists none unless given. */
  readonly models?: readonly (readonly string[])[];
  /** Path that engines are under, which scripts do not see; none by default. */
  readonly basePath?: string;
  /**
   * Whether engines are there: all the time unless given, only until the
   * gateway has seen them, or never.
   */
  readonly presence?: "stays" | "leaves" | "never";
}

/** What there is not. */
const ABSENT = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";

/** A script that answers each request with the same text or bytes. */
export function always(answer: string | Uint8Array): Script {
  return (peer) => peer.send(answer);
}

/** Runs `body` with a gateway in front of engines that follow `script`. */
export async function withScript(
  script: Script,
  body: (world: GatewayWorld) => Promise<void>,
  options: ScriptOptions = {},
): Promise<void> {
  const { basePath = "", models = [[]], presence = "stays" } = options;
  const servers = models.map((list) =>
    serve(script, modelsAnswer(list), basePath)
  );
  const urls = servers.map(({ address }) => ({
    url: urlOf(address) + basePath,
  }));
  const close = async () => {
    for (const server of servers.splice(0)) await server[Symbol.asyncDispose]();
  };
  try {
    if (presence === "never") await close();
    const readyCount = presence === "never" ? 0 : urls.length;
    await withGateway(urls, { ...options, readyCount }, async (world) => {
      if (presence === "leaves") await close();
      await body(world);
    });
  } finally {
    await close();
  }
}

function serve(
  script: Script,
  models: string,
  basePath: string,
): ScriptedServer {
  return new ScriptedServer(async (peer) => {
    for (;;) {
      const request = (await peer.request()).replace(` ${basePath}/`, " /");
      if (request === "") return;
      if (request.startsWith("GET /health ")) await peer.send(HEALTHY);
      else if (request.startsWith("GET /v1/models ")) await peer.send(models);
      else if (request.startsWith("GET /metrics ")) await peer.send(ABSENT);
      else await script(peer, request);
    }
  });
}

/** Without a list of models an endpoint serves every model. */
function modelsAnswer(models: readonly string[]): string {
  if (models.length === 0) return ABSENT;
  const body = JSON.stringify({ data: models.map((id) => ({ id })) });
  return `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

function urlOf(address: ScriptedServer["address"]): string {
  if (address.kind !== "tcp") throw new Error("Cannot reach a unix socket");
  return `http://${address.hostname}:${address.port}`;
}
