/**
 * Lets worlds happen until one goes wrong:
 * `main.ts [--seed N] [--seeds N] [--canary NAME]`.
 *
 * Without `--seeds` it goes on until it is stopped. It needs no permission: a
 * simulated world touches nothing outside.
 *
 * Invariant: a failure prints the one line that repeats it.
 *
 * @module
 */
import { numberOption, option, say } from "../run_options.ts";
import { CANARIES } from "./canaries.ts";
import { checkWorld } from "./check.ts";
import { determinism } from "./determinism.ts";

/** Worlds between two lines of progress. */
const PROGRESS_SEEDS = 100;

/** Every so many seeds a world happens twice. */
const DETERMINISM_SEEDS = 10;

/** Problems printed of one world; the first is mostly the cause of the rest. */
const PROBLEMS_MAX = 10;

if (import.meta.main) await main(Deno.args);

async function main(args: readonly string[]): Promise<void> {
  const first = numberOption(args, "--seed") ?? 1;
  const count = numberOption(args, "--seeds") ?? Infinity;
  const canary = option(args, "--canary");
  using _planted = canary === undefined ? undefined : plant(canary);
  for (let seed = first; seed < first + count; seed++) {
    const problems = await checkWorld({ seed });
    if (seed % DETERMINISM_SEEDS === 0) {
      problems.push(...await determinism({ seed }));
    }
    if (problems.length > 0) {
      for (const problem of problems.slice(0, PROBLEMS_MAX)) say(problem);
      const planted = canary === undefined ? "" : ` --canary ${canary}`;
      say(`Repeat with: deno task sim --seed ${seed} --seeds 1${planted}`);
      Deno.exitCode = 1;
      return;
    }
    const done = seed - first + 1;
    if (done % PROGRESS_SEEDS === 0) say(`${done} worlds, up to seed ${seed}`);
  }
  say(`${count} worlds from seed ${first}: nothing is wrong`);
}

function plant(name: string): Disposable {
  const canary = CANARIES[name];
  if (canary !== undefined) return canary.plant();
  throw new TypeError(
    `Cannot find canary "${name}": known are ${
      Object.keys(CANARIES).join(", ")
    }`,
  );
}
