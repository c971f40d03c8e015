/**
 * Tests of the unit, by systemd itself where it is, and of its installation
 * into real folders.
 *
 * @module
 */
import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { runCommandLine } from "./command_line.ts";
import { COMMANDS } from "./commands.ts";
import { type Edge, processEdge } from "./edge.ts";
import {
  systemdUnit,
  UNIT_MARK,
  type UnitOptions,
} from "./systemd/systemd_unit.ts";

const OPTIONS: UnitOptions = {
  configPath: "/etc/tryst/tryst.yaml",
  isUser: false,
  stopMs: 30_000,
  ports: [8_080, 8_081],
};

const UNITS: readonly (readonly [name: string, options: UnitOptions])[] = [
  ["system", OPTIONS],
  ["system with a low port", { ...OPTIONS, ports: [443, 8_081] }],
  ["user", { ...OPTIONS, isUser: true }],
];

/** The exposure that `systemd-analyze security` may find at most, of 10. */
const EXPOSURE_MAX = [1.1, 1.4];

/** What systemd before version 253 says of the second type. */
const UNKNOWN_TYPE =
  /^.*: Failed to parse service type, ignoring: notify-reload$/m;

/** Why a test is left out, or `undefined` when systemd can be asked. */
const NO_SYSTEMD = await analyze(["--version"]) === undefined
  ? " (left out: there is no systemd-analyze)"
  : undefined;

/** What systemd-analyze says; `undefined` where there is none. */
async function analyze(args: readonly string[]): Promise<string | undefined> {
  try {
    const { stdout, stderr } = await new Deno.Command("systemd-analyze", {
      args: [...args],
      env: { SYSTEMD_COLORS: "0", SYSTEMD_EMOJI: "0" },
    }).output();
    const decoder = new TextDecoder();
    return decoder.decode(stdout) + decoder.decode(stderr);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Runs `body` in a folder that is there for so long. */
async function withFolder(
  body: (folder: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Asks systemd about a unit whose executable is there. */
async function analyzeUnit(
  unit: string,
  args: readonly string[],
): Promise<string> {
  let answer = "";
  await withFolder(async (folder) => {
    const path = `${folder}/tryst.service`;
    const text = unit.replace(
      /^ExecStart=\S+/m,
      `ExecStart=${Deno.execPath()}`,
    );
    await Deno.writeTextFile(path, text);
    answer = await analyze([...args, path]) ?? "";
  });
  return answer;
}

async function verify(unit: string): Promise<string> {
  const answer = await analyzeUnit(unit, ["verify", "--man=no"]);
  // It loads what the unit depends on, which is the machine's own affair.
  return answer.split("\n").filter((line) => line.includes("/tryst.service"))
    .join("\n");
}

async function run(
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
) {
  let [out, err] = ["", ""];
  const edge: Edge = {
    ...processEdge(),
    denoVersion: "2.9.6",
    env: (name) => env[name],
    out: (text) => void (out += `${text}\n`),
    err: (text) => void (err += `${text}\n`),
  };
  const code = await runCommandLine(["systemd", ...argv], {
    edge,
    commands: COMMANDS,
  });
  return { code, out, err };
}

test("systemdUnit() has a reason before every line", () => {
  for (const [name, options] of UNITS) {
    const [mark, ...lines] = systemdUnit(options).trimEnd().split("\n");
    assertEquals(mark, UNIT_MARK);
    let reason = "";
    for (const line of lines) {
      if (line === "" || line.startsWith("[")) reason = "";
      else if (line.startsWith("# ")) reason = line;
      else assert(reason !== "", `${line} of ${name}`);
      assert(line.length <= 80, `${line} of ${name}`);
    }
  }
});

test("systemdUnit() leaves no secrets behind in a dump", () => {
  for (const [name, options] of UNITS) {
    assertStringIncludes(systemdUnit(options), "\nLimitCORE=0\n", name);
  }
});

test("systemdUnit() follows the configuration", () => {
  const unit = systemdUnit({ ...OPTIONS, stopMs: 90_001 });
  assertStringIncludes(unit, "\nTimeoutStopSec=101\n");
  assertStringIncludes(unit, "\nWatchdogSec=202\n");
  const table: [ports: number[], bound: string][] = [
    [[0, 8_081], ""],
    [[1, 8_081], "CAP_NET_BIND_SERVICE"],
    [[8_080, 1_023], "CAP_NET_BIND_SERVICE"],
    [[1_024, 8_081], ""],
  ];
  for (const [ports, bound] of table) {
    const unit = systemdUnit({ ...OPTIONS, ports });
    assertStringIncludes(unit, `\nCapabilityBoundingSet=${bound}\n`);
    assertEquals(unit.includes("PrivateUsers=yes"), bound === "", `${ports}`);
  }
  const path = '/a b/$x/100%/"q"\\\n.yaml';
  assertStringIncludes(
    systemdUnit({ ...OPTIONS, configPath: path }),
    'serve --config "/a b/$$x/100%%/\\"q\\"\\\\\\x0a.yaml"\n',
  );
});

test(
  `systemd takes the unit without a complaint${NO_SYSTEMD ?? ""}`,
  async () => {
    const planted = systemdUnit(OPTIONS).replace("on-failure", "perhaps");
    assertStringIncludes(await verify(planted), "perhaps");
    const odd = { ...OPTIONS, configPath: "/a b/%/$/c.yaml" };
    for (const [name, options] of [...UNITS, ["odd", odd] as const]) {
      const answer = await verify(systemdUnit(options));
      // It keeps the type that it knows, where it does not know the other.
      assertEquals(answer.replace(UNKNOWN_TYPE, ""), "", name);
    }
  },
  { ignore: NO_SYSTEMD !== undefined },
);

test(`systemd finds the unit little exposed${NO_SYSTEMD ?? ""}`, async () => {
  for (const [at, max] of EXPOSURE_MAX.entries()) {
    const [name, options] = UNITS[at] ?? ["", OPTIONS];
    const answer = await analyzeUnit(systemdUnit(options), [
      ...["security", "--offline=yes", "--no-pager"],
      ...[`--threshold=${max * 10}`],
    ]);
    const found = /Overall exposure level for .*: ([\d.]+)/.exec(answer)?.[1];
    assert(Number(found) <= max, `${name}: ${found} in ${answer}`);
  }
}, { ignore: NO_SYSTEMD !== undefined });

test("tryst systemd refuses what makes no unit", async () => {
  await withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/bad.yaml`, "workers: 0");
    const table: [argv: string[], err: RegExp][] = [
      [["--unit-dir", folder], /"--unit-dir" without "--install"/],
      [["--config", `${folder}/none.yaml`], /Cannot read configuration file/],
      [["--config", `${folder}/bad.yaml`], /Cannot use "workers"/],
      [["--user"], /Cannot find the folder of the user: HOME is not set/],
      [["now"], /Cannot use argument "now"/],
    ];
    for (const [argv, pattern] of table) {
      const { code, out, err } = await run(argv);
      assertEquals([code, out], [2, ""], argv.join(" "));
      assertMatch(err, pattern);
    }
  });
});

test("tryst systemd prints a unit for the file, whatever the variables", async () => {
  await withFolder(async (folder) => {
    const path = `${folder}/a.yaml`;
    await Deno.writeTextFile(
      path,
      "listen: 127.0.0.1:80\nendpoints: [http://127.0.0.1:8000]\n" +
        "stop: { ready_grace: 5s, deadline: 1m }\n",
    );
    const { code, out, err } = await run(["--config", path], {
      TRYST_LISTEN: "127.0.0.1:9000",
      TRYST_CONFIG: "/none.yaml",
    });
    assertEquals(code, 0, err);
    assertStringIncludes(out, ` serve --config ${path}\n`);
    assertStringIncludes(out, "\nTimeoutStopSec=75\n");
    assertStringIncludes(out, "\nAmbientCapabilities=CAP_NET_BIND_SERVICE\n");
    // Folders for temporary files are hidden from the service.
    assertMatch(err, /^Warning: The service cannot read /);
  });
});

test("tryst systemd prints a user's unit by the user's folders", async () => {
  await withFolder(async (folder) => {
    const table: [env: Record<string, string>, path: string][] = [
      [{ HOME: folder }, `${folder}/.config/tryst/tryst.yaml`],
      [
        { HOME: "/none", XDG_CONFIG_HOME: `${folder}/c` },
        `${folder}/c/tryst/tryst.yaml`,
      ],
    ];
    for (const [env, path] of table) {
      const { code, out, err } = await run(["--user"], env);
      assertEquals({ code, err }, { code: 0, err: "" });
      assertStringIncludes(
        out,
        `\nExecStart=%h/.local/bin/tryst serve --config ${path}\n`,
      );
      assertStringIncludes(out, "\nWantedBy=default.target");
      assert(!out.includes("DynamicUser"), out);
    }
  });
});

test("tryst systemd --install writes, leaves, replaces and says what is next", async () => {
  await withFolder(async (folder) => {
    const path = `${folder}/tryst.service`;
    const argv = ["--install", "--unit-dir", folder];
    const first = await run(argv);
    assertEquals([first.code, first.err], [0, ""]);
    assertEquals(first.out.split("\n")[0], `Wrote ${path}`);
    assertMatch(first.out, /^ {2}systemctl daemon-reload$/m);
    assertMatch(first.out, /^ {2}systemctl enable --now tryst$/m);
    const text = await Deno.readTextFile(path);
    assertEquals(text, (await run([])).out);
    assertEquals((await Deno.stat(path)).mode, 0o100644);
    const { mtime } = await Deno.stat(path);
    const second = await run(argv);
    assertMatch(second.out, /^Left .* as it is: it is up to date\n/);
    assertEquals((await Deno.stat(path)).mtime, mtime);
    await Deno.writeTextFile(path, `${UNIT_MARK}\nof an earlier version\n`);
    const third = await run(argv);
    assertMatch(third.out, /^Replaced .*[^]*systemctl restart tryst$/m);
    assertEquals(await Deno.readTextFile(path), text);
    const names = [];
    for await (const { name } of Deno.readDir(folder)) names.push(name);
    assertEquals(names, ["tryst.service"]);
  });
});

test("tryst systemd --install --user makes the folder", async () => {
  await withFolder(async (folder) => {
    const { code, out } = await run(["--install", "--user"], { HOME: folder });
    assertEquals(code, 0);
    assertStringIncludes(
      out,
      `Wrote ${folder}/.config/systemd/user/tryst.service\n`,
    );
    assertStringIncludes(
      out,
      `  install -D -m 755 tryst ${folder}/.local/bin/`,
    );
    assertStringIncludes(out, "  systemctl --user enable --now tryst\n");
  });
});

test("tryst systemd --install touches nothing that is not its own", async () => {
  await withFolder(async (folder) => {
    const path = `${folder}/tryst.service`;
    const argv = ["--install", "--unit-dir", folder];
    const refused = async (unitDir: string[], pattern: RegExp) => {
      const { code, out, err } = await run(unitDir);
      assertEquals([code, out], [1, ""]);
      assertMatch(err, pattern);
    };
    await Deno.writeTextFile(path, "[Service]\n");
    await refused(argv, /^Cannot install ".*": it was not printed by "tryst/);
    assertEquals(await Deno.readTextFile(path), "[Service]\n");
    await Deno.remove(path);
    await Deno.symlink("/dev/null", path);
    await refused(argv, /it is no plain file, as when a unit is masked/);
    await refused(
      ["--install", "--unit-dir", `${folder}/none`],
      /there is no such folder: is this a machine with systemd\?/,
    );
    // Nobody, not even root, can write there.
    await refused(
      ["--install", "--unit-dir", "/sys"],
      /permission denied: run it as root, or with "--user"/,
    );
  });
});
