/**
 * Tests of completions, by the shells where they are.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import type { Command } from "./command.ts";
import { EXIT } from "./command.ts";
import { runCommandLine } from "./command_line.ts";
import { COMMANDS } from "./commands.ts";
import { candidatesOf } from "./completion_values.ts";
import { bashCompletions } from "./completions_bash.ts";
import { fishCompletions } from "./completions_fish.ts";
import { zshCompletions } from "./completions_zsh.ts";
import { processEdge } from "./edge.ts";

/** A command with everything that a shell may complete. */
const PROBE: Command = {
  name: "probe",
  summary: "Say 'hi': a [b] \\c",
  operand: "one|two",
  flags: [
    flag("--input", "FILE"),
    flag("--place", "DIR"),
    flag("--format", "text|json"),
    flag("--number", "N"),
    flag("--switch", undefined),
  ],
  run: () => Promise.resolve(EXIT.ok),
};

const WITH_PROBE = [...COMMANDS, PROBE];

function flag(name: string, value: string | undefined) {
  const doc = "It's a [b]: \\c";
  return { name, value, env: undefined, isList: false, doc };
}

/** Milliseconds until a shell must have ended. */
const SHELL_MS_MAX = 20_000;

/** Where a shell's completions are tried: a file and a folder are there. */
async function withFolder(body: (folder: string) => Promise<void>) {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.mkdir(`${folder}/some dir`);
    await Deno.writeTextFile(`${folder}/some file`, "");
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Runs a shell; `undefined` where it is not to be had. */
async function shell(
  name: string,
  script: string,
  cwd?: string,
): Promise<string | undefined> {
  try {
    const { stdout, stderr } = await new Deno.Command(name, {
      args: [...(name === "zsh" ? ["-f"] : []), "-c", script],
      ...(cwd === undefined ? {} : { cwd }),
      env: { HOME: cwd ?? "/", TERM: "dumb", LC_ALL: "C.UTF-8" },
      signal: AbortSignal.timeout(SHELL_MS_MAX),
    }).output();
    const decoder = new TextDecoder();
    return decoder.decode(stdout) + decoder.decode(stderr);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** How a test of a shell is declared. */
async function shellTest(
  name: string,
  what: string,
  body: () => Promise<void>,
): Promise<void> {
  const ignore = await shell(name, ":") === undefined;
  const why = ignore ? ` (left out: there is no ${name})` : "";
  test(`${name} ${what}${why}`, body, { ignore });
}

/** A line as typed up to the cursor, and some of what must be offered. */
const LINES: readonly {
  readonly line: string;
  readonly offered: readonly string[];
  readonly never: readonly string[];
}[] = [
  {
    line: "tryst ",
    offered: COMMANDS.map(({ name }) => name),
    never: ["--listen", "some file"],
  },
  { line: "tryst se", offered: ["serve"], never: ["check"] },
  { line: "tryst serve --li", offered: ["--listen"], never: ["--workers"] },
  { line: "tryst drain --", offered: ["--wait"], never: ["--listen"] },
  { line: "tryst completions ", offered: ["bash", "zsh", "fish"], never: [] },
  { line: "tryst probe t", offered: ["two"], never: ["one"] },
  { line: "tryst probe --format ", offered: ["text", "json"], never: ["one"] },
  { line: "tryst probe --input some", offered: ["file", "dir"], never: [] },
  { line: "tryst probe --place some", offered: ["dir"], never: ["file"] },
];

function assertOffered(
  said: string | undefined,
  { line, never, offered }: (typeof LINES)[number],
): void {
  assert(said !== undefined);
  for (const word of offered) assert(said.includes(word), `${line}: ${said}`);
  for (const word of never) assert(!said.includes(word), `${line}: ${said}`);
}

test("tryst completions refuses shells that it does not know", async () => {
  const table: [shell: string, code: number, err: RegExp][] = [
    ["", 2, /^Cannot go on without bash\|zsh\|fish/],
    ["bsh", 2, /^Cannot complete for shell "bsh": did you mean "bash"\?/],
    ["powershell", 2, /known are bash, zsh, fish/],
    ["bash", 0, /^$/],
    ["zsh", 0, /^$/],
    ["fish", 0, /^$/],
  ];
  for (const [name, code, pattern] of table) {
    let [out, err] = ["", ""];
    const argv = ["completions", name].filter((word) => word !== "");
    const found = await runCommandLine(argv, {
      edge: {
        ...processEdge(),
        denoVersion: "2.9.6",
        out: (text) => void (out += text),
        err: (text) => void (err += text),
      },
      commands: COMMANDS,
    });
    assertEquals([found, out === ""], [code, code !== 0], name);
    assertMatch(err, pattern);
  }
});

test("candidatesOf() tells words from names", () => {
  const table: [
    name: string | undefined,
    kind: string,
    words?: readonly string[],
  ][] = [
    [undefined, "none"],
    ["", "none"],
    ["N", "none"],
    ["HOST:PORT", "none"],
    ["A|B", "none"],
    ["FILE", "files"],
    ["DIR", "folders"],
    ["text|json", "words", ["text", "json"]],
    ["text|", "none"],
    ["a b|c", "none"],
  ];
  for (const [name, kind, words] of table) {
    const candidates = candidatesOf(name);
    assertEquals(candidates.kind, kind, name);
    if (candidates.kind === "words") assertEquals(candidates.words, words);
  }
});

await shellTest("bash", "offers what the program takes", async () => {
  await withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/.rc`, bashCompletions(WITH_PROBE));
    for (const row of LINES) {
      // Completion asks for the last word, which may be empty.
      const words = row.line.split(" ").map((word) => `'${word}'`).join(" ");
      const said = await shell(
        "bash",
        // compopt speaks to a completion under way, which there is none of.
        `set -eu; compopt() { :; }; source ./.rc; COMP_WORDS=(${words})
        COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _tryst
        printf '%s\\n' "\${COMPREPLY[@]}"`,
        folder,
      );
      assertOffered(said, row);
    }
    const split = await shell(
      "bash",
      `set -eu; source ./.rc; COMP_WORDS=(tryst probe --format = j)
      COMP_CWORD=4; _tryst; printf '%s\\n' "\${COMPREPLY[@]}"
      COMP_WORDS=(tryst probe --format =); COMP_CWORD=3; _tryst
      printf '%s\\n' "\${COMPREPLY[@]}"`,
      folder,
    );
    assertEquals(split, "json\ntext\njson\n");
  });
});

await shellTest("fish", "offers what the program takes", async () => {
  await withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/.rc`, fishCompletions(WITH_PROBE));
    for (const row of LINES) {
      const script = `source ./.rc; complete -C ${JSON.stringify(row.line)}`;
      assertOffered(await shell("fish", script, folder), row);
    }
  });
});

await shellTest("zsh", "offers what the program takes", async () => {
  await withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/.rc`, zshCompletions(WITH_PROBE));
    for (const row of LINES) {
      // Keys are taken in their order, so what follows the tabulator comes
      // after its list.
      const script = `zmodload zsh/zpty; zpty it zsh -f -i
      zpty -w it 'autoload -Uz compinit; compinit -D -u; cd ${folder}'
      zpty -w it 'source ./.rc; zstyle ":completion:*" list-prompt ""'
      zpty -w it 'LISTMAX=999; bindkey "^I" list-choices; PS1=rea""dy'
      zpty -r -m it said '*ready*'
      zpty -n -w it ${JSON.stringify(row.line)}$'\\t\\C-u'
      zpty -w it 'echo fin""ished'
      zpty -r -m it said '*finished*'; print -r -- $said; zpty -d it`;
      assertOffered(await shell("zsh", script, folder), row);
    }
  });
});
