/**
 * Stand-in for `@std/testing/time`: a clock and timers that a test moves by hand.
 *
 * Invariant: real time stands still for whatever the fake has replaced.
 *
 * @module
 */
// deno-lint-ignore-file no-explicit-any -- it has the types and exports of the package
export class TimeError extends Error {
  override name = "TimeError";
}

interface Timer {
  id: number;
  due: number;
  interval: number | undefined;
  run: () => void;
}

const real = {
  Date: globalThis.Date,
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
  performanceNow: globalThis.performance.now.bind(globalThis.performance),
};

let active: FakeTime | undefined;

export interface FakeTimeOptions {
  advanceRate?: number;
  advanceFrequency?: number;
}

export interface DelayOptions {
  signal?: AbortSignal;
}

export class FakeTime {
  #now: number;
  readonly #started: number;
  #timers = new Map<number, Timer>();
  #nextId = 1;
  #ticker: number | undefined;

  constructor(
    start?: number | string | Date | null,
    options?: FakeTimeOptions,
  ) {
    if (active) {
      throw new TimeError("Cannot construct FakeTime: time is already faked");
    }
    this.#now = start === undefined || start === null
      ? real.Date.now()
      : new real.Date(start).valueOf();
    if (Number.isNaN(this.#now)) {
      throw new TimeError("Cannot construct FakeTime: invalid start time");
    }
    this.#started = this.#now;
    // deno-lint-ignore no-this-alias -- the constructor below has its own this
    const fake = this;
    const FakeDate: any = function (this: unknown, ...args: any[]) {
      if (!new.target) return new real.Date(fake.#now).toString();
      return Reflect.construct(
        real.Date,
        args.length ? (args as any) : [fake.#now],
        new.target === FakeDate ? real.Date : new.target,
      );
    };
    Object.setPrototypeOf(FakeDate, real.Date);
    FakeDate.prototype = real.Date.prototype;
    FakeDate.now = () => fake.#now;
    globalThis.Date = FakeDate;
    const g = globalThis as any;
    g.setTimeout = (
      cb: (...a: unknown[]) => void,
      ms = 0,
      ...args: unknown[]
    ) => fake.#add(() => cb(...args), ms, undefined);
    g.setInterval = (
      cb: (...a: unknown[]) => void,
      ms = 0,
      ...args: unknown[]
    ) => fake.#add(() => cb(...args), ms, Math.max(0, ms));
    g.clearTimeout = g.clearInterval = (id?: number) =>
      void (id !== undefined && fake.#timers.delete(Number(id)));
    globalThis.performance.now = () => fake.#now - fake.#started;
    const rate = options?.advanceRate;
    if (rate) {
      const frequency = options?.advanceFrequency ?? 10;
      this.#ticker = real.setInterval(
        () => this.tick(rate * frequency),
        frequency,
      ) as any;
    }
    active = this;
  }

  static get restored(): boolean {
    return active === undefined;
  }

  static restore(): void {
    if (!active) throw new TimeError("Cannot restore time: already restored");
    active.restore();
  }

  #add(run: () => void, ms: number, interval: number | undefined): number {
    const id = this.#nextId++;
    this.#timers.set(id, {
      id,
      due: this.#now + Math.max(0, Number(ms) || 0),
      interval,
      run,
    });
    return id;
  }

  get now(): number {
    return this.#now;
  }

  set now(value: number) {
    if (value < this.#now) {
      throw new RangeError("Cannot set current time in the past");
    }
    for (;;) {
      const next = this.#earliest();
      if (!next || next.due > value) break;
      this.#fire(next);
    }
    this.#now = value;
  }

  get start(): number {
    return this.#started;
  }

  #earliest(): Timer | undefined {
    let best: Timer | undefined;
    for (const timer of this.#timers.values()) {
      if (
        !best || timer.due < best.due ||
        (timer.due === best.due && timer.id < best.id)
      ) best = timer;
    }
    return best;
  }

  #fire(timer: Timer): void {
    this.#now = Math.max(this.#now, timer.due);
    if (timer.interval === undefined) this.#timers.delete(timer.id);
    else timer.due = this.#now + Math.max(1, timer.interval);
    timer.run();
  }

  tick(ms = 0): void {
    this.now += ms;
  }

  async tickAsync(ms = 0): Promise<void> {
    await this.runMicrotasks();
    this.now += ms;
    await this.runMicrotasks();
  }

  async runMicrotasks(): Promise<void> {
    await new Promise<void>((resolve) =>
      real.setTimeout.call(globalThis, resolve, 0)
    );
  }

  next(): boolean {
    const timer = this.#earliest();
    if (timer) this.#fire(timer);
    return timer !== undefined;
  }

  async nextAsync(): Promise<boolean> {
    await this.runMicrotasks();
    return this.next();
  }

  runAll(): void {
    while (this.next());
  }

  async runAllAsync(): Promise<void> {
    while (await this.nextAsync());
  }

  delay(ms: number, options: DelayOptions = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      if (options.signal?.aborted) return reject(options.signal.reason);
      const id = real.setTimeout.call(globalThis, () => resolve(), ms);
      options.signal?.addEventListener("abort", () => {
        real.clearTimeout.call(globalThis, id);
        reject(options.signal?.reason);
      }, { once: true });
    });
  }

  restore(): void {
    if (active !== this) {
      throw new TimeError("Cannot restore time: already restored");
    }
    globalThis.Date = real.Date;
    globalThis.setTimeout = real.setTimeout;
    globalThis.clearTimeout = real.clearTimeout;
    globalThis.setInterval = real.setInterval;
    globalThis.clearInterval = real.clearInterval;
    globalThis.performance.now = real.performanceNow;
    if (this.#ticker !== undefined) {
      real.clearInterval.call(globalThis, this.#ticker);
    }
    active = undefined;
  }

  [Symbol.dispose](): void {
    this.restore();
  }
}
