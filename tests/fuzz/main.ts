/**
 * Runs the fuzzers:
 * `main.ts [--seed N] [--cases N | --seconds N] [--only NAME]`.
 *
 * `--cases` and `--seconds` hold for each fuzzer. A run without either is
 * short enough for every push; one of hours is as good as any.
 *
 * Invariant: a run is repeated exactly by the seed that it prints.
 *
 * @module
 */
import { numberOption, option, say } from "../run_options.ts";
import { fuzzAdmin } from "./admin_fuzz.ts";
import { fuzzConfig } from "./config_fuzz.ts";
import type { FuzzOptions } from "./fuzz_options.ts";
import { fuzzGateway } from "./gateway_fuzz.ts";
import { fuzzResponse } from "./response_fuzz.ts";
import { fuzzScanner } from "./scanner_fuzz.ts";

/** A fuzzer, and how much of it fills some seconds. */
interface Fuzzer {
  /** Throws at the first failure, and says how to repeat it. */
  readonly fuzz: (options: FuzzOptions) => void | Promise<void>;
  readonly cases: number;
}

const FUZZERS: Readonly<Record<string, Fuzzer>> = {
  admin: { fuzz: fuzzAdmin, cases: 300 },
  config: { fuzz: fuzzConfig, cases: 5_000 },
  gateway: { fuzz: fuzzGateway, cases: 300 },
  response: { fuzz: fuzzResponse, cases: 5_000 },
  scanner: { fuzz: fuzzScanner, cases: 20_000 },
};

/** Cases between two looks at the clock, of a run that is bounded by time. */
const STRETCH_CASES = 100;

if (import.meta.main) await main(Deno.args);

async function main(args: readonly string[]): Promise<void> {
  const seed = numberOption(args, "--seed", { least: 0 }) ??
    Date.now() % 1_000_000_007;
  const cases = numberOption(args, "--cases", { least: 0 });
  const seconds = numberOption(args, "--seconds");
  const only = option(args, "--only");
  if (only !== undefined && !Object.hasOwn(FUZZERS, only)) {
    const known = Object.keys(FUZZERS).join(", ");
    throw new TypeError(`Cannot find fuzzer "${only}": known are ${known}`);
  }
  for (const [name, fuzzer] of Object.entries(FUZZERS)) {
    if (only !== undefined && only !== name) continue;
    say(`${name}: --seed ${seed}`);
    const startedAtMs = Date.now();
    const count = seconds === undefined
      ? await runCases(fuzzer, { seed, cases: cases ?? fuzzer.cases })
      : await runUntil(fuzzer, seed, startedAtMs + seconds * 1_000);
    const tookSeconds = ((Date.now() - startedAtMs) / 1_000).toFixed(1);
    say(`${name}: ${count} cases passed in ${tookSeconds} s`);
  }
}

async function runCases(
  { fuzz }: Fuzzer,
  options: FuzzOptions,
): Promise<number> {
  await fuzz(options);
  return options.cases;
}

async function runUntil(
  { fuzz }: Fuzzer,
  seed: number,
  untilMs: number,
): Promise<number> {
  let count = 0;
  for (; Date.now() < untilMs; count += STRETCH_CASES) {
    await fuzz({ seed: seed + count, cases: STRETCH_CASES });
  }
  return count;
}
