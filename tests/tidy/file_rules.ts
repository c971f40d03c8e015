/**
 * The house rules that one file can break.
 *
 * Adding a rule is adding a row, with a violation that the test plants to see
 * the row refuse it.
 *
 * Invariant: a rule is a function of path and text alone.
 *
 * @module
 */
import { importProblem } from "./rooms.ts";
import type { ProjectFile } from "./tree.ts";

/** One rule. */
export interface FileRule {
  readonly name: string;
  /** What is wrong; empty when nothing is. */
  check(file: ProjectFile): string[];
  /** Files that break the rule once each. */
  readonly planted: readonly ProjectFile[];
}

/** Lines of a file; tests hold tables and may be longer. */
const LINES_MAX = { source: 300, test: 600 };

/** Words that name a drawer, not a thing. */
const DRAWERS = /^(utils?|helpers?|common|managers?|misc|types?)$/;

/** Where one may be used at all, of the sources. */
const ONLY_IN: readonly (readonly [what: RegExp, where: string])[] = [
  [/\bDeno\s*\.\s*env\b/, "src/cli/edge.ts"],
  [/\bDeno\s*\.\s*exit\b/, "main.ts"],
  [/\bconsole\s*\./, "src/system/log.ts"],
];

/** Folders that exist on somebody's machine only. */
const MACHINE_PATH = /(?<![\w.])\/(root|home|Users|work)\/\w/;

/** Hosts of package registries, in two parts so that no file names one. */
const REGISTRY_HOSTS: readonly string[] = [
  ["npmjs", "org"],
  ["npmjs", "com"],
  ["jsr", "io"],
  ["pypi", "org"],
  ["pythonhosted", "org"],
  ["crates", "io"],
].map((parts) => parts.join("."));

/** Where a registry has to be named, as it is stood in for. */
const REGISTRY_FOLDER = ".ci/closed_network/";

/** All rules, in the order of the README. */
export const FILE_RULES: readonly FileRule[] = [
  {
    name: "imports go down",
    check: importsUp,
    planted: [
      at("src/core/a.ts", `import { b } from "../gateway/b.ts";`),
      at("src/core/a.ts", `export {\n  b,\n} from "../gateway/b.ts";`),
      at("src/core/a.ts", `export * from "../gateway/b.ts";`),
      at("src/core/a.ts", `import "../gateway/b.ts";`),
      at("src/core/a.ts", `const b = import("../gateway/b.ts");`),
    ],
  },
  {
    name: "files are short",
    check: tooLong,
    planted: [
      at("src/core/a.ts", "\n".repeat(301)),
      at("src/core/a_test.ts", "\n".repeat(601)),
      at("tests/tidy/a.ts", "\n".repeat(601)),
    ],
  },
  {
    name: "names are snake_case and name a thing",
    check: badName,
    planted: [
      at("src/core/aB.ts", ""),
      at("src/core/a-b.ts", ""),
      at("src/core/index.ts", ""),
      at("src/core/string_util.ts", ""),
      at("src/helpers/a.ts", ""),
      at("src/core/types.ts", ""),
    ],
  },
  {
    name: "sources say what they are and what they keep true",
    check: noHeader,
    planted: [
      at("src/core/a.ts", "export const a = 1;"),
      at("src/core/a.ts", "/**\n * Invariant: none.\n */"),
      at("main.ts", "/**\n * What it is.\n *\n * @module\n */"),
    ],
  },
  {
    name: "environment, exit and console have one place each",
    check: outOfPlace,
    planted: [
      at("src/cli/a.ts", `const a = Deno.env.get("A");`),
      at("src/cli/a.ts", `Deno.exit(1);`),
      at("src/server/a.ts", `console.log("a");`),
    ],
  },
  {
    name: "ignored lint rules have a reason",
    check: ignoreWithoutReason,
    planted: [
      at("tests/a.ts", `// ${"deno"}-lint-ignore no-console`),
      at("tests/a.ts", `// ${"deno"}-lint-ignore-file no-console -- `),
    ],
  },
  {
    name: "tests are declared leak-proof",
    check: bareTest,
    planted: [at("src/core/a_test.ts", `${"Deno"}.test("a", () => {});`)],
  },
  {
    name: "nothing points at a machine or a registry",
    check: foreignName,
    planted: [
      at("README.md", `See ${"/home"}/me/tryst.`),
      at("tests/a.ts", `"https://registry.${REGISTRY_HOSTS[0]}/a"`),
      at("src/core/a.ts", `from "https://${REGISTRY_HOSTS[2]}/a"`),
    ],
  },
];

function at(path: string, text: string): ProjectFile {
  return { path, text };
}

function isCode(path: string): boolean {
  return path.endsWith(".ts");
}

/** Sources are what the program is made of. */
function isSource(path: string): boolean {
  return isCode(path) && !path.endsWith("_test.ts") &&
    (path === "main.ts" || path.startsWith("src/"));
}

function importsUp({ path, text }: ProjectFile): string[] {
  if (!isCode(path)) return [];
  const imports = withoutComments(text).matchAll(
    /(?:^|[\s;}])(?:from|import)\s*\(?\s*["']([^"'\n]+)["']/g,
  );
  return [...imports].flatMap(([, specifier = ""]) =>
    importProblem(path, specifier) ?? []
  );
}

function tooLong({ path, text }: ProjectFile): string[] {
  if (!isCode(path)) return [];
  const isTest = path.startsWith("tests/") || path.endsWith("_test.ts");
  const max = isTest ? LINES_MAX.test : LINES_MAX.source;
  const lines = text.replace(/\n$/, "").split("\n").length;
  return lines > max ? [`has ${lines} lines: at most ${max}`] : [];
}

function badName({ path }: ProjectFile): string[] {
  if (!isCode(path)) return [];
  const parts = path.replace(/\.ts$/, "").split("/");
  const isSnake = parts.every((part) =>
    /^\.?[a-z0-9]+(_[a-z0-9]+)*$/.test(part)
  );
  if (!isSnake) return ["is not in snake case"];
  const words = parts.flatMap((part) => part.split("_"));
  const drawer = words.find((word) => DRAWERS.test(word));
  if (drawer !== undefined) return [`is named "${drawer}": name the thing`];
  return parts.at(-1) === "index" ? [`is named "index": use mod.ts`] : [];
}

function noHeader({ path, text }: ProjectFile): string[] {
  if (!isSource(path)) return [];
  const header = /^\/\*\*\n(?: \*.*\n)*? \*\//.exec(text)?.[0] ?? "";
  const missing = ["Invariant: ", "@module"].filter((it) =>
    !header.includes(it)
  );
  return missing.length === 0 ? [] : [`opens without ${missing.join(", ")}`];
}

function outOfPlace({ path, text }: ProjectFile): string[] {
  if (!isSource(path)) return [];
  const code = withoutComments(text);
  return ONLY_IN
    .filter(([what, where]) => path !== where && what.test(code))
    .map(([what, where]) => `uses ${what.source}, whose place is ${where}`);
}

function ignoreWithoutReason({ path, text }: ProjectFile): string[] {
  if (!isCode(path)) return [];
  const ignores = text.match(/\/\/ deno-lint-ignore.*/g) ?? [];
  return ignores
    .filter((line) => !/ -- \S/.test(line))
    .map((line) => `has no reason after -- in "${line}"`);
}

function bareTest({ path, text }: ProjectFile): string[] {
  if (!isCode(path) || path === "tests/leakproof.ts") return [];
  const isBare = /\bDeno\s*\.\s*test\b\s*[.(]/.test(withoutComments(text));
  return isBare ? ["declares a test without tests/leakproof.ts"] : [];
}

function foreignName({ path, text }: ProjectFile): string[] {
  const problems: string[] = [];
  const machine = MACHINE_PATH.exec(text)?.[0];
  if (machine !== undefined) problems.push(`names the folder "${machine}"`);
  if (path.startsWith(REGISTRY_FOLDER)) return problems;
  const host = REGISTRY_HOSTS.find((host) => text.includes(host));
  if (host !== undefined) problems.push(`names the host "${host}"`);
  return problems;
}

/** Code without whole-line comments; enough to let comments speak of names. */
function withoutComments(text: string): string {
  return text.replace(/^\s*(\/\/|\/?\*).*$/gm, "");
}
