/**
 * The network of a simulated world: byte streams with latency, back-pressure
 * and every way to break.
 *
 * Invariant: bytes arrive in order, once, and only while both sides are open;
 * what a closed side is sent is lost, and answered by a reset (RFC 9293,
 * 3.5.2). All that happens, happens on the world's clock.
 *
 * @module
 */
import type { Dial, Socket } from "../../src/core/outside.ts";
import type { Chance } from "./chance.ts";
import type { FaultName } from "./faults.ts";
import type { SimulatedClock } from "./virtual_clock.ts";

/** Bytes under way in one direction, like a small socket buffer. */
export const BUFFER_BYTES = 16_384;

/** Milliseconds that bytes take, drawn for each connection. */
const LATENCY_MS = { min: 1, max: 3 };

/** One read or write in so many is cut short. */
const CUT_ONE_IN = 8;

/** What a connection's engine does with it. */
export interface LinkOwner {
  onBytes(bytes: Uint8Array): void;
  /** The gateway has closed, or the connection is broken. */
  onClose(): void;
}

/** What accepts connections. */
export interface LinkListener {
  /** Whether connections are refused. */
  readonly isDown: boolean;
  accept(link: Link): LinkOwner;
  /** Whether this goes wrong now; logs it if so. */
  strikes(name: FaultName): boolean;
}

/** What every connection of a network shares. */
interface LinkParts {
  readonly clock: SimulatedClock;
  readonly chance: Chance;
}

/** One connection: the gateway's socket, and the engine's side of it. */
export class Link implements Socket {
  readonly #clock: SimulatedClock;
  readonly #chance: Chance;
  readonly #latencyMs: number;
  #owner: LinkOwner | undefined;
  /** Whether the gateway has closed. */
  #isClosed = false;
  /** Whether the engine knows. */
  #isCloseSeen = false;
  /** Whether the engine has closed. */
  #isLeft = false;
  /** What the gateway's side fails with, once it knows. */
  #failure: Error | undefined;
  #hasEnded = false;
  #isPaused = false;
  readonly #unread: Uint8Array[] = [];
  #toEngine = 0;
  #toGateway = 0;
  readonly #backlog: Uint8Array[] = [];
  #reading:
    | (PromiseWithResolvers<number | null> & { into: Uint8Array })
    | undefined;
  #writing: (PromiseWithResolvers<number> & { from: Uint8Array }) | undefined;
  #sending: (() => void)[] = [];

  constructor({ clock, chance }: LinkParts) {
    this.#clock = clock;
    this.#chance = chance;
    this.#latencyMs = chance.between(LATENCY_MS.min, LATENCY_MS.max);
  }

  set owner(owner: LinkOwner) {
    this.#owner = owner;
  }

  /** Whether the engine's side is of no more use. */
  get isOver(): boolean {
    return this.#isLeft || this.#isCloseSeen;
  }

  read(into: Uint8Array): Promise<number | null> {
    const read = { ...Promise.withResolvers<number | null>(), into };
    this.#reading = read;
    this.#serveRead();
    return read.promise;
  }

  write(from: Uint8Array): Promise<number> {
    const write = { ...Promise.withResolvers<number>(), from };
    this.#writing = write;
    this.#serveWrite();
    return write.promise;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#breakOff(new Deno.errors.BadResource("Cannot use a closed socket"));
    this.#later(() => {
      this.#isCloseSeen = true;
      this.#wakeSenders();
      if (!this.#isLeft) this.#owner?.onClose();
    });
  }

  /**
   * Sends to the gateway, as soon as there is room; resolves to whether the
   * connection still stood then.
   */
  async send(bytes: Uint8Array): Promise<boolean> {
    while (!this.isOver && this.#toGateway >= BUFFER_BYTES) {
      await new Promise<void>((resolve) => this.#sending.push(resolve));
    }
    if (this.isOver) return false;
    this.#toGateway += bytes.length;
    this.#later(() => {
      if (this.#failure !== undefined) return;
      this.#unread.push(bytes);
      this.#serveRead();
    });
    return true;
  }

  /** Ends the engine's side in good order. */
  end(): void {
    if (this.isOver) return;
    this.#leave();
    this.#later(() => {
      this.#hasEnded = true;
      this.#serveRead();
    });
  }

  /** Ends the engine's side at once; what the gateway has not read is lost. */
  reset(): void {
    if (this.isOver) return;
    this.#leave();
    this.#later(() => this.#resetByPeer());
  }

  /** Reads no more: the gateway's writes back up. */
  pause(): void {
    this.#isPaused = true;
  }

  /** Reads on. */
  resume(): void {
    this.#isPaused = false;
  }

  #leave(): void {
    this.#isLeft = true;
    this.#wakeSenders();
    this.#owner?.onClose();
  }

  #later(callback: () => void): void {
    this.#clock.after(this.#latencyMs, callback);
  }

  #resetByPeer(): void {
    this.#breakOff(
      new Deno.errors.ConnectionReset("Connection reset by peer"),
    );
  }

  #breakOff(error: Error): void {
    this.#failure ??= error;
    this.#unread.length = 0;
    this.#serveRead();
    this.#serveWrite();
  }

  #wakeSenders(): void {
    for (const wake of this.#sending.splice(0)) wake();
  }

  #serveRead(): void {
    const reading = this.#reading;
    const first = this.#unread[0];
    if (reading === undefined) return;
    if (this.#failure !== undefined) {
      this.#reading = undefined;
      reading.reject(this.#failure);
    } else if (first !== undefined) {
      this.#reading = undefined;
      const count = this.#cut(Math.min(first.length, reading.into.length));
      reading.into.set(first.subarray(0, count));
      if (count < first.length) this.#unread[0] = first.subarray(count);
      else this.#unread.shift();
      this.#toGateway -= count;
      this.#wakeSenders();
      reading.resolve(count);
    } else if (this.#hasEnded) {
      this.#reading = undefined;
      reading.resolve(null);
    }
  }

  #serveWrite(): void {
    const writing = this.#writing;
    if (writing === undefined) return;
    if (this.#failure !== undefined) {
      this.#writing = undefined;
      writing.reject(this.#failure);
      return;
    }
    const room = BUFFER_BYTES - this.#toEngine;
    if (room <= 0) return;
    this.#writing = undefined;
    const count = this.#cut(Math.min(room, writing.from.length));
    const bytes = writing.from.slice(0, count);
    this.#toEngine += count;
    this.#later(() => {
      this.#backlog.push(bytes);
      this.#deliver();
    });
    writing.resolve(count);
  }

  #deliver(): void {
    if (this.#isLeft) {
      this.#later(() => this.#resetByPeer());
      return;
    }
    while (!this.#isPaused && !this.#isLeft) {
      const bytes = this.#backlog.shift();
      if (bytes === undefined) break;
      this.#toEngine -= bytes.length;
      this.#owner?.onBytes(bytes);
    }
    this.#serveWrite();
  }

  #cut(count: number): number {
    return this.#chance.oneIn(CUT_ONE_IN) && count > 1
      ? this.#chance.between(1, count)
      : count;
  }
}

/** Connects gateways to the listeners of a world, by port. */
export class Network {
  readonly #parts: LinkParts;
  readonly #listeners = new Map<number, LinkListener>();

  constructor(parts: LinkParts) {
    this.#parts = parts;
  }

  listen(port: number, listener: LinkListener): void {
    this.#listeners.set(port, listener);
  }

  readonly dial: Dial = async (address, signal) => {
    const { clock, chance } = this.#parts;
    const listener = address.kind === "tcp"
      ? this.#listeners.get(address.port)
      : undefined;
    if (listener === undefined) {
      throw new Error("Cannot dial an address that nobody listens on");
    }
    const isRefused = listener.strikes("connectRefused");
    const isHanging = listener.strikes("connectHang");
    const isReset = listener.strikes("resetOnAccept");
    await untilAborted(
      isHanging ? undefined : clock.sleep(chance.between(1, 3)),
      signal,
    );
    if (isRefused || listener.isDown) {
      throw new Deno.errors.ConnectionRefused("Connection refused");
    }
    const link = new Link(this.#parts);
    link.owner = listener.accept(link);
    if (isReset) link.reset();
    return link;
  };
}

/** Waits for `wait`, or for ever, and rejects when it is called off. */
function untilAborted(
  wait: Promise<void> | undefined,
  signal: AbortSignal | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.addEventListener("abort", () => {
      reject(new DOMException("The dial was called off", "AbortError"));
    });
    wait?.then(resolve);
  });
}
