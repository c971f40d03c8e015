/**
 * A gateway whose configuration changes under load, as a process: no request
 * fails, sessions keep their endpoints, and what is wrong changes nothing.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { GATED_EVENTS, GatedEngine } from "../binary/gated_engine.ts";
import { RawClient } from "../gateway/raw_client.ts";
import { bare, post } from "../gateway/requests.ts";
import { test } from "../leakproof.ts";
import { NotifyReceiver } from "./notify_receiver.ts";
import { startProgram, until } from "./program.ts";

const RELOADS = 20;
const SESSIONS = Array.from({ length: 16 }, (_, n) => `session-${n}`);

/** A gateway with a configuration file that can be written anew. */
class Site implements AsyncDisposable {
  readonly process;
  readonly #folder: string;
  readonly #path: string;
  port = 0;
  adminPort = 0;

  constructor(
    folder: string,
    config: string,
    env: Readonly<Record<string, string>>,
  ) {
    this.#folder = folder;
    this.#path = `${folder}/tryst.yaml`;
    Deno.writeTextFileSync(this.#path, config);
    this.process = startProgram(
      [
        ...["serve", "--config", this.#path, "--workers", "2"],
        ...["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"],
      ],
      undefined,
      env,
    ).process;
  }

  /** Resolves once so many endpoints are ready. */
  static async start(
    config: string,
    eligible: number,
    env: Readonly<Record<string, string>> = {},
  ): Promise<Site> {
    const site = new Site(await Deno.makeTempDir(), config, env);
    try {
      const { process } = site;
      const [, port] = await process.until("out", /listens on \S+:(\d+)/);
      const [, adminPort] = await process.until("out", /Admin on \S+:(\d+)/);
      site.port = Number(port);
      site.adminPort = Number(adminPort);
      await site.untilReady(eligible);
      return site;
    } catch (error) {
      await site[Symbol.asyncDispose]();
      throw error;
    }
  }

  untilReady(eligible: number): Promise<void> {
    return until(
      "readiness",
      async () => JSON.parse(await this.admin("/readyz")).eligible === eligible,
    );
  }

  /** Writes the file as tools do: whole, and renamed into place. */
  async write(config: string): Promise<void> {
    await Deno.writeTextFile(`${this.#path}.new`, config);
    await Deno.rename(`${this.#path}.new`, this.#path);
  }

  async remove(): Promise<void> {
    await Deno.remove(this.#path);
  }

  async admin(target: string, body?: unknown): Promise<string> {
    using client = await RawClient.connect(this.adminPort);
    const close = ["Connection: close"];
    const text = body === undefined
      ? bare("GET", target, close)
      : post(target, JSON.stringify(body), close);
    await client.send(text.replace("Host: gateway", "Host: localhost"));
    return (await client.reply()).body;
  }

  async metric(series: string): Promise<number> {
    const page = await this.admin("/metrics");
    const line = page.split("\n").find((line) => line.startsWith(`${series} `));
    return Number(line?.slice(series.length + 1) ?? NaN);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process[Symbol.asyncDispose]();
    await Deno.remove(this.#folder, { recursive: true });
  }
}

/** Calls with a session; resolves to outcome, endpoint and key source. */
async function call(client: RawClient, session: string): Promise<string> {
  await client.send(
    post("/v1/chat/completions", "{}", [`x-session-id: ${session}`]),
  );
  const { body, headers, status } = await client.reply();
  assertEquals(status, 200, body);
  return ["affinity", "endpoint", "key-source"].map((name) =>
    headers.get(`x-tryst-${name}`)
  ).join(" ");
}

async function openStream(port: number): Promise<RawClient> {
  const client = await RawClient.connect(port);
  await client.send(post("/v1/chat/completions", '{"stream":true}'));
  await client.until(/"n":1/);
  return client;
}

/** A stream that began under another configuration comes to its end. */
async function finishStream(stream: RawClient): Promise<void> {
  const { body, isWhole } = await stream.reply();
  assertEquals([isWhole, body], [true, GATED_EVENTS.first + GATED_EVENTS.last]);
  stream.close();
}

/** The `n`th configuration: every part of it differs from the one before. */
function goodConfig(n: number, urls: readonly string[]): string {
  const listed = n % 4 === 0 ? urls.slice(0, 2) : urls;
  const keys = n % 8 === 2 ? "header:x-other, default" : "default";
  return [
    `routing: { imbalance: ${2 + n} }`,
    `timeouts: { connect: ${3 + n}s, idle: ${100 + n}s }`,
    `limits: { body: ${1 + n}MiB, requests: ${1_000 + n} }`,
    `session: { keys: [${keys}], idle_ttl: ${30 + n}m }`,
    `queue: { max: ${100 + n}, policy: ${n % 4 === 0 ? "fcfs" : "las"} }`,
    `attempts: { max: ${1 + n % 4} }`,
    "endpoints:",
    ...listed.map((url, at) =>
      `  - { id: e${at}, url: "${url}", weight: ${1 + n % 3} }`
    ),
  ].join("\n");
}

test("reload: 20 good and bad files under load fail no request and move no session (G9 llama-swap #59, PS #617)", async () => {
  await using engines = new AsyncDisposableStack();
  const gated = [1, 2, 3].map(() => engines.use(new GatedEngine()));
  const urls = gated.map(({ url }) => url);
  await using site = await Site.start(goodConfig(0, urls), 2);
  using first = await RawClient.connect(site.port);
  const homes: string[] = [];
  for (const session of SESSIONS) {
    homes.push((await call(first, session)).replace("new", "hit"));
  }
  assertEquals(new Set(homes).size, 2);
  const streams = [await openStream(site.port)];
  let isOver = false;
  let callCount = 0;
  const load = [0, 1, 2, 3].map(async (client) => {
    using connection = await RawClient.connect(site.port);
    for (let at = client; !isOver; at = (at + 1) % SESSIONS.length) {
      assertEquals(await call(connection, SESSIONS[at] ?? ""), homes[at]);
      callCount++;
    }
  });
  const change = async () => {
    for (let n = 1; n <= RELOADS; n++) {
      const isGood = n % 2 === 0;
      await site.write(
        isGood ? goodConfig(n, urls) : `routing: { imbalance: 0.${n} }`,
      );
      site.process.signal("SIGHUP");
      await site.process.until(
        "err",
        isGood
          ? new RegExp(`path=routing.imbalance from=${n} to=${2 + n}\n`)
          : new RegExp(`config.refused .*current value is 0.${n}"`),
      );
      if (isGood) streams.push(await openStream(site.port));
      else {
        const { config_refused, status } = JSON.parse(
          await site.admin("/readyz"),
        );
        assertEquals(status, "ready");
        assertMatch(config_refused, /"routing.imbalance"/);
      }
    }
  };
  await Promise.all([...load, change().finally(() => isOver = true)]);
  assert(callCount > RELOADS, `${callCount}`);
  for (const engine of gated) engine.open();
  await Promise.all(streams.map(finishStream));
  const reloads = (outcome: string) =>
    site.metric(`tryst_config_reloads_total{outcome="${outcome}"}`);
  assertEquals(await reloads("reloaded"), RELOADS / 2);
  assert(await reloads("refused") >= RELOADS / 2);
  assertEquals(await site.metric("tryst_config_last_reload_successful"), 1);
  assertEquals(
    await site.metric(
      `tryst_session_key_source_total{source="header:x-session-id"}`,
    ),
    callCount + SESSIONS.length,
  );
  site.process.signal("SIGTERM");
  const { code, err } = await site.process.ended();
  assertEquals(code, 0, err);
  assert(!/request\.failed|worker\./.test(err), err);
});

test("reload: a file that changes is taken by itself, and what needs a restart is told", async () => {
  await using engine = new GatedEngine();
  const endpoint = `endpoints: [{ id: e, url: "${engine.url}" }]`;
  await using site = await Site.start(endpoint, 1);
  await site.admin("/endpoints/drain", { id: "e" });
  await site.write(`${endpoint}\nsession: { capacity: 8, keys: ["query:s"] }`);
  await site.process.until("err", /config\.reloaded trigger=file changes=1 /);
  await site.process.until(
    "err",
    /config\.needs_restart path=session\.capacity from=262144 to=8\n/,
  );
  assertEquals(JSON.parse(await site.admin("/reload", {})), {
    outcome: "unchanged",
    changes: [],
    needs_restart: ["session.capacity: 262144 -> 8"],
  });
  assertEquals(await site.metric("tryst_session_capacity"), 262_144);
  // Drained by a person, and left so by the file.
  assertEquals(JSON.parse(await site.admin("/readyz")).eligible, 0);
  await site.admin("/endpoints/restore", { id: "e" });
  await site.untilReady(1);
  using client = await RawClient.connect(site.port);
  await client.send(post("/v1/chat/completions?s=1", "{}"));
  const { headers } = await client.reply();
  assertEquals(headers.get("x-tryst-key-source"), "query:s");
  assertEquals(
    await site.metric(`tryst_session_key_source_total{source="other"}`),
    1,
  );
  await site.write(`${endpoint}\nlisten: [`);
  await site.process.until("err", /config\.refused trigger=file /);
  assertEquals(await site.metric("tryst_config_last_reload_successful"), 0);
  const problem = JSON.parse(await site.admin("/reload", {}));
  assertEquals(problem.status, 422);
  assertMatch(problem.detail, /^Cannot read configuration file /);
  await site.write(`${endpoint}\nsession: { keys: ["query:s"] }`);
  await until(
    "the mended file",
    async () => await site.metric("tryst_config_last_reload_successful") === 1,
  );
  assertEquals(
    JSON.parse(await site.admin("/readyz")).config_refused,
    undefined,
  );
});

test("reload: a file that is empty, lists nothing or is gone changes nothing, and that is told", async () => {
  await using engine = new GatedEngine();
  const endpoint = `endpoints: [{ id: e, url: "${engine.url}" }]`;
  await using site = await Site.start(endpoint, 1);
  const refused = async (detail: RegExp) => {
    const problem = JSON.parse(await site.admin("/reload", {}));
    assertEquals(problem.status, 422);
    assertMatch(problem.detail, detail);
    const readiness = JSON.parse(await site.admin("/readyz"));
    assertEquals(readiness.eligible, 1);
    assertMatch(readiness.config_refused, detail);
  };
  await site.write("");
  await refused(/^Cannot take configuration file .*nothing is in it/);
  await site.write("endpoints: []");
  await refused(/^Cannot take away all endpoints while the gateway runs: /);
  await site.remove();
  await refused(/^Cannot read configuration file .*: No such file/);
});

test("reload: a call that waits is served by the limit that the file gives", async () => {
  await using engine = new GatedEngine();
  const config = (limit: number) =>
    `endpoints: [{ id: e, url: "${engine.url}", max_in_flight: ${limit} }]`;
  await using site = await Site.start(config(1), 1);
  using stream = await openStream(site.port);
  using waiting = await RawClient.connect(site.port);
  await waiting.send(post("/v1/chat/completions", "{}"));
  await until(
    "a call to wait",
    async () => await site.metric("tryst_requests_received_total") === 2,
  );
  await site.write(config(2));
  assertEquals((await waiting.reply()).status, 200);
  engine.open();
  assertEquals((await stream.reply()).isWhole, true);
});

test("reload: an endpoint that is taken away is told of until its last request", async () => {
  await using engine = new GatedEngine();
  await using other = new GatedEngine();
  const config = (id: string, { url }: GatedEngine) =>
    `endpoints: [{ id: ${id}, url: "${url}" }]`;
  await using site = await Site.start(config("old", engine), 1);
  using stream = await openStream(site.port);
  await site.write(config("young", other));
  await site.process.until("err", /endpoint\.removed id=old in_flight=1\n/);
  engine.open();
  assertEquals((await stream.reply()).isWhole, true);
  await site.process.until("err", /endpoint\.gone id=old\n/);
});

test("reload: SIGHUP tells the service manager, whatever comes of it", async () => {
  await using receiver = await NotifyReceiver.listen();
  await using engine = new GatedEngine();
  const config = `endpoints: [{ id: e, url: "${engine.url}" }]`;
  await using site = await Site.start(config, 1, {
    NOTIFY_SOCKET: receiver.address,
  });
  await receiver.until(/^READY=1\n/);
  for (const pattern of [/config\.unchanged/, /config\.refused/]) {
    const before = receiver.taken.length;
    site.process.signal("SIGHUP");
    await site.process.until("err", pattern);
    await receiver.until(/^RELOADING=1\nMONOTONIC_USEC=\d+\n/, before);
    await receiver.until(/^READY=1\n/, before);
    await site.write("endpoints: 1");
  }
});
