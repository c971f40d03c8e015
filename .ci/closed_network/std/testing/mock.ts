/**
 * Stand-in for the part of `@std/testing/mock` in common use: spies and stubs.
 *
 * Invariant: what is replaced can be put back, exactly once.
 *
 * @module
 */
// deno-lint-ignore-file shape/value-exports no-explicit-any -- it has the types and exports of the package
/** Stands first: a leading import, and a comment before it, would be dropped. */
type Any = any;

import { assertEquals, AssertionError } from "jsr:@std/assert@1.0.19";

export class MockError extends Error {
  override name = "MockError";
}

export interface SpyCall<
  Self = Any,
  Args extends unknown[] = Any[],
  Return = Any,
> {
  args: Args;
  returned?: Return;
  error?: Error;
  self?: Self;
}

export interface Spy<Self = Any, Args extends unknown[] = Any[], Return = Any> {
  (this: Self, ...args: Args): Return;
  original: (this: Self, ...args: Args) => Return;
  calls: SpyCall<Self, Args, Return>[];
  restored: boolean;
  restore(): void;
  [Symbol.dispose](): void;
}

export type MethodSpy<
  Self = Any,
  Args extends unknown[] = Any[],
  Return = Any,
> = Spy<Self, Args, Return>;
export type Stub<Self = Any, Args extends unknown[] = Any[], Return = Any> =
  & Spy<Self, Args, Return>
  & {
    fake: (this: Self, ...args: Args) => Return;
  };

function record<Self, Args extends unknown[], Return>(
  original: (this: Self, ...args: Args) => Return,
  fake: (this: Self, ...args: Args) => Return,
  undo: () => void,
): Stub<Self, Args, Return> {
  const calls: SpyCall<Self, Args, Return>[] = [];
  let restored = false;
  const spied = function (this: Self, ...args: Args): Return {
    const call: SpyCall<Self, Args, Return> = { args };
    if (this !== undefined) call.self = this;
    calls.push(call);
    try {
      return (call.returned = fake.apply(this, args));
    } catch (error) {
      call.error = error as Error;
      throw error;
    }
  } as Stub<Self, Args, Return>;
  const restore = () => {
    if (restored) throw new MockError("Cannot restore: already restored");
    undo();
    restored = true;
  };
  Object.defineProperties(spied, {
    original: { value: original, enumerable: true },
    fake: { value: fake, enumerable: true },
    calls: { value: calls, enumerable: true },
    restored: { get: () => restored, enumerable: true },
    restore: { value: restore, enumerable: true },
    [Symbol.dispose]: { value: restore },
  });
  return spied;
}

const restorers = new Set<() => void>();

/** Restores every method spy and stub that has not been restored. */
export function restore(): void {
  for (const undo of [...restorers]) undo();
}

function replace<Self, Args extends unknown[], Return>(
  self: Any,
  property: PropertyKey,
  fake?: (this: Self, ...args: Args) => Return,
): Stub<Self, Args, Return> {
  const own = Object.getOwnPropertyDescriptor(self, property);
  const original = self[property];
  if (typeof original !== "function") {
    throw new MockError(
      `Cannot spy: property "${String(property)}" is not a method`,
    );
  }
  const undo = () => {
    if (own) Object.defineProperty(self, property, own);
    else delete self[property];
    restorers.delete(all);
  };
  const spied = record<Self, Args, Return>(original, fake ?? original, undo);
  const all = () => spied.restore();
  restorers.add(all);
  Object.defineProperty(self, property, {
    value: spied,
    configurable: true,
    writable: true,
    enumerable: own?.enumerable ?? false,
  });
  return spied;
}

export function spy<Self = Any, Args extends unknown[] = Any[]>(): Spy<
  Self,
  Args,
  undefined
>;
export function spy<Self, Args extends unknown[], Return>(
  fn: (this: Self, ...args: Args) => Return,
): Spy<Self, Args, Return>;
export function spy<Self, Prop extends keyof Self>(
  self: Self,
  property: Prop,
): MethodSpy<
  Self,
  Self[Prop] extends (...args: infer A) => Any ? A : Any[],
  Self[Prop] extends (...args: Any[]) => infer R ? R : Any
>;
export function spy(first?: Any, property?: PropertyKey): Any {
  if (property !== undefined) return replace(first, property);
  const fn = first ?? (() => undefined);
  return record(fn, fn, () => {
    throw new MockError("Cannot restore: function cannot be restored");
  });
}

export function stub<Self, Prop extends keyof Self>(
  self: Self,
  property: Prop,
  fn?: Self[Prop] extends (...args: infer A) => infer R
    ? (this: Self, ...args: A) => R
    : never,
): Stub<
  Self,
  Self[Prop] extends (...args: infer A) => Any ? A : Any[],
  Self[Prop] extends (...args: Any[]) => infer R ? R : Any
> {
  return replace(
    self,
    property as PropertyKey,
    (fn ?? (() => undefined)) as Any,
  ) as Any;
}

export function assertSpyCalls(
  spied: Spy<Any, Any, Any>,
  expected: number,
): void {
  if (spied.calls.length !== expected) {
    throw new AssertionError(
      `Spy called ${spied.calls.length} time(s), expected ${expected}`,
    );
  }
}

export function assertSpyCall(
  spied: Spy<Any, Any, Any>,
  index: number,
  expected?: Partial<SpyCall>,
): void {
  const call = spied.calls[index];
  if (!call) {
    throw new AssertionError(`Spy not called as expected: no call ${index}`);
  }
  if (!expected) return;
  if ("args" in expected) assertEquals(call.args, expected.args);
  if ("self" in expected) assertEquals(call.self, expected.self);
  if ("returned" in expected) assertEquals(call.returned, expected.returned);
}

export function assertSpyCallArgs(
  spied: Spy<Any, Any, Any>,
  index: number,
  expected: unknown[],
): void {
  assertSpyCall(spied, index);
  assertEquals(spied.calls[index].args, expected);
}

/** A function that returns each value in turn, throwing those that are Errors. */
export function returnsNext<Return>(
  values: Iterable<Return | Error>,
): (...args: Any[]) => Return {
  const iterator = values[Symbol.iterator]();
  let count = 0;
  return () => {
    const next = iterator.next();
    if (next.done) {
      throw new MockError(
        `Not expected to be called more than ${count} time(s)`,
      );
    }
    count++;
    if (next.value instanceof Error) throw next.value;
    return next.value;
  };
}

/** As returnsNext, in promises. */
export function resolvesNext<Return>(
  values: Iterable<Return | Error>,
): (...args: Any[]) => Promise<Return> {
  const next = returnsNext(values);
  // deno-lint-ignore require-await -- the caller wants a promise
  return async () => next();
}
