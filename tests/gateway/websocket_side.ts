/**
 * One side of a WebSocket of the runtime's own, client or server.
 *
 * Invariant: every wait is bounded.
 *
 * @module
 */

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
