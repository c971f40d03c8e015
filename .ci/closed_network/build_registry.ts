/**
 * Builds a folder that stands in for JSR: the metadata and files of the `@std`
 * packages which `deno.json` pins.
 *
 * Most of them come compiled to JavaScript out of an npm package that carries
 * them (made with dnt); the few that no npm package carries are the stand-ins
 * in `std`. A `JSR_URL` that names the folder makes `jsr:` imports resolve.
 *
 * Usage: `build_registry.ts OUT DNT STANDINS`, where DNT is the folder that
 * holds `deps/`.
 *
 * Invariant: a package is served under the pinned version and no other, so a
 * pin that is not served fails at once.
 *
 * @module
 */

/** Where each pinned package comes from. */
const PACKAGES: readonly Package[] = [
  { name: "assert", version: "1.0.19", isCompiled: true },
  { name: "crypto", version: "1.1.0", isCompiled: false },
  { name: "fmt", version: "1.0.9", isCompiled: true },
  { name: "fs", version: "1.0.23", isCompiled: true },
  { name: "http", version: "1.1.1", isCompiled: false },
  { name: "internal", version: "1.0.14", isCompiled: true },
  { name: "path", version: "1.1.4", isCompiled: true },
  { name: "testing", version: "1.0.17", isCompiled: true },
  { name: "yaml", version: "1.1.0", isCompiled: true },
];

/**
 * A package at a `file:` URL is checked like the project's own files, and what
 * is checked are declarations with empty bodies: every parameter is "unused".
 * The comment stays as long as the first statement of the file does.
 */
const NOCHECK_REASON = "-- declarations have empty bodies";

/** What dnt puts in place of the Deno global. */
const SHIMS = "_dnt_shims.js";

interface Package {
  readonly name: string;
  readonly version: string;
  /** Whether the npm package carries it; stand-ins are added either way. */
  readonly isCompiled: boolean;
}

/** Texts by path in a package. */
type Files = Map<string, string>;

async function build(out: string, dnt: string, standIns: string) {
  for (const pkg of PACKAGES) {
    const files = await standInFiles(`${standIns}/${pkg.name}`);
    if (pkg.isCompiled) {
      const root = `${dnt}/deps/jsr.io/@std/${pkg.name}/${pkg.version}`;
      for (const [path, text] of await compiledFiles(root)) {
        files.set(path, text);
      }
    }
    await writePackage(`${out}/@std/${pkg.name}`, pkg, files);
  }
}

async function standInFiles(folder: string): Promise<Files> {
  const files: Files = new Map();
  for (const path of await pathsIn(folder)) {
    const text = await Deno.readTextFile(`${folder}/${path}`);
    files.set(path, `// @ts-nocheck ${NOCHECK_REASON}\n${text}`);
  }
  return files;
}

async function compiledFiles(root: string): Promise<Files> {
  const files: Files = new Map();
  for (const path of await pathsIn(root)) {
    if (!/\.(js|d\.ts)$/.test(path)) continue;
    const text = await Deno.readTextFile(`${root}/${path}`);
    files.set(path, undoDnt(path, text));
  }
  files.set(
    SHIMS,
    "export const dntGlobalThis = globalThis;\n" +
      "export const Deno = globalThis.Deno;\n",
  );
  return files;
}

/** Turns what dnt has rewritten back into what JSR would serve. */
function undoDnt(path: string, text: string): string {
  const up = "../".repeat(path.split("/").length - 1) || "./";
  const direct = text
    .replaceAll(/(["'])(?:\.\.\/)+_dnt\.shims\.js\1/g, `"${up}${SHIMS}"`)
    .replaceAll(
      /(["'])(?:\.\.\/)+([a-z]+)\/(\d+\.\d+\.\d+)\/([^"']+)\.js\1/g,
      (_, _quote, name, version, file) =>
        `"jsr:@std/${name}@${version}${exportName(file).slice(1)}"`,
    )
    .replaceAll("dntShim.Deno.", "Deno.");
  if (path.endsWith(".d.ts")) {
    return direct.replaceAll(/^import \* as dntShim .*$/gm, "");
  }
  const types = path.slice(path.lastIndexOf("/") + 1).replace(/\.js$/, ".d.ts");
  return `/* @ts-self-types="./${types}" */\n${direct}`;
}

/** The export under which a package offers a file, for example `./parse`. */
function exportName(stem: string): string {
  const name = stem.replace(/(^|\/)mod$/, "").replaceAll("_", "-");
  return name === "" ? "." : `./${name}`;
}

function exportsOf(files: Files): Record<string, string> {
  const exports: Record<string, string> = {};
  for (const path of files.keys()) {
    if (path === SHIMS || path.endsWith(".d.ts")) continue;
    const stem = path.replace(/\.(js|ts)$/, "");
    exports[exportName(stem)] = `./${path}`;
    // Compiled packages refer to each other by file name.
    if (stem.includes("_")) exports[`./${stem}`] = `./${path}`;
  }
  return exports;
}

async function writePackage(root: string, pkg: Package, files: Files) {
  const manifest: Record<string, { size: number; checksum: string }> = {};
  for (const [path, text] of files) {
    const target = `${root}/${pkg.version}/${path}`;
    await Deno.mkdir(target.slice(0, target.lastIndexOf("/")), {
      recursive: true,
    });
    await Deno.writeTextFile(target, text);
    const bytes = new TextEncoder().encode(text);
    const checksum = `sha256-${await sha256Hex(bytes)}`;
    manifest[`/${path}`] = { size: bytes.length, checksum };
  }
  await Deno.writeTextFile(
    `${root}/${pkg.version}_meta.json`,
    JSON.stringify({ manifest, exports: exportsOf(files) }),
  );
  await Deno.writeTextFile(
    `${root}/meta.json`,
    JSON.stringify({
      scope: "std",
      name: pkg.name,
      latest: pkg.version,
      // A date in the past: Deno passes over versions that are very new.
      versions: { [pkg.version]: { createdAt: "2025-01-01T00:00:00Z" } },
    }),
  );
}

async function sha256Hex(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return new Uint8Array(digest).toHex();
}

/** Paths of all files in a folder; none when there is no such folder. */
async function pathsIn(folder: string, prefix = ""): Promise<string[]> {
  const paths: string[] = [];
  try {
    for await (const entry of Deno.readDir(`${folder}/${prefix}`)) {
      const path = prefix + entry.name;
      if (entry.isDirectory) paths.push(...await pathsIn(folder, `${path}/`));
      else paths.push(path);
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return paths;
}

const [out, dnt, standIns] = Deno.args;
if (out === undefined || dnt === undefined || standIns === undefined) {
  throw new TypeError("Cannot build the registry: want OUT DNT STANDINS");
}
await build(out, dnt, standIns);
