/**
 * Both ends of a tunnel: an engine that speaks WebSocket, and clients.
 *
 * The engine is the runtime's own server and the client its own WebSocket, so
 * that neither shares a line with what stands between them.
 *
 * Invariant: every wait is bounded, and every socket is closed at the end.
 *
 * @module
 */
import { Side, within } from "./websocket_side.ts";
import {
  type GatewayOptions,
  type GatewayWorld,
  withGateway,
} from "./world.ts";

/** An engine whose every path is a WebSocket that echoes. */
export class WebsocketEngine implements AsyncDisposable {
  readonly sides: Side[] = [];
  readonly requests: Request[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  #arrived = () => {};

  constructor(options: { readonly echoes?: boolean; protocol?: string } = {}) {
    const { echoes = true, protocol } = options;
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      (request) => {
        if (request.headers.get("upgrade") === null) {
          return new Response(null, { status: 404 });
        }
        const { socket, response } = Deno.upgradeWebSocket(request, {
          idleTimeout: 0,
          ...(protocol === undefined ? {} : { protocol }),
        });
        const side = new Side(socket);
        if (echoes) {
          socket.addEventListener("message", ({ data }) => socket.send(data));
        }
        this.requests.push(request);
        this.sides.push(side);
        this.#arrived();
        return response;
      },
    );
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /** The engine's side of tunnel number `index`, once it is there. */
  async side(index = 0): Promise<Side> {
    for (;;) {
      const side = this.sides[index];
      if (side !== undefined) {
        await side.opened();
        return side;
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#arrived = resolve;
      await within(promise, `tunnel ${index} at the engine`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { socket } of this.sides) {
      if (socket.readyState === WebSocket.OPEN) socket.close();
    }
    await this.#server.shutdown();
  }
}

/** Opens a client's side through the gateway; not waited for. */
export function dial(
  world: GatewayWorld,
  target: string,
  options: { headers?: Record<string, string>; protocols?: string[] } = {},
): Side {
  const url = `ws://127.0.0.1:${world.port}${target}`;
  return new Side(new WebSocket(url, options));
}

/** Runs `body` with a gateway in front of `count` echoing engines. */
export async function withEngines(
  count: number,
  body: (world: GatewayWorld, engines: WebsocketEngine[]) => Promise<void>,
  options: GatewayOptions & { readonly protocol?: string } = {},
): Promise<void> {
  const { protocol } = options;
  const engines = Array.from(
    { length: count },
    () => new WebsocketEngine(protocol === undefined ? {} : { protocol }),
  );
  try {
    await withGateway(engines, options, (world) => body(world, engines));
  } finally {
    for (const engine of engines) await engine[Symbol.asyncDispose]();
  }
}
