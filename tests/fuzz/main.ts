/**
 * Runs the fuzzers: `main.ts [--seed N] [--cases N] [--only NAME]`.
 *
 * Invariant: a run is repeated exactly by the seed that it prints.
 *
 * @module
 */
import { numberOption, option, say } from "../run_options.ts";
import { fuzzResponse } from "./response_fuzz.ts";
import { fuzzScanner } from "./scanner_fuzz.ts";

/** The fuzzers by name; each throws at its first failure. */
const FUZZERS: Readonly<
  Record<
    string,
    (options: { seed: number; cases: number }) => void | Promise<void>
  >
> = {
  response: fuzzResponse,
  scanner: fuzzScanner,
};

/** Some ten seconds of the slowest fuzzer. */
const CASES_DEFAULT = 20_000;

if (import.meta.main) await main(Deno.args);

async function main(args: readonly string[]): Promise<void> {
  const seed = numberOption(args, "--seed", { least: 0 }) ??
    Date.now() % 1_000_000_007;
  const cases = numberOption(args, "--cases", { least: 0 }) ?? CASES_DEFAULT;
  const only = option(args, "--only");
  for (const [name, fuzz] of Object.entries(FUZZERS)) {
    if (only !== undefined && only !== name) continue;
    say(`${name}: --seed ${seed} --cases ${cases}`);
    await fuzz({ seed, cases });
    say(`${name}: passed`);
  }
  if (only !== undefined && !Object.hasOwn(FUZZERS, only)) {
    throw new TypeError(
      `Cannot find fuzzer "${only}": known are ${
        Object.keys(FUZZERS).join(", ")
      }`,
    );
  }
}
