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
import { withGateway } from "./world.ts";
import type { GatewayOptions, GatewayWorld } from "./world.ts";

/** Milliseconds to wait for anything. */
const WAIT_MS = 5_000;

/** What came to one side. */
export type Data = string | Uint8Array;

/** How a side was closed. */
export interface Closed {
  readonly code: number;
  readonly reason: string;
}

/** One side of a tunnel, with all that came to it. */
export class Side {
  readonly socket: WebSocket;
  readonly received: Data[] = [];
  /** Resolves when the socket is over, however it ends. */
  readonly closed: Promise<Closed>;
  readonly #opened: Promise<boolean>;
  #arrived = () => {};

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.binaryType = "arraybuffer";
    const opened = Promise.withResolvers<boolean>();
    const closed = Promise.withResolvers<Closed>();
    this.#opened = opened.promise;
    this.closed = closed.promise;
    socket.onopen = () => opened.resolve(true);
    socket.onmessage = ({ data }) => {
      this.received.push(
        typeof data === "string" ? data : new Uint8Array(data),
      );
      this.#arrived();
    };
    socket.onerror = () => opened.resolve(false);
    socket.onclose = ({ code, reason }) => {
      opened.resolve(false);
      closed.resolve({ code, reason });
      this.#arrived();
    };
  }

  /** Resolves to whether the handshake has succeeded. */
  opened(): Promise<boolean> {
    return within(this.#opened, "an open socket");
  }

  /** Resolves once `count` messages have come; to all of them. */
  async messages(count: number): Promise<Data[]> {
    while (this.received.length < count) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#arrived = resolve;
      await within(promise, `message ${count} of ${this.received.length}`);
      const { readyState } = this.socket;
      if (readyState === WebSocket.CLOSED && this.received.length < count) {
        throw new Error(`Cannot get ${count} messages: the socket is closed`);
      }
    }
    return this.received;
  }

  /** Resolves to how it was closed. */
  end(): Promise<Closed> {
    return within(this.closed, "the end of a socket");
  }
}

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

/** Rejects when `promise` takes too long. */
export async function within<T>(promise: Promise<T>, what: string): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error(`Cannot wait longer for ${what}`)),
    WAIT_MS,
  );
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
