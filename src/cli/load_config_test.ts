/**
 * Tests of flags, variables and file together.
 *
 * Invariant: files are real ones; only variables and streams are stood in for.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { parseArgs } from "./args.ts";
import { type Edge, processEdge } from "./edge.ts";
import { CONFIG_FLAGS } from "./flags.ts";
import { loadConfig, type LoadNames } from "./load_config.ts";

const NAMES: LoadNames = {
  parseSource(text) {
    if (!text.startsWith("header:")) throw new TypeError("Unknown kind");
  },
  defaultSources: ["header:x-session-id"],
  policyNames: ["power_of_two", "rendezvous"],
  schedulingNames: ["critical_path", "fcfs", "las"],
  isPerRequest: (source) => source === "header:x-request-id",
};

/** Loads with `file` as the configuration file; complaints by line. */
async function load(
  { file, env = {}, flags = [], isReload = false }: {
    file?: string;
    isReload?: boolean;
    env?: Readonly<Record<string, string>>;
    flags?: string[];
  },
) {
  const lines: string[] = [];
  const edge: Edge = {
    ...processEdge(),
    env: (name) => env[name],
    err: (text) => lines.push(...text.split("\n")),
  };
  const path = await Deno.makeTempFile({ suffix: ".yaml" });
  try {
    await Deno.writeTextFile(path, file ?? "");
    const argv = file === undefined ? flags : ["--config", path, ...flags];
    const args = parseArgs(argv, CONFIG_FLAGS);
    assertEquals(args.problems, []);
    const options = { edge, names: NAMES, isReload };
    return { config: await loadConfig(args, options), lines };
  } finally {
    await Deno.remove(path);
  }
}

test("loadConfig() refuses a file that it cannot read or parse", async () => {
  const table: [Parameters<typeof load>[0], RegExp][] = [
    [
      { flags: ["--config", "/nonexistent/x"] },
      /^Cannot read .*x": No such fi/,
    ],
    [{ env: { TRYST_CONFIG: "/nonexistent/y" } }, /^Cannot read .*y": No such/],
    [{ flags: ["--config", "/dev/zero"] }, /more than 1048576 bytes$/],
    [{ file: "a: [" }, /^Cannot read configuration file .*: .+/],
    [{ file: "a: 1\na: 2" }, /^Cannot read .*[Dd]uplicate/],
    [{ file: "\ufffe\u0000" }, /^Cannot/],
    [{ file: "--- 1\n--- 2" }, /^Cannot read/],
    [{ file: "- a" }, /^Cannot use "configuration" as it must be a mapping/],
  ];
  for (const [given, pattern] of table) {
    const { config, lines } = await load(given);
    assertEquals(config, undefined);
    assertEquals(lines.length, 1, lines.join("\n"));
    assertMatch(lines[0] ?? "", pattern);
  }
});

test("loadConfig() refuses a file with nothing in it while a gateway runs", async () => {
  const flags = ["--endpoint", "http://127.0.0.1:1"];
  for (const file of ["", " \n\n", "# all gone\n", "---\n", "null\n", "~"]) {
    const { config, lines } = await load({ file, flags, isReload: true });
    assertEquals(config, undefined, JSON.stringify(file));
    assertMatch(
      lines.join("\n"),
      /^Cannot take .* nothing is in it: a restart/,
    );
    assert((await load({ file, flags })).config !== undefined);
  }
  const { config } = await load({ file: "{}", flags, isReload: true });
  assertEquals(config?.endpoints.length, 1);
});

test("loadConfig() names each complaint by where its value came from", async () => {
  const { config, lines } = await load({
    file: "listen: here\nworkers: 0\nlisten_on: 1\nlimits: { body: x }",
    env: { TRYST_WORKERS: "99", TRYST_SESSION_KEY: "header:a,cookie" },
    flags: ["--endpoint", "nowhere", "--endpoint", "http://h"],
  });
  assertEquals(config, undefined);
  const origins = lines.map((line) => /"(.*?)"/.exec(line)?.[1]);
  assertEquals(origins.sort(), [
    "--endpoint[0]",
    "TRYST_SESSION_KEY[1]",
    "TRYST_WORKERS",
    "limits.body",
    "listen",
    "listen_on",
  ]);
});

test("loadConfig() takes flag before variable before file before default", async () => {
  const file = "workers: 2\nlisten: h:2\nadmin: { listen: 127.0.0.1:2 }";
  const env = { TRYST_WORKERS: "3", TRYST_LISTEN: "h:3", TRYST_ADMIN: " " };
  const { config, lines } = await load({
    file,
    env,
    flags: ["--workers", "4", "--endpoint", "http://h"],
  });
  assertEquals(lines, []);
  assertEquals(config?.workers, 4);
  assertEquals(config?.listen, { hostname: "h", port: 3 });
  assertEquals(config?.admin.listen, { hostname: "127.0.0.1", port: 2 });
  assertEquals(config?.timeouts.connectMs, 3000);
});

test("loadConfig() has a flag and a variable for the same keys", async () => {
  const value: Readonly<Record<string, string>> = {
    "listen": "127.0.0.1:9",
    "admin.listen": "127.0.0.1:10",
    "endpoints": "http://h:1-2",
    "session.keys": "header:x-a",
    "workers": "7",
    "log.level": "warn",
    "log.format": "json",
  };
  const flags: string[] = [];
  const env: Record<string, string> = {};
  for (const flag of CONFIG_FLAGS) {
    if (flag.path === undefined) continue;
    const text = value[flag.path];
    assert(text !== undefined, `No value for ${flag.name}`);
    flags.push(flag.name, text);
    env[flag.env] = text;
  }
  const byFlags = await load({ flags });
  assertEquals(byFlags.config?.session.keys, ["header:x-a"]);
  assertEquals(byFlags.config?.endpoints.length, 2);
  assertEquals(await load({ env }), byFlags);
});

test("loadConfig() splits a variable with commas", async () => {
  const env = { TRYST_ENDPOINT: " http://a:1-2, http://b ,unix:/run/c," };
  const { config } = await load({ env });
  const ids = config?.endpoints.map((spec) => spec.id);
  assertEquals(ids, ["http://a:1", "http://a:2", "http://b", "unix:/run/c"]);
});

test("loadConfig() reads JSON, as it is YAML", async () => {
  const file = JSON.stringify({ endpoints: [{ url: "http://h" }], workers: 2 });
  const { config } = await load({ file });
  assertEquals(config?.workers, 2);
});

test("loadConfig() warns of request ids as session keys (PS #706)", async () => {
  const file = "session: { keys: [header:x-request-id] }";
  const { config, lines } = await load({
    file,
    flags: ["--endpoint", "http://h"],
  });
  assert(config !== undefined);
  assertEquals(lines.length, 1);
  assertMatch(lines[0] ?? "", /^Warning: Session key "header:x-request-id"/);
});
