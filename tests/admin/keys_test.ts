/**
 * API keys of a gateway as a process, with its two threads: keys are read
 * anew at SIGHUP, limits hold over both threads, and what is wrong with a file
 * keeps the gateway from starting, or as it was.
 *
 * @module
 */
import { assertEquals, assertMatch } from "@std/assert";
import { call } from "../gateway/raw_client.ts";
import { bare } from "../gateway/requests.ts";
import { test } from "../leakproof.ts";
import { PlainEngine } from "./plain_engine.ts";
import { startProgram, until } from "./program.ts";

const RED = "red-key-0123456789";
const BLUE = "blue-key-0123456789";
const GREEN = "green-key-0123456789";

/** Requests of a tenant without pauses, of which some are too many. */
const BURST = 20;

/** Runs `body` with a file of keys and the place of a configuration. */
async function withKeys(
  text: string,
  body: (keys: string, config: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  const keys = `${folder}/keys`;
  try {
    await Deno.writeTextFile(keys, text, { mode: 0o600 });
    await body(keys, `${folder}/tryst.yaml`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function configOf(keysFile: string, engine: PlainEngine): string {
  return [
    "workers: 2",
    `auth: { keys_file: "${keysFile}" }`,
    `tenants: { red: { requests_per_second: 0.001, burst: ${BURST} } }`,
    `endpoints: [{ url: "${engine.url}", id: e0 }]`,
  ].join("\n");
}

async function statusOf(port: number, key: string): Promise<number> {
  return (await call(port, bare("GET", "/v1/x", [`X-Api-Key: ${key}`]))).status;
}

test("limits hold over threads, and keys are read anew at SIGHUP", async () => {
  await using engine = new PlainEngine(["m"]);
  await withKeys(`red:${RED}`, async (path, config) => {
    await Deno.writeTextFile(config, configOf(path, engine));
    const { process } = startProgram([
      ...["serve", "--config", config],
      ...["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"],
    ]);
    await using _process = process;
    const [, digits] = await process.until("out", /listens on \S+:(\d+)/);
    const port = Number(digits);
    const [, admin] = await process.until("out", /Admin on \S+:(\d+)/);
    await until("readiness", async () => {
      const { body } = await call(Number(admin), bare("GET", "/readyz"));
      return JSON.parse(body).eligible === 1;
    });
    const statuses = await Promise.all(
      Array.from({ length: 2 * BURST }, () => statusOf(port, RED)),
    );
    const count = (status: number) =>
      statuses.filter((one) => one === status).length;
    assertEquals([count(200), count(429)], [BURST, BURST]);
    assertEquals(await statusOf(port, BLUE), 401);

    await Deno.writeTextFile(path, `red:${RED}\nblue:${BLUE}`);
    process.signal("SIGHUP");
    await until("the new key", async () => await statusOf(port, BLUE) === 200);
    // What was used of a limit stays used.
    assertEquals(await statusOf(port, RED), 429);

    await Deno.writeTextFile(path, "no key");
    process.signal("SIGHUP");
    const [line] = await process.until("err", /config\.refused.*/);
    assertMatch(line, /line 1/);
    assertEquals(await statusOf(port, BLUE), 200);

    await Deno.writeTextFile(path, `red:${RED}`);
    process.signal("SIGHUP");
    await until("no blue key", async () => await statusOf(port, BLUE) === 401);
  });
});

test("a changed file of keys or of a credential is noticed by itself", async () => {
  const shown: (string | null)[] = [];
  await using engine = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    ({ headers, url }) => {
      if (url.endsWith("/v1/x")) shown.push(headers.get("authorization"));
      return new Response("ok");
    },
  );
  await withKeys(`red:${RED}`, async (path, config) => {
    const credential = `${path}.engine`;
    await Deno.writeTextFile(credential, "first-secret", { mode: 0o600 });
    const lines = [
      "workers: 1",
      `auth: { keys_file: "${path}" }`,
      "endpoints:",
      `  - url: "http://127.0.0.1:${engine.addr.port}"`,
      `    credential_file: "${credential}"`,
    ];
    await Deno.writeTextFile(config, lines.join("\n"));
    const { process } = startProgram([
      ...["serve", "--config", config],
      ...["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"],
    ]);
    await using _process = process;
    const [, digits] = await process.until("out", /listens on \S+:(\d+)/);
    const port = Number(digits);
    await until("the engine", async () => await statusOf(port, RED) === 200);
    assertEquals(shown.at(-1), "Bearer first-secret");

    await Deno.writeTextFile(path, `red:${RED}\nblue:${BLUE}`);
    await until("the new key", async () => await statusOf(port, BLUE) === 200);

    await Deno.writeTextFile(credential, "second-secret");
    await until("the new credential", async () => {
      await statusOf(port, RED);
      return shown.at(-1) === "Bearer second-secret";
    });

    // A file that is missing when it is first named is waited for.
    const other = `${path}.other`;
    const [workers = "", , ...rest] = lines;
    const moved = [workers, `auth: { keys_file: "${other}" }`, ...rest];
    await Deno.writeTextFile(config, moved.join("\n"));
    await process.until("err", /config\.refused/);
    await Deno.writeTextFile(other, `green:${GREEN}`, { mode: 0o600 });
    await until("its key", async () => await statusOf(port, GREEN) === 200);
    assertEquals(await statusOf(port, RED), 401);
  });
});

test("a file of keys that others may read keeps the gateway from starting", async () => {
  await using engine = new PlainEngine(["m"]);
  await withKeys(`red:${RED}`, async (keys, config) => {
    await Deno.chmod(keys, 0o644);
    await Deno.writeTextFile(config, configOf(keys, engine));
    const { process } = startProgram(["serve", "--config", config]);
    await using _process = process;
    const { code, err } = await process.ended();
    assertEquals(code, 2);
    assertMatch(err, /^Cannot read the API keys from file .* chmod 600/m);
  });
});
