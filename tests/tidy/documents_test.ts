/**
 * Tests that what README and DESIGN promise is so.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { parse as parseYaml } from "@std/yaml/parse";
import project from "../../deno.json" with { type: "json" };
import { HELP_FLAGS } from "../../src/cli/args.ts";
import { COMMANDS } from "../../src/cli/commands.ts";
import { LOAD_NAMES } from "../../src/cli/load_names.ts";
import { complaintsText, parseConfig } from "../../src/config/parse.ts";
import { configWarnings } from "../../src/config/warnings.ts";
import { test } from "../leakproof.ts";
import { blocksOf, namedCommands, namedTasks } from "./documents.ts";
import { levelOf } from "./rooms.ts";

const ROOT = new URL("../../", import.meta.url);
const readme = await Deno.readTextFile(new URL("README.md", ROOT));
const design = await Deno.readTextFile(new URL("src/DESIGN.md", ROOT));

/** What is wrong with a configuration in text; empty when nothing is. */
function problemsOf(yaml: string): string {
  const result = parseConfig(parseYaml(yaml, { schema: "core" }), {
    names: LOAD_NAMES,
  });
  return result.kind === "refused"
    ? complaintsText(result.complaints)
    : configWarnings(result.config, LOAD_NAMES.isPerRequest).join("\n");
}

test("README.md: every configuration is accepted without a warning", () => {
  assert(problemsOf("listn: a").includes("did you mean"));
  assert(problemsOf("listen: 127.0.0.1:1").includes("No endpoint"));
  assertEquals(blocksOf("```yaml\na: 1\n```\n\n```sh\nb\n```\n", "yaml"), [
    "a: 1\n",
  ]);
  const examples = blocksOf(readme, "yaml");
  assert(examples.length >= 3, `there are ${examples.length}`);
  for (const example of examples) assertEquals(problemsOf(example), "");
});

test("README.md: every command and flag is one of the program", () => {
  const planted = "```sh\n./tryst serv --a 1 \\\n  --b-c\n```\n";
  assertEquals(namedCommands(planted), [
    { name: "serv", flags: ["--a", "--b-c"] },
  ]);
  const commands = namedCommands(readme);
  assert(commands.length >= 3, `there are ${commands.length}`);
  for (const { name, flags } of commands) {
    const command = COMMANDS.find((command) => command.name === name);
    assert(command !== undefined, `README.md names the command "${name}"`);
    const known = [...command.flags.map((flag) => flag.name), ...HELP_FLAGS];
    for (const flag of flags) {
      assert(known.includes(flag), `README.md says "tryst ${name} ${flag}"`);
    }
  }
});

test("documents: every task is one of deno.json", () => {
  assertEquals(namedTasks("`deno task test:none` and deno task b."), [
    "test:none",
    "b",
  ]);
  const known = Object.keys(project.tasks);
  const named = namedTasks(readme + design);
  assertEquals(named.filter((name) => !known.includes(name)), []);
});

/**
 * The rooms that a document's table lists: rows of a level and its rooms in
 * backquotes, such as `| 1 | ``policies`` ``config`` | pure |`.
 */
function roomRows(
  markdown: string,
): { readonly room: string; readonly level: number }[] {
  return [...markdown.matchAll(/^\| (\d) +\| ([^|]+)\|/gm)].flatMap((
    [, level, rooms = ""],
  ) =>
    [...rooms.matchAll(/`(\w+)`/g)].map(([, room = ""]) => ({
      room,
      level: Number(level),
    }))
  );
}

test("DESIGN.md: the table of rooms is that of the import rule", async () => {
  assertEquals(roomRows("| 1 | `a` `b` | c |\n"), [
    { room: "a", level: 1 },
    { room: "b", level: 1 },
  ]);
  const rows = roomRows(design);
  for (const { room, level } of rows) {
    assertEquals(levelOf(`src/${room}/a.ts`), level, room);
  }
  const rooms: string[] = [];
  for await (const entry of Deno.readDir(new URL("src/", ROOT))) {
    if (entry.isDirectory) rooms.push(entry.name);
  }
  assertEquals(rows.map(({ room }) => room).sort(), rooms.sort());
});

test("DESIGN.md: it stays a document that one reads at once", () => {
  assert(design.trimEnd().split("\n").length <= 450);
});
