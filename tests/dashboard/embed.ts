/**
 * Makes the module that holds the dashboard's page as text.
 *
 * `deno run -A tests/dashboard/embed.ts` writes it. The scripts of the page are
 * TypeScript so that they are checked against the types of the status; what
 * the browser gets is the same text with blanks for types, line for line.
 *
 * A module of text, and not imports of text: those are stable in the target
 * version of Deno only, and taking types out is what it alone can do.
 *
 * @module
 */
import nodeModule from "node:module";

const FOLDER = new URL("../../src/admin/dashboard/", import.meta.url);

/** The module that is made. */
export const EMBEDDED = new URL("embedded_page.ts", FOLDER);

const HEADER = `/**
 * The page of the dashboard as text, made by tests/dashboard/embed.ts from the
 * files beside this one.
 *
 * Invariant: a test holds it to those files; it is never edited by hand.
 *
 * @module
 */

// deno-fmt-ignore-file -- made by a program
`;

/** What takes types out of text; only the target version of Deno has it. */
type Strip = (text: string) => string;

/** @returns `undefined` on a version of Deno that cannot take types out. */
export async function embeddedText(): Promise<string | undefined> {
  const strip: unknown = Reflect.get(nodeModule, "stripTypeScriptTypes");
  if (typeof strip !== "function") return undefined;
  const assets: [string, string][] = [];
  for (const name of ["icon.svg", "page.css"]) {
    assets.push([name, await textOf(name)]);
  }
  const scripts = await Array.fromAsync(Deno.readDir(new URL("page/", FOLDER)));
  for (const { name } of scripts) {
    if (!name.endsWith(".ts") || name.endsWith("_test.ts")) continue;
    const text = scriptOf(await textOf(`page/${name}`), (it) => strip(it));
    assets.push([name.replace(/\.ts$/, ".js"), text]);
  }
  assets.sort(([a], [b]) => a < b ? -1 : 1);
  const lines = assets.map(([name, text]) =>
    `  ${JSON.stringify(name)}: ${JSON.stringify(text)},\n`
  );
  return HEADER +
    `export const PAGE_HTML: string = ${
      JSON.stringify(await textOf("page.html"))
    };\n\n` +
    `export const PAGE_ASSETS: Readonly<Record<string, string>> = {\n` +
    `${lines.join("")}};\n`;
}

function textOf(name: string): Promise<string> {
  return Deno.readTextFile(new URL(name, FOLDER));
}

/** A script as browsers take it: no types, and the names it is served by. */
function scriptOf(text: string, strip: Strip): string {
  return strip(text)
    .replaceAll(/^(\} from|import) "(\.\/[a-z_]+)\.ts";/gm, '$1 "$2.js";')
    .replaceAll(/(import .*) from "(\.\/[a-z_]+)\.ts";/g, '$1 from "$2.js";')
    .replaceAll(/[ \t]+$/gm, "");
}

if (import.meta.main) {
  const text = await embeddedText();
  if (text === undefined) {
    throw new Error("Cannot take types out: use Deno 2.9");
  }
  await Deno.writeTextFile(EMBEDDED, text);
}
