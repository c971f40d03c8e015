/**
 * The tidy test: the house rules, over every file of the project.
 *
 * Invariant: each rule is seen to refuse a planted violation before it is
 * believed to find none.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { CONFIG_FLAGS } from "../../src/cli/flags.ts";
import { RUNTIME_VARIABLES } from "../../src/cli/runtime_variables.ts";
import {
  SECRET_VARIABLES,
  SERVICE_VARIABLES,
} from "../../src/cli/service_variables.ts";
import { test } from "../leakproof.ts";
import { FILE_RULES } from "./file_rules.ts";
import { allowedVariables, namedPaths, unregistered } from "./project_rules.ts";
import { existsInProject, type ProjectFile, projectFiles } from "./tree.ts";

const files = await projectFiles();

/** Documents whose paths must exist. */
const DOCUMENTS = ["README.md", "src/DESIGN.md"];

function textOf(path: string): string {
  const text = files.find((file) => file.path === path)?.text;
  assert(text !== undefined, `Cannot find ${path}, which has to be there`);
  return text;
}

for (const rule of FILE_RULES) {
  test(`tidy: ${rule.name}`, () => {
    for (const file of rule.planted) {
      assertEquals(rule.check(file).length, 1, `planted ${file.path}`);
    }
    const problems = files.flatMap((file) =>
      rule.check(file).map((problem) => `${file.path} ${problem}`)
    );
    assertEquals(problems, []);
  });
}

test("tidy: the rules let ordinary files pass", () => {
  const ordinary: ProjectFile[] = [
    {
      path: "src/core/a.ts",
      text: `/**\n * A.\n *\n * Invariant: b.\n *\n * @module\n */\n` +
        `import { b } from "./b.ts";\n// Deno.env, console. and Deno.exit\n`,
    },
    { path: "src/cli/edge.ts", text: textOf("src/cli/edge.ts") },
    { path: "src/core/a_test.ts", text: "\n".repeat(600) },
    { path: "bench/a.ts", text: `console.log(1); from "../src/core/a.ts";` },
    { path: ".ci/closed_network/a.ts", text: "" },
  ];
  for (const file of ordinary) {
    for (const rule of FILE_RULES) {
      assertEquals(rule.check(file), [], `${rule.name} ${file.path}`);
    }
  }
});

test("tidy: every extension stands in its register", () => {
  const planted = { path: "src/policies/a.ts", text: "export const a = 1;" };
  assertEquals(unregistered([...files, planted]), [planted.path]);
  assertEquals(unregistered(files), []);
});

test("tidy: documents name files that exist", async () => {
  const planted = "`src/core/none.ts` [a](tests/none.ts) [b](https://c) `src`";
  assertEquals(namedPaths(planted), ["src/core/none.ts", "tests/none.ts"]);
  const missing: string[] = [];
  for (const document of DOCUMENTS) {
    const folder = document.slice(0, document.lastIndexOf("/") + 1);
    for (const path of namedPaths(textOf(document))) {
      const exists = await existsInProject(path) ||
        await existsInProject(folder + path);
      if (!exists) missing.push(`${document} names ${path}`);
    }
  }
  assertEquals(missing, []);
});

test("tidy: the program may read its own variables, no others", () => {
  const planted = `"a": "deno run --allow-env=B,A main.ts",`;
  assertEquals(allowedVariables(planted, "a"), ["A", "B"]);
  const variables = [
    ...CONFIG_FLAGS.map((flag) => flag.env),
    ...RUNTIME_VARIABLES,
    ...Object.values({ ...SECRET_VARIABLES, ...SERVICE_VARIABLES })
      .map(({ name }) => name),
  ].sort();
  for (const task of ["start", "demo", "compile"]) {
    assertEquals(allowedVariables(textOf("deno.json"), task), variables, task);
  }
});

test("tidy: the rules see the whole project", () => {
  for (
    const path of ["main.ts", "deno.json", ".ci/run", "tests/leakproof.ts"]
  ) {
    textOf(path);
  }
});
