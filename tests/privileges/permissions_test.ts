/**
 * What the program is permitted, and that nothing else is.
 *
 * Which files it may read and write, and where it may connect, depends on its
 * configuration, of which the compiler knows nothing: those three are granted
 * as a whole, and narrowed by the unit that `tryst systemd` prints.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import project from "../../deno.json" with { type: "json" };
import { test } from "../leakproof.ts";
import { PERMISSIONS } from "./program.ts";

/** Granted; all else that the probe asks for is not. */
const GRANTED: readonly string[] = [
  "env:TRYST_LISTEN",
  "net",
  "read",
  "sys:osUptime",
  "write",
];

/** What one thread of the probe reports. */
interface Report {
  readonly states: Readonly<Record<string, string>>;
  readonly attempts: Readonly<Record<string, string>>;
}

async function probe(
  permissions: readonly string[],
): Promise<Readonly<Record<"main" | "worker", Report>>> {
  const path = new URL("./probe.ts", import.meta.url).pathname;
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--cached-only", "--no-check", ...permissions, path],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  const decoder = new TextDecoder();
  assert(success, decoder.decode(stderr));
  return JSON.parse(decoder.decode(stdout));
}

test("the three tasks that run the program have the same permissions", () => {
  const flags = (task: string) =>
    task.split(" ").filter((word) =>
      /^--(?:allow-|deny-|no-prompt)/.test(word)
    );
  assertEquals(flags(project.tasks.start), PERMISSIONS);
  assertEquals(flags(project.tasks.demo), PERMISSIONS);
});

test("the program is permitted what it needs by kind, and never all", () => {
  const kinds = PERMISSIONS.map((flag) => flag.split("=")[0]);
  assertEquals(kinds, [
    "--no-prompt",
    "--allow-net",
    "--allow-read",
    "--allow-write",
    "--allow-sys",
    "--allow-env",
  ]);
  assert(PERMISSIONS.includes("--allow-sys=osUptime"));
});

test("neither thread may run programs, load libraries or see more", async () => {
  const { main, worker } = await probe(PERMISSIONS);
  for (
    const [thread, { states, attempts }] of Object.entries({ main, worker })
  ) {
    const granted = Object.keys(states).filter((key) =>
      states[key] === "granted"
    );
    assertEquals(granted.sort(), [...GRANTED].sort(), thread);
    const done = Object.entries(attempts).filter(([, end]) => end === "done");
    assertEquals(done, [], thread);
  }
});

test("the probe sees a permission that is too much", async () => {
  const { main } = await probe([...PERMISSIONS, "--allow-run"]);
  assertEquals(main.states["run"], "granted");
  assertEquals(main.attempts["run"], "done");
});
