/**
 * How the simulated engine spends its time, as a discrete model.
 *
 * Calls wait first come first served until the batch has room. Inside the
 * batch prompts are prefilled one after the other, since prefill saturates the
 * compute of a real engine, and then decode side by side at a fixed pace.
 * Time is an argument: the real server drives this with a timer, and a
 * discrete-event simulation with a virtual clock.
 *
 * Known imperfections: decoding does not slow down as the batch fills, and
 * prefill does not interrupt it.
 *
 * Invariant: never more than `batchMax` calls run, nothing waits while the
 * batch has room, and every submitted call ends in exactly one of `finished`
 * or `cancel()`.
 *
 * @module
 */
import { type BlockChain, PrefixCache, TOKEN_BYTES } from "./prefix_cache.ts";

/** Most calls that wait; a real engine would be long out of memory. */
const WAITING_MAX = 100_000;

/** The pace and size of an engine. */
export interface BatchOptions {
  /** Milliseconds to prefill one token that is not cached. */
  readonly prefillMsPerToken: number;
  /** Milliseconds between two tokens of an answer. */
  readonly decodeMsPerToken: number;
  /** Most calls that run at once. */
  readonly batchMax: number;
  /** Blocks of the prefix cache. */
  readonly cacheBlocks: number;
  /** Divides all times; `Infinity` makes every call instant. */
  readonly speed: number;
}

/** One call to the engine. */
export interface BatchCall {
  readonly id: number;
  /** Blocks of the prompt with the answer behind it. */
  readonly chain: BlockChain;
  /** Bytes of the prompt alone. */
  readonly promptBytes: number;
  /** Tokens of the answer; at least one. */
  readonly answerTokens: number;
}

/** What the model reports, in the order of `atMs`. */
export type BatchEvent =
  | {
    readonly kind: "first_token";
    readonly id: number;
    readonly atMs: number;
    readonly promptTokens: number;
    readonly cachedTokens: number;
  }
  | { readonly kind: "finished"; readonly id: number; readonly atMs: number };

/** A call inside the batch. */
interface Running {
  readonly call: BatchCall;
  cachedTokens: number;
  /** When the present stage, prefill or decode, ends. */
  endsAtMs: number;
}

/** One engine's queue, batch and cache. */
export class Batch {
  readonly cache: PrefixCache;
  readonly #options: BatchOptions;
  readonly #waiting: BatchCall[] = [];
  /** The first is being prefilled, the others stand behind it. */
  readonly #prefills: Running[] = [];
  readonly #decoding: Running[] = [];
  #events: BatchEvent[] = [];

  /** @throws {RangeError} when the batch could not hold a single call. */
  constructor(options: BatchOptions) {
    if (!(options.batchMax >= 1)) {
      throw new RangeError(
        `Cannot size the batch as it must hold 1 or more calls: ` +
          `current value is ${options.batchMax}`,
      );
    }
    this.#options = options;
    this.cache = new PrefixCache(options.cacheBlocks);
  }

  /** Calls inside the batch. */
  get runningCount(): number {
    return this.#prefills.length + this.#decoding.length;
  }

  /** Calls that wait for the batch. */
  get waitingCount(): number {
    return this.#waiting.length;
  }

  /** Blocks that the running calls need, as a share of the cache, up to 1. */
  get cacheUsage(): number {
    let blocks = 0;
    for (const running of [...this.#prefills, ...this.#decoding]) {
      blocks += running.call.chain.names.length;
    }
    return Math.min(1, blocks / Math.max(1, this.cache.blocksMax));
  }

  /** When `advance()` next has something to say, or `undefined` for never. */
  get nextAtMs(): number | undefined {
    if (this.#events.length > 0) return this.#events[0]?.atMs;
    return this.#nextEnding()?.endsAtMs;
  }

  /** Takes a call in; false when the queue is at its limit. */
  submit(call: BatchCall, nowMs: number): boolean {
    this.#run(nowMs);
    if (this.#waiting.length >= WAITING_MAX) return false;
    this.#waiting.push(call);
    this.#admit(nowMs);
    return true;
  }

  /** Gives up a call in whatever stage; unknown ids are ignored. */
  cancel(id: number, nowMs: number): void {
    this.#run(nowMs);
    this.#events = this.#events.filter((event) => event.id !== id);
    removeFirst(this.#waiting, (call) => call.id === id);
    removeFirst(this.#decoding, (running) => running.call.id === id);
    const wasPrefilling = this.#prefills[0]?.call.id === id;
    removeFirst(this.#prefills, (running) => running.call.id === id);
    if (wasPrefilling) this.#prefillNext(nowMs);
    this.#admit(nowMs);
  }

  /** Moves time on and returns what happened up to and including `nowMs`. */
  advance(nowMs: number): readonly BatchEvent[] {
    this.#run(nowMs);
    const events = this.#events;
    this.#events = [];
    return events;
  }

  #run(nowMs: number): void {
    for (;;) {
      const ending = this.#nextEnding();
      if (ending === undefined || ending.endsAtMs > nowMs) return;
      if (ending === this.#prefills[0]) this.#endPrefill(ending);
      else this.#endDecode(ending);
    }
  }

  #nextEnding(): Running | undefined {
    let next = this.#prefills[0];
    for (const running of this.#decoding) {
      if (next === undefined || running.endsAtMs < next.endsAtMs) {
        next = running;
      }
    }
    return next;
  }

  #admit(atMs: number): void {
    while (this.runningCount < this.#options.batchMax) {
      const call = this.#waiting.shift();
      if (call === undefined) return;
      this.#prefills.push({ call, cachedTokens: 0, endsAtMs: Infinity });
      if (this.#prefills.length === 1) this.#prefillNext(atMs);
    }
  }

  /** The cache is asked when prefill starts, so neighbors help each other. */
  #prefillNext(atMs: number): void {
    const running = this.#prefills[0];
    if (running === undefined) return;
    running.cachedTokens = this.cache.match(promptOf(running.call));
    const tokens = tokensOf(running.call.promptBytes) - running.cachedTokens;
    running.endsAtMs = atMs +
      tokens * this.#options.prefillMsPerToken / this.#options.speed;
  }

  #endPrefill(running: Running): void {
    const { call, endsAtMs: atMs, cachedTokens } = running;
    this.cache.insert(promptOf(call));
    this.#events.push({
      kind: "first_token",
      id: call.id,
      atMs,
      promptTokens: tokensOf(call.promptBytes),
      cachedTokens,
    });
    this.#prefills.shift();
    running.endsAtMs = atMs +
      Math.max(0, call.answerTokens - 1) * this.#options.decodeMsPerToken /
        this.#options.speed;
    this.#decoding.push(running);
    this.#prefillNext(atMs);
  }

  #endDecode(running: Running): void {
    removeFirst(this.#decoding, (other) => other === running);
    this.cache.insert(running.call.chain);
    this.#events.push({
      kind: "finished",
      id: running.call.id,
      atMs: running.endsAtMs,
    });
    this.#admit(running.endsAtMs);
  }
}

function promptOf(call: BatchCall): BlockChain {
  return { names: call.chain.names, byteCount: call.promptBytes };
}

function tokensOf(byteCount: number): number {
  return Math.ceil(byteCount / TOKEN_BYTES);
}

function removeFirst<T>(items: T[], matches: (item: T) => boolean): void {
  const at = items.findIndex(matches);
  if (at >= 0) items.splice(at, 1);
}
