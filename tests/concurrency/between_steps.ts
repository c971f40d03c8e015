/**
 * One thread that comes between two steps of another, at a chosen place.
 *
 * Invariant: steps are counted on the real `Atomics`, which is whole again
 * after each run, so what is under test is what ships.
 *
 * @module
 */

const STEPS = [
  "load",
  "store",
  "compareExchange",
  "exchange",
  "add",
  "sub",
] as const;

/**
 * Does `act`, and `other` before its atomic step number `at`.
 *
 * @returns Whether there was such a step.
 */
export function interrupted(
  at: number,
  act: () => void,
  other: () => void,
): boolean {
  const real = STEPS.map((name) => [name, Atomics[name]] as const);
  let step = 0;
  let isCounting = true;
  for (const [name, method] of real) {
    Reflect.set(Atomics, name, (...args: unknown[]) => {
      if (isCounting && step++ === at) {
        isCounting = false;
        other();
        isCounting = true;
      }
      return Reflect.apply(method, Atomics, args);
    });
  }
  try {
    act();
  } finally {
    for (const [name, method] of real) Reflect.set(Atomics, name, method);
  }
  return step > at;
}
