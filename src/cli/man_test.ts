/**
 * Tests of the manual page, by the formatters of manual pages where they are.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { configRows } from "../config/reference.ts";
import { test } from "../../tests/leakproof.ts";
import { EXIT } from "./command.ts";
import type { Command } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { manPage } from "./man_page.ts";

const PAGE = manPage(COMMANDS, "1.2.3");

/** Formatters, the arguments that have them complain, and what is no fault. */
const FORMATTERS: readonly {
  readonly program: string;
  readonly args: readonly string[];
  readonly harmless: RegExp;
}[] = [
  {
    program: "groff",
    args: ["-man", "-ww", "-Tutf8", "-z"],
    harmless: /^$/,
  },
  {
    program: "mandoc",
    args: ["-T", "lint", "-W", "warning"],
    // A page that is made anew by each version has a version for a date.
    harmless: /WARNING: missing date/,
  },
];

/** What a program says of a text; `undefined` where it is not to be had. */
async function saidOf(
  text: string,
  program: string,
  args: readonly string[],
): Promise<string | undefined> {
  try {
    const child = new Deno.Command(program, {
      args: [...args],
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(text));
    await writer.close();
    const { stdout, stderr } = await child.output();
    const decoder = new TextDecoder();
    return decoder.decode(stdout) + decoder.decode(stderr);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Text as roff shows it: letters alone, which no escape hides. */
function letters(text: string): string {
  return text.replace(/\\f[BIR]|\\\(dq|\\\(aq|\\./g, "").replace(/\W/g, "");
}

test("manPage() tells every command, flag, variable, key and exit code", () => {
  const shown = letters(PAGE);
  for (const { name, summary, flags } of COMMANDS) {
    assertStringIncludes(
      PAGE,
      `.SS "tryst ${name.replaceAll("-", "\\-")}`,
    );
    assertStringIncludes(shown, letters(summary));
    for (const { name, env, doc } of flags) {
      assertStringIncludes(PAGE, `\\fB${name.replaceAll("-", "\\-")}\\fR`);
      assertStringIncludes(shown, letters(doc));
      if (env !== undefined) assertStringIncludes(PAGE, `\\fB${env}\\fR`);
    }
  }
  for (const { key, doc } of configRows()) {
    assertStringIncludes(PAGE, `\n\\fB${key.replaceAll("-", "\\-")}\\fR\n`);
    assertStringIncludes(shown, letters(doc));
  }
  for (const code of Object.values(EXIT)) {
    assertStringIncludes(PAGE, `\n\\fB${code}\\fR\n`);
  }
});

test("manPage() takes no text for a request or an escape", () => {
  const hostile: Command = {
    name: "a",
    summary: ".so /etc/passwd\\n'x",
    operand: 'B"C',
    flags: [{
      name: "--b",
      value: "C\\D",
      env: undefined,
      isList: false,
      doc: "'tm\n.tm\n-x",
    }],
    run: () => Promise.resolve(EXIT.ok),
  };
  const page = manPage([hostile], "1");
  assertStringIncludes(page, '\n.SS "tryst a B\\(dqC"\n');
  assertStringIncludes(page, "\n\\&.so /etc/passwd\\en\\(aqx.\n");
  assertStringIncludes(page, "\n\\(aqtm .tm \\-x.\n");
  assertStringIncludes(page, "\\fIC\\eD\\fR");
});

for (const { program, args, harmless } of FORMATTERS) {
  const planted = await saidOf(".nosuchrequest\n", program, args);
  const why = planted === undefined
    ? ` (left out: there is no ${program})`
    : "";
  test(
    `${program} takes the manual page without a complaint${why}`,
    async () => {
      assert(planted !== "", "the planted fault is not seen");
      const said = await saidOf(PAGE, program, args);
      const faults = said?.split("\n").filter((line) => !harmless.test(line))
        .filter((line) => line !== "");
      assertEquals(faults, []);
    },
    { ignore: planted === undefined },
  );
}
