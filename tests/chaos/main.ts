/**
 * The chaos: the gateway in a process of its own, two workers, four engines in
 * theirs, clients that leave, and engines that are killed, frozen, reset,
 * restarted and slowed at random.
 *
 *     main.ts [--seconds N] [--seed N] [--canary NAME] [--narrow] [--deaths]
 *
 * A narrow run has few places for many clients, so that requests wait. With
 * deaths, workers die as well; a request for a tunnel that waits in one may then
 * be left without an end, as the runtime keeps its socket. With a canary, a bug is planted in the gateway and has to be found.
 *
 * Invariant: the seed is printed first, and exit code 1 says that something is
 * wrong with the gateway, or that nothing was found wrong with a canary.
 *
 * @module
 */
import { numberOption, option, say } from "../run_options.ts";
import type { Journal } from "./journal.ts";
import { runChaos, type RunResult } from "./run.ts";

/** A run that ends in a coffee break. */
const SECONDS_DEFAULT = 60;

/** Problems printed of one run; the first is mostly the cause of the rest. */
const PROBLEMS_MAX = 20;

if (import.meta.main) await main(Deno.args);

async function main(args: readonly string[]): Promise<void> {
  const seed = numberOption(args, "--seed") ?? Date.now() % 1_000_000_007;
  const seconds = numberOption(args, "--seconds") ?? SECONDS_DEFAULT;
  const canary = option(args, "--canary");
  say(`chaos: --seed ${seed} --seconds ${seconds}`);
  const result = await runChaos({
    seed,
    seconds,
    canary,
    isNarrow: args.includes("--narrow"),
    hasDeaths: args.includes("--deaths"),
  });
  summarize(result);
  const { problems } = result;
  for (const problem of problems.slice(0, PROBLEMS_MAX)) say(problem);
  const isFound = problems.length > 0;
  if (canary !== undefined) {
    say(`the canary "${canary}" was ${isFound ? "" : "not "}found`);
  } else say(`${problems.length} problems`);
  if (isFound !== (canary !== undefined)) Deno.exitCode = 1;
}

function summarize(result: RunResult): void {
  const { journal, weather, residentBytes, sockets, events } = result;
  say(`requests ${journal.clients.length}, by outcome:`);
  for (const line of table(outcomes(journal))) say(line);
  const begun = journal.engines.filter(({ kind }) => kind === "head").length;
  say(`begun by engines: ${begun}`);
  say("misfortunes of engines:");
  for (const line of table(weather)) say(line);
  say("events in the log of the gateway:");
  for (const line of table(events)) say(line);
  const { before, after } = residentBytes;
  const percent = (100 * (after / before - 1)).toFixed(1);
  say(
    `resident memory: ${mebibytes(before)} after the warm-up, ` +
      `${mebibytes(after)} at the end (${percent} %)`,
  );
  say(
    `sockets left: ${sockets.engines} to engines, ` +
      `${sockets.clients} to clients`,
  );
}

/** Counts of requests by how they ended. */
function outcomes(journal: Journal): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { end } of journal.clients) {
    const name = end.kind === "whole"
      ? `answered ${end.status} by ${
        end.by === "engine" ? "an engine" : `the gateway: ${end.by}`
      }`
      : end.kind === "broken" || end.kind === "left"
      ? `${end.kind} ${end.where}`
      : end.kind;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

function table(counts: ReadonlyMap<string, number>): string[] {
  return [...counts].toSorted(([a], [b]) => a < b ? -1 : 1)
    .map(([name, count]) => `  ${String(count).padStart(7)} ${name}`);
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
