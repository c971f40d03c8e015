/**
 * The client's side of a tunnel: a WebSocket of `Deno.serve`.
 *
 * What the runtime decides, on all versions: it answers pings, puts fragments
 * together up to 64 MiB and drops the connection beyond, drops it too where
 * text is not UTF-8, and reads as fast as the client sends.
 *
 * Invariant: whatever the runtime reports, the tunnel is told once that the
 * client has gone, and in time: before the socket opens the tunnel itself
 * keeps a limit.
 *
 * @module
 */
import type { HeaderList } from "../core/request.ts";
import type { ClientEnd, TunnelOffer } from "../gateway/tunnels/client_end.ts";
import type { Close } from "../gateway/tunnels/websocket_close.ts";

/**
 * 120 s: a client that is silent for half of it is pinged, and dropped when it
 * does not answer in the other half. A client that is there answers by itself,
 * so this ends no idle tunnel; it finds machines that lost their network.
 */
const SILENCE_S = 120;

/**
 * 100 ms without a message before a close is sent, and 1 s at most: when
 * anything but a close follows its close frame, the runtime resets the
 * connection, and a client that is sending may never read why.
 */
const QUIET_MS = 100;
const QUIET_WAIT_MS_MAX = 1_000;

/** What the runtime reports where a close had no code (RFC 6455, 7.1.5). */
const NO_CODE = 1005;

/** The answer that opens the client's side of `tunnel`. */
export function acceptTunnel(
  request: Request,
  headers: HeaderList,
  tunnel: TunnelOffer,
): Response {
  const { protocol } = tunnel;
  const { socket, response } = Deno.upgradeWebSocket(request, {
    idleTimeout: SILENCE_S,
    ...(protocol === undefined ? {} : { protocol }),
  });
  socket.binaryType = "arraybuffer";
  for (const [name, value] of headers) response.headers.append(name, value);
  const served = new ServedSocket(socket);
  tunnel.join(served);
  let hasClosed = false;
  const close = (close: Close | undefined) => {
    if (hasClosed) return;
    hasClosed = true;
    served.forget();
    tunnel.onClose(close);
  };
  socket.addEventListener("open", () => tunnel.onOpen());
  socket.addEventListener("message", ({ data }) => {
    served.heard();
    tunnel.onMessage(typeof data === "string" ? data : new Uint8Array(data));
  });
  // An error is the end, and the only word of a socket that never opened.
  socket.addEventListener("error", () => close(undefined));
  socket.addEventListener("close", ({ code, reason, wasClean }) => {
    if (!wasClean) close(undefined);
    else close({ code: code === NO_CODE ? undefined : code, reason });
  });
  return response;
}

/** A WebSocket that takes no offense at being late, and closes politely. */
class ServedSocket implements ClientEnd {
  readonly #socket: WebSocket;
  #heardAtMs = -Infinity;
  /** By when the close that waits is sent; `undefined` while there is none. */
  #closeByMs: number | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  get bufferedBytes(): number {
    return this.#socket.bufferedAmount;
  }

  /** A message has come. */
  heard(): void {
    this.#heardAtMs = performance.now();
  }

  /** The socket is closed. */
  forget(): void {
    clearTimeout(this.#timer);
  }

  send(data: string | Uint8Array): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    if (this.#closeByMs !== undefined) return;
    this.#socket.send(data as string | Uint8Array<ArrayBuffer>);
  }

  close(close: Close): void {
    if (this.#closeByMs !== undefined) return;
    this.#closeByMs = performance.now() + QUIET_WAIT_MS_MAX;
    this.#closeWhenQuiet(close);
  }

  #closeWhenQuiet(close: Close): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    const quietAtMs = this.#heardAtMs + QUIET_MS;
    const closeAtMs = Math.min(quietAtMs, this.#closeByMs ?? quietAtMs);
    const waitMs = closeAtMs - performance.now();
    if (waitMs > 0) {
      this.#timer = setTimeout(() => this.#closeWhenQuiet(close), waitMs);
    } else this.#socket.close(close.code, close.reason);
  }
}
