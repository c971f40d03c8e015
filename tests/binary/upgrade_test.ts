/**
 * The executable replaced by another process on the same port, as the README
 * has it: the old one's clients go over to the new one, with their sessions.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { PlainEngine } from "../admin/plain_engine.ts";
import { RawClient } from "../gateway/raw_client.ts";
import { post } from "../gateway/requests.ts";
import { test } from "../leakproof.ts";
import { run, type Running, start } from "./executable.ts";

const SESSIONS = Array.from({ length: 12 }, (_, n) => `session-${n}`);

/** A process, and where it listens. */
interface Started {
  readonly process: Running;
  readonly port: number;
  readonly admin: string;
}

async function serve(
  config: string,
  { env, port }: {
    readonly env: Readonly<Record<string, string>>;
    readonly port: number;
  },
): Promise<Started> {
  const process = await start([
    ...["serve", "--config", config, "--listen", `127.0.0.1:${port}`],
  ], { env });
  const [, taken] = await process.until("out", /listens on \S+:(\d+)/);
  const [, admin = ""] = await process.until("out", /Admin on http:\/\/(\S+)/);
  return { process, port: Number(taken), admin };
}

/** Affinity outcome and endpoint of one request. */
async function ask(client: RawClient, session: string): Promise<string> {
  await client.send(
    post("/v1/chat/completions", '{"model":"m"}', [`x-session-id: ${session}`]),
  );
  const { headers, status } = await client.reply();
  assertEquals(status, 200, session);
  return `${headers.get("x-tryst-affinity")} ${
    headers.get("x-tryst-endpoint")
  }`;
}

test("binary: another process on the port takes over clients and sessions", async () => {
  await using engines = new AsyncDisposableStack();
  const urls = [1, 2, 3].map(() => engines.use(new PlainEngine(["m"])).url);
  const folder = await Deno.makeTempDir();
  const config = `${folder}/tryst.yaml`;
  /** With the first of the endpoints, or with all. */
  const write = (count: number) =>
    Deno.writeTextFile(
      config,
      [
        "stop: { ready_grace: 10m }",
        "endpoints:",
        ...urls.slice(0, count).map((url, n) => (
          `  - { id: e${n}, url: "${url}" }`
        )),
      ].join("\n"),
    );
  // As the service manager has it, and each with an admin address of its own.
  const env = {
    STATE_DIRECTORY: `${folder}/state`,
    TRYST_ADMIN: "127.0.0.1:0",
    TRYST_WORKERS: "1",
  };
  try {
    await write(1);
    const first = await serve(config, { env, port: 0 });
    await using old = first.process;
    const { port } = first;
    using kept = await RawClient.connect(port);
    for (const session of SESSIONS) {
      assertEquals(await ask(kept, session), "new e0");
    }
    const saved = await run(["snapshot"], {
      env: { TRYST_ADMIN: first.admin },
    });
    assertEquals(saved.code, 0, saved.err);
    await write(3);
    const second = await serve(config, { env, port });
    await using young = second.process;
    old.signal("SIGTERM");
    await old.until("err", /gateway\.stopping/);
    assertEquals(await ask(kept, "session-0"), "hit e0");
    // Ends the grace, with nothing open.
    old.signal("SIGTERM");
    assertEquals((await old.ended()).code, 0);
    for (const session of SESSIONS) {
      using client = await RawClient.connect(port);
      assertEquals(await ask(client, session), "hit e0");
    }
    young.signal("SIGTERM");
    await young.until("err", /gateway\.stopping/);
    young.signal("SIGTERM");
    const { code, err } = await young.ended();
    assertEquals(code, 0, err);
    assertEquals(/sessions\.left/.test(err), false, err);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
