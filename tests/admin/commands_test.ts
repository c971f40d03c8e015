/**
 * The commands that ask a running gateway, each program in a process of its
 * own: with and without its token.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { startEngine } from "../../bench/engine/engine.ts";
import { call } from "../gateway/raw_client.ts";
import { post } from "../gateway/requests.ts";
import { test } from "../leakproof.ts";
import { type Served, serveProgram, startProgram } from "./program.ts";

const TOKEN = "a-token-of-some-length";

/** A gateway in front of one engine, and the commands. */
interface World {
  readonly served: Served;
  /** Runs a command that asks this gateway. */
  tryst(
    args: readonly string[],
    options?: {
      readonly token?: string;
      /** A line of standard input. */
      readonly line?: string;
    },
  ): Promise<{ code: number; out: string; err: string }>;
}

async function withWorld(
  lines: readonly string[],
  body: (world: World) => Promise<void>,
): Promise<void> {
  await using engine = await startEngine({ id: "a", speed: 1_000 });
  await using served = await serveProgram([
    "workers: 1",
    ...lines,
    "endpoints:",
    `  - { id: a, url: ${engine.url} }`,
  ].join("\n"));
  const admin = `127.0.0.1:${served.adminPort}`;
  await body({
    served,
    tryst: async (args, { line, token } = {}) => {
      const { process, say } = startProgram(
        [...args, "--admin", admin],
        undefined,
        token === undefined ? {} : { TRYST_ADMIN_TOKEN: token },
      );
      await using running = process;
      if (line !== undefined) await say(line);
      return await running.ended();
    },
  });
}

async function turn({ served }: World, session: string): Promise<void> {
  const body = JSON.stringify({ model: "sim", "max_tokens": 2 });
  const headers = [`x-session-id: ${session}`, "Connection: close"];
  const reply = await call(
    served.port,
    post("/v1/chat/completions", body, headers),
  );
  assertEquals(reply.status, 200);
}

test("sessions: found, pinned, listed and forgotten from the command line", async () => {
  await withWorld([], async (world) => {
    const { tryst } = world;
    await turn(world, "known");
    const found = await tryst(["session", "-"], { line: "known" });
    assertEquals([found.code, found.err], [0, ""]);
    assertMatch(found.out, /^Session [0-9a-f]{8}\nPOOL +ENDPOINT .*\n\S+ +a /);
    const named = await tryst(["session", "known", "--json"]);
    assertEquals(JSON.parse(named.out).pools[0].endpoint, "a");
    const pinned = await tryst(["session", "other", "--pin", "a"]);
    assertEquals(pinned.code, 0);
    const listed = await tryst(["sessions", "--endpoint", "a", "--json"]);
    assertEquals(JSON.parse(listed.out).total, 2);
    const one = await tryst(["sessions", "--limit", "1"]);
    assertMatch(one.out, /^RECORD +ENDPOINT .*\n[0-9a-f]{8} +a .*\n1 more\n$/);
    const forgotten = await tryst(["session", "known", "--forget"]);
    assertEquals(forgotten.out, "The session is forgotten\n");
    const gone = await tryst(["session", "known"]);
    assertEquals([gone.code, gone.out], [2, ""]);
    assertMatch(gone.err, /^Cannot find session [0-9a-f]{8}: it has not been/);
    const tenant = await tryst(["session", "other", "--tenant", "red"]);
    assertEquals(tenant.code, 1);
    assertMatch(tenant.err, /^Cannot use "tenant": clients need no API key/);
    const both = await tryst(["session", "s", "--forget", "--pin", "a"]);
    assertEquals(both.code, 2);
    for (const command of [["drain", "a"], ["restore", "a"]]) {
      const { code, out } = await tryst([...command, "--json"]);
      assertEquals([code, JSON.parse(out).id], [0, "a"]);
    }
    const snapshot = await tryst(["snapshot"]);
    assertEquals(snapshot.code, 1);
    assertMatch(snapshot.err, /this gateway has no state directory/);
    const level = await tryst(["log-level", "loud"]);
    assertEquals(level.code, 1);
    assertMatch(level.err, /must be one of debug, info, warn, error/);
  });
});

test("a token: commands present it, and are told when it is missing or wrong", async () => {
  const file = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(file, `${TOKEN}\n`);
    await Deno.chmod(file, 0o600);
    const lines = [`admin: { token_file: ${file} }`];
    await withWorld(lines, async (world) => {
      const { served, tryst } = world;
      const missing = await tryst(["endpoints"]);
      assertEquals([missing.code, missing.out], [1, ""]);
      assertMatch(missing.err, /^Cannot answer without the admin token/);
      assertMatch(missing.err, /--token-file or TRYST_ADMIN_TOKEN$/m);
      const wrong = await tryst(["endpoints"], { token: `${TOKEN}x` });
      assertEquals(wrong.code, 1);
      assertMatch(wrong.err, /^Cannot accept these credentials.*--token-file/);
      const right = await tryst(["endpoints", "--json"], { token: TOKEN });
      assertEquals(JSON.parse(right.out).endpoints[0].id, "a");
      const byFile = await tryst(["sessions", "--token-file", file]);
      assertEquals(byFile.code, 0);
      assertEquals((await served.admin("/metrics")).status, 200);
      assertEquals((await served.admin("/endpoints")).status, 401);
      for (const { err, out } of [missing, wrong, right, byFile]) {
        assert(!`${err}${out}`.includes(TOKEN));
      }
    });
  } finally {
    await Deno.remove(file);
  }
});

test("serve: an admin address that others reach is refused without a token", async () => {
  for (const command of ["serve", "check"]) {
    const args = ["--endpoint", "http://127.0.0.1:1", "--admin", "0.0.0.0:0"];
    const { process } = startProgram([command, ...args]);
    await using running = process;
    const { code, err, out } = await running.ended();
    assertEquals([code, out], [2, ""]);
    assertMatch(err, /^Cannot use "admin.listen" as it must be an address of/);
    assertMatch(err, /admin.token_file.*TRYST_ADMIN_TOKEN/);
  }
});
