/**
 * Tests of `tryst simulate`: what it refuses, and that it prints what it ran.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { runCommandLine } from "./command_line.ts";
import { type Edge, processEdge } from "./edge.ts";
import { simulateCommand } from "./simulate.ts";

async function run(line: string) {
  let [out, err] = ["", ""];
  const edge: Edge = {
    ...processEdge(),
    denoVersion: "2.9.6",
    env: () => undefined,
    out: (text) => void (out += `${text}\n`),
    err: (text) => void (err += `${text}\n`),
  };
  const commands = [simulateCommand];
  const code = await runCommandLine(`simulate ${line}`.trim().split(" "), {
    edge,
    commands,
  });
  return { code, out, err };
}

test("simulate refuses what it cannot run", async () => {
  const table = [
    ["--engines 0", `"--engines" as it must be a whole number from 1 to 64`],
    ["--programs 9", `"--programs" as it must be a whole number from 10`],
    ["--load 0", `"--load" as it must be a number from 0.01 to 2`],
    ["--seed x", `"--seed" as it must be a whole number`],
    ["--workload x", "known are sharegpt, bfcl, lats, mixed"],
    ["--policy x", `Cannot find contender "x": known are round_robin`],
    ["--overdue 45", `"queue.overdue" as it must be a duration`],
    ["--overdue 2m", "queue.overdue"],
  ] as const;
  for (const [line, message] of table) {
    const { code, err, out } = await run(line);
    assertEquals([code, out], [2, ""], line);
    assert(err.includes(message), err);
  }
});

test("simulate prints a line for each contender asked for", async () => {
  const line = "--workload bfcl --programs 20 --policy fcfs --policy oracle" +
    " --engines 2 --patience 5s";
  const { code, err, out } = await run(line);
  assertEquals([code, err], [0, ""]);
  const lines = out.split("\n");
  assert(lines[0]?.startsWith("workload  contender"), out);
  assert(lines[1]?.startsWith("bfcl      fcfs "), out);
  assert(lines[2]?.startsWith("bfcl      oracle "), out);
  assertEquals(lines[3], "");
});

test("simulate prints JSON of the same figures each time", async () => {
  const line = "--workload bfcl --programs 20 --policy las --json";
  const { code, out } = await run(line);
  assertEquals(code, 0);
  const { rows } = JSON.parse(out);
  assertEquals(rows.length, 1);
  assertEquals(rows[0].contender, "las");
  assert(rows[0].figures.meanMs > 0);
  assertEquals((await run(line)).out, out);
});
