/**
 * Sockets without a network: an endpoint that plays a script of reads.
 *
 * Invariant: everything that happens, happens in microtasks, so that a test on
 * a virtual clock, or a fuzzer, sees the same order each time.
 *
 * @module
 */
import type { Clock, Dial, Socket } from "../src/core/outside.ts";

/** What the endpoint sends, read by read; `null` ends the stream. */
export type Script = readonly (Uint8Array | null | Error)[];

/** A socket that yields `script`, then waits until it is closed. */
export class MemorySocket implements Socket {
  readonly written: Uint8Array[] = [];
  isClosed = false;
  /** When set, writes wait until the socket is closed. */
  stallsWrites = false;
  #script: (Uint8Array | null | Error)[];
  #reads: PromiseWithResolvers<number | null>[] = [];
  #buffers: Uint8Array[] = [];
  #writes: PromiseWithResolvers<number>[] = [];

  constructor(script: Script) {
    this.#script = [...script];
  }

  /** Lets the endpoint send more. */
  push(...more: Script): void {
    this.#script.push(...more);
    this.#serve();
  }

  read(buffer: Uint8Array): Promise<number | null> {
    const read = Promise.withResolvers<number | null>();
    this.#reads.push(read);
    this.#buffers.push(buffer);
    this.#serve();
    return read.promise;
  }

  write(bytes: Uint8Array): Promise<number> {
    if (this.isClosed) return Promise.reject(new Error("socket is closed"));
    const write = Promise.withResolvers<number>();
    if (this.stallsWrites) {
      this.#writes.push(write);
      return write.promise;
    }
    this.written.push(bytes.slice());
    write.resolve(bytes.length);
    return write.promise;
  }

  close(): void {
    this.isClosed = true;
    const error = new Error("socket is closed");
    for (const wait of [...this.#reads, ...this.#writes]) wait.reject(error);
    this.#reads = [];
    this.#writes = [];
  }

  #serve(): void {
    while (this.#reads.length > 0 && this.#script.length > 0) {
      const [read] = this.#reads.splice(0, 1);
      const [buffer] = this.#buffers.splice(0, 1);
      const next = this.#script.shift();
      if (read === undefined || buffer === undefined) return;
      if (next instanceof Error) read.reject(next);
      else if (next === null || next === undefined) read.resolve(null);
      else read.resolve(this.#fill(buffer, next));
    }
  }

  #fill(buffer: Uint8Array, bytes: Uint8Array): number {
    const count = Math.min(buffer.length, bytes.length);
    buffer.set(bytes.subarray(0, count));
    if (count < bytes.length) this.#script.unshift(bytes.subarray(count));
    return count;
  }
}

/** Dials memory sockets and remembers them. */
export class MemoryNetwork {
  readonly sockets: MemorySocket[] = [];
  readonly #scripts: (Script | "hang" | "refuse")[];

  /** @param scripts What each dial in turn meets; a waiting socket after. */
  constructor(scripts: readonly (Script | "hang" | "refuse")[] = []) {
    this.#scripts = [...scripts];
  }

  readonly dial: Dial = (_address, signal) => {
    const script = this.#scripts.shift() ?? [];
    if (script === "refuse") return Promise.reject(new Error("refused"));
    if (script === "hang") {
      const { promise, reject } = Promise.withResolvers<Socket>();
      signal?.addEventListener("abort", () => reject(new Error("gave up")));
      return promise;
    }
    const socket = new MemorySocket(script);
    this.sockets.push(socket);
    return Promise.resolve(socket);
  };
}

/** A clock that stands still until it is told to go on. */
export class VirtualClock implements Clock {
  #nowMs = 0;
  #timers: { readonly atMs: number; readonly callback: () => void }[] = [];

  /** Timers that have not fired. */
  get timerCount(): number {
    return this.#timers.length;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { atMs: this.#nowMs + delayMs, callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Goes on, firing what falls due in order and letting promises settle. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await settle();
    while (true) {
      const due = this.#timers
        .filter(({ atMs }) => atMs <= untilMs)
        .sort((a, b) => a.atMs - b.atMs)[0];
      if (due === undefined) break;
      this.#timers = this.#timers.filter((other) => other !== due);
      this.#nowMs = due.atMs;
      due.callback();
      await settle();
    }
    this.#nowMs = untilMs;
  }
}

/** 20 turns: the longest chain of promises in the client has under ten. */
const MICROTASK_TURNS = 20;

/** Lets what is ready happen. */
async function settle(): Promise<void> {
  for (let i = 0; i < MICROTASK_TURNS; i++) await Promise.resolve();
}
