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
    ["--overdue 2m --timeout 1m", "queue.overdue"],
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

test("simulate says so when no call had to wait", async () => {
  const note = "No call waited in the queue for 1 s";
  const table: [line: string, isTold: boolean][] = [
    ["--policy fcfs --programs 10 --load 0.05", true],
    ["--policy fcfs --programs 200 --workload bfcl", false],
    // Its calls never wait there.
    ["--policy round_robin --programs 10 --load 0.05", false],
  ];
  for (const [line, isTold] of table) {
    const { out } = await run(line);
    assertEquals(out.includes(note), isTold, out);
  }
});

test("simulate plots several loads, or the one it is given", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const file = `${folder}/plot.svg`;
    const line = `--policy fcfs --programs 10 --workload bfcl --svg ${file}`;
    const several = await run(`${line} --json`);
    assertEquals([several.code, several.err], [0, ""]);
    assertEquals(
      JSON.parse(several.out).rows.map(({ load }: { load: number }) => load),
      [0.7, 0.85, 0.9, 0.95],
    );
    const svg = await Deno.readTextFile(file);
    assert(svg.startsWith("<svg "), svg);
    assert(svg.includes(">0.70<") && svg.includes(">0.95<"), svg);
    await run(`${line} --load 0.5`);
    const one = await Deno.readTextFile(file);
    assert(one.includes(">0.50<") && !one.includes(">0.95<"), one);
    const failed = await run(line.replace("plot.svg", "none/plot.svg"));
    assertEquals(failed.code, 1);
    assert(failed.out !== "" && failed.err.startsWith('Cannot write "'));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
