/**
 * Tests of the arguments.
 *
 * Invariant: an argument that changes nothing is an argument that complains.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { parseArgs } from "./args.ts";
import { CONFIG_FLAGS } from "./flags.ts";

test("parseArgs() complains about each argument that it cannot use", () => {
  const table: [string, string[]][] = [
    ["--lisen h:1", [`Cannot find flag "--lisen": did you mean "--listen"?`]],
    ["--zzz", [`Cannot find flag "--zzz": known are --config, --listen`]],
    ["--zzz=1 --yyy", [`"--zzz"`, `"--yyy"`]],
    ["x", [`Cannot use argument "x"`]],
    ["--listen", [`Cannot use "--listen" without a value: want HOST:PORT`]],
    ["--listen=", [`without a value`]],
    ["--listen --admin h:1", [`"--listen" without a value`]],
    ["--workers 1 --workers 2", [`"--workers" twice: "1" and "2"`]],
    ["--lisen h:1 x --workers", [`"--lisen"`, `argument "x"`, `"--workers"`]],
  ];
  for (const [line, pieces] of table) {
    const { problems } = parseArgs(line.split(" "), CONFIG_FLAGS);
    assertEquals(problems.length, pieces.length, problems.join("\n"));
    for (const [at, piece] of pieces.entries()) {
      assert(problems[at]?.includes(piece), `${problems[at]} has no ${piece}`);
    }
  }
});

test("parseArgs() reads both spellings, repeats and a wish for help", () => {
  const line = "--endpoint a --endpoint=b=c --workers 2 -h";
  const args = parseArgs(line.split(" "), CONFIG_FLAGS);
  assertEquals(args, {
    wantsHelp: true,
    operand: "",
    values: new Map([["--endpoint", ["a", "b=c"]], ["--workers", ["2"]]]),
    problems: [],
  });
  assertEquals(parseArgs([], CONFIG_FLAGS).wantsHelp, false);
});

test("parseArgs() takes switches and one operand where they are wanted", () => {
  const flags = [
    {
      name: "--json",
      value: undefined,
      isList: false,
      doc: "",
      env: undefined,
    },
    { name: "--wait", value: "TIME", isList: false, doc: "", env: undefined },
  ];
  const bad: [string, string[]][] = [
    ["--json", ["without NAME"]],
    ["--json=1 a", [`"--json" with a value: it takes none`]],
    ["a b", [`Cannot use argument "b"`]],
    ["a --json b", [`Cannot use argument "b"`]],
    ["--wait 1s", ["without NAME"]],
  ];
  for (const [line, pieces] of bad) {
    const { problems } = parseArgs(line.split(" "), flags, "NAME");
    assertEquals(problems.length, pieces.length, problems.join("\n"));
    for (const [at, piece] of pieces.entries()) {
      assert(problems[at]?.includes(piece), `${problems[at]} has no ${piece}`);
    }
  }
  for (const line of ["a --json --wait 1s", "--json a --wait=1s"]) {
    assertEquals(parseArgs(line.split(" "), flags, "NAME"), {
      wantsHelp: false,
      operand: "a",
      values: new Map([["--json", []], ["--wait", ["1s"]]]),
      problems: [],
    });
  }
});
