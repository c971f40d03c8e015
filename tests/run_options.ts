/**
 * Options and output of the programs among tests and benchmarks.
 *
 * Invariant: a number is what its program asks for, or the program ends with
 * the reason before it does anything.
 *
 * @module
 */

const encoder = new TextEncoder();

/** What follows `name` in the arguments; `undefined` when it is not there. */
export function option(
  args: readonly string[],
  name: string,
): string | undefined {
  const at = args.indexOf(name);
  return at < 0 ? undefined : args[at + 1];
}

/** @throws {TypeError} unless it is a whole number of at least `least`. */
export function numberOption(
  args: readonly string[],
  name: string,
  { least = 1 }: { readonly least?: number } = {},
): number | undefined {
  const text = option(args, name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new TypeError(
    `Cannot use "${text}" as ${name}: wanted is an integer of at least ${least}`,
  );
}

/** Writes a line to standard output. */
export function say(line: string): void {
  Deno.stdout.writeSync(encoder.encode(`${line}\n`));
}
