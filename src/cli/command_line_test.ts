/**
 * Tests of the command line as a whole, over the real register.
 *
 * Invariant: exit codes are 0 for done, 1 for failed, 2 for refused.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { configRows } from "../config/reference.ts";
import { test } from "../../tests/leakproof.ts";
import { runCommandLine } from "./command_line.ts";
import type { Command } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { type Edge, processEdge } from "./edge.ts";

async function run(
  line: string,
  { denoVersion = "2.9.6", commands = COMMANDS }: {
    denoVersion?: string;
    commands?: readonly Command[];
  } = {},
) {
  let [out, err] = ["", ""];
  const edge: Edge = {
    ...processEdge(),
    denoVersion,
    env: () => undefined,
    out: (text) => void (out += `${text}\n`),
    err: (text) => void (err += `${text}\n`),
  };
  const argv = line.split(" ").filter((arg) => arg !== "");
  const code = await runCommandLine(argv, { edge, commands });
  return { code, out, err };
}

test("runCommandLine() refuses with exit code 2 and a hint", async () => {
  const table: [string, RegExp][] = [
    ["", /Usage: tryst COMMAND/],
    ["chek", /^Cannot find command "chek": did you mean "check"\?/],
    ["--listen", /^Cannot find command "--listen": known are /],
    ["version now", /^Cannot use argument "now"/],
    ["check --confg x", /did you mean "--config"\?/],
    ["check --workers 0 --listen x", /"--listen"[^]*"--workers"/],
  ];
  for (const [line, pattern] of table) {
    const { code, out, err } = await run(line);
    assertEquals([code, out], [2, ""], line);
    assertMatch(err, pattern);
  }
});

test("runCommandLine() refuses a damaged Deno before all else", async () => {
  const { code, err } = await run("version", { denoVersion: "2.9.5" });
  assertEquals(code, 2);
  assertMatch(err, /^Cannot run on Deno 2\.9\.5/);
});

test("runCommandLine() answers 1 when a command throws", async () => {
  const broken: Command = {
    name: "broken",
    summary: "Throw",
    flags: [],
    run: () => Promise.reject(new Error("Cannot do it")),
  };
  const { code, err } = await run("broken", { commands: [broken] });
  assertEquals(code, 1);
  assertMatch(err, /^Cannot go on with "broken": Error: Cannot do it/);
});

test("runCommandLine() has help for the program and every command", async () => {
  for (const line of ["--help", "-h"]) {
    const { code, out } = await run(line);
    assertEquals(code, 0);
    for (const { name } of COMMANDS) assert(out.includes(`  ${name} `), name);
  }
  for (const { name, flags } of COMMANDS) {
    const { code, out, err } = await run(`${name} --help`);
    assertEquals([code, err], [0, ""]);
    for (const { env, name } of flags) assert(out.includes(env ?? name), name);
  }
  const { out } = await run("check --zzz --help");
  for (const { key } of configRows()) assert(out.includes(key), key);
});

test("COMMANDS have distinct names and one line of summary", () => {
  const names = COMMANDS.map((command) => command.name);
  assertEquals(new Set(names).size, names.length);
  assert(COMMANDS.every(({ summary }) => /^[A-Z][^\n]*[^.]$/.test(summary)));
});

test("tryst version prints both versions", async () => {
  const { code, out } = await run("version");
  assertEquals(code, 0);
  assertMatch(out, /^tryst \d+\.\d+\.\d+ \(Deno 2\.9\.6\)\n$/);
});

test("tryst check prints every key in effect", async () => {
  const { code, out, err } = await run(
    "check --endpoint http://h:1-2 --listen [::1]:80 --session-key default",
  );
  assertEquals([code, err], [0, ""]);
  assertMatch(out, /^OK\n/);
  assertMatch(out, /listen +\[::1\]:80\n/);
  assertMatch(out, /session\.idle_ttl +30m\n/);
  assertMatch(out, / {2}http:\/\/h:2 weight 1, max_in_flight auto\n/);
  for (const { key } of configRows()) {
    const isOfEntry = /\[\]|\.NAME\./.test(key);
    assert(isOfEntry || out.includes(`${key} `), key);
  }
});
