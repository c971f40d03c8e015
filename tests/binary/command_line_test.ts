/**
 * The executable's command line: what it prints, and what it ends with.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import project from "../../deno.json" with { type: "json" };
import { COMMANDS } from "../../src/cli/commands.ts";
import { test } from "../leakproof.ts";
import { run } from "./executable.ts";

const BAD_FILE = `
listn: 0.0.0.0:8080
workers: 65
endpoints: [http://127.0.0.1:8000, ftp://127.0.0.1]
session: { idle_ttl: 30, keys: [head:x-session-id] }
routing: { policy: rendez, affinity_patience: soon }
`;

/** Each complaint by the name that it must give. */
const BAD_NAMES: readonly string[] = [
  "listn",
  "workers",
  "endpoints[1]",
  "session.idle_ttl",
  "session.keys[0]",
  "routing.policy",
  "routing.affinity_patience",
];

/** Runs `body` with a file of this text. */
async function withFile(
  text: string,
  body: (path: string) => Promise<void>,
): Promise<void> {
  const path = await Deno.makeTempFile({ suffix: ".yaml" });
  try {
    await Deno.writeTextFile(path, text);
    await body(path);
  } finally {
    await Deno.remove(path);
  }
}

test("binary: what cannot be run ends with 2 and says why", async () => {
  const rows: readonly {
    readonly args: readonly string[];
    readonly err: string;
  }[] = [
    { args: [], err: "Usage: tryst COMMAND" },
    { args: ["serv"], err: 'did you mean "serve"?' },
    { args: ["serve", "--worker", "2"], err: 'did you mean "--workers"?' },
    { args: ["serve", "--workers"], err: "without a value" },
    { args: ["serve", "--workers", "0"], err: 'Cannot use "--workers"' },
    { args: ["check", "--config", "/nowhere.yaml"], err: '"/nowhere.yaml"' },
  ];
  for (const { args, err } of rows) {
    const ended = await run(args);
    assertEquals(ended.code, 2, args.join(" "));
    assertEquals(ended.out, "", args.join(" "));
    assertStringIncludes(ended.err, err);
  }
});

test("binary: check complains about everything at once", async () => {
  await withFile(BAD_FILE, async (path) => {
    const { code, out, err } = await run(["check", "--config", path]);
    assertEquals(code, 2);
    assertEquals(out, "");
    const named = err.trim().split("\n").map((line) =>
      /^Cannot use "(.*?)" as it .*: current value is /.exec(line)?.[1]
    );
    assertEquals(named.sort(), [...BAD_NAMES].sort());
  });
});

test("binary: check prints what is in effect, by precedence", async () => {
  const file = "workers: 2\nlisten: 127.0.0.1:7001\n" +
    "endpoints: [http://127.0.0.1:8000]\nlimits: { body: 1MiB }\n";
  await withFile(file, async (path) => {
    const { code, out, err } = await run(["check", "--workers", "4"], {
      env: {
        TRYST_CONFIG: path,
        TRYST_WORKERS: "3",
        TRYST_LISTEN: "127.0.0.1:7002",
        TRYST_ADMIN: "127.0.0.1:7003",
        TRYST_ENDPOINT: "http://127.0.0.1:9000-9001,unix:/run/e.sock",
        TRYST_SESSION_KEY: "header:x-a,default",
      },
    });
    assertEquals({ code, err }, { code: 0, err: "" });
    assert(out.startsWith("OK\n"), out);
    for (
      const [key, value] of [
        ["workers", "4"],
        ["listen", "127.0.0.1:7002"],
        ["admin.listen", "127.0.0.1:7003"],
        ["limits.body", "1MiB"],
        ["endpoints", "3"],
      ]
    ) {
      const shown = new RegExp(`^${key} +(.*)$`, "m").exec(out)?.[1];
      assertEquals(shown, value, `${key} in ${out}`);
    }
    assertStringIncludes(out, "\n  unix:/run/e.sock weight 1,");
    assertStringIncludes(out, "\n  header:x-a\n  header:");
  });
});

test("binary: version and help are printed", async () => {
  const version = await run(["version"]);
  assertEquals(version.code, 0);
  assertStringIncludes(version.out, `tryst ${project.version} (Deno 2.`);
  for (const flag of ["--help", "-h"]) {
    const help = await run([flag]);
    assertEquals(help.code, 0);
    for (const { name } of COMMANDS) {
      assertStringIncludes(help.out, `\n  ${name} `);
    }
  }
  for (const { name, summary } of COMMANDS) {
    const help = await run([name, "--help"]);
    assertEquals({ code: help.code, err: help.err }, { code: 0, err: "" });
    assert(help.out.startsWith(`${summary}\n`), help.out);
  }
});
