/**
 * Sessions over a restart of the gateway, which runs as a process: they meet
 * the endpoint that they met before, however it ended, and a file that cannot
 * be used costs nothing but the sessions in it.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { RawClient } from "../gateway/raw_client.ts";
import { post } from "../gateway/requests.ts";
import { test } from "../leakproof.ts";
import { PlainEngine } from "./plain_engine.ts";
import { type Served, serveProgram, startProgram, until } from "./program.ts";

/** Enough that hashing alone would not place them all alike. */
const SESSIONS = Array.from({ length: 24 }, (_, n) => `session-${n}`);

/** Affinity outcome and endpoint of one call. */
async function call(
  port: number,
  session: string,
  model = "m",
): Promise<string> {
  using client = await RawClient.connect(port);
  const body = JSON.stringify({ model });
  await client.send(
    post("/v1/chat/completions", body, [`x-session-id: ${session}`]),
  );
  const { headers, status } = await client.reply();
  assertEquals(status, 200, session);
  return `${headers.get("x-tryst-affinity")} ${
    headers.get("x-tryst-endpoint")
  }`;
}

async function callAll(port: number, model?: string): Promise<string[]> {
  const outcomes: string[] = [];
  for (const session of SESSIONS) {
    outcomes.push(await call(port, session, model));
  }
  return outcomes;
}

/** A configuration of these engines as `e0`, `e1`, ... */
function configOf(
  directory: string,
  engines: readonly PlainEngine[],
  interval = "1h",
): string {
  return [
    "workers: 2",
    `state: { directory: "${directory}", interval: ${interval} }`,
    "endpoints:",
    ...engines.map(({ url }, n) => `  - { id: e${n}, url: "${url}" }`),
  ].join("\n");
}

/** Ends a gateway in order; resolves to what it has logged. */
async function end({ process }: Served): Promise<string> {
  process.signal("SIGTERM");
  const { code, err } = await process.ended();
  assertEquals(code, 0, err);
  return err;
}

async function metricOf(served: Served, series: string): Promise<number> {
  const { body } = await served.admin("/metrics");
  const line = body.split("\n").find((line) => line.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1) ?? NaN);
}

/** Runs `body` with a directory for the state and so many engines. */
async function withSite(
  lists: readonly (readonly string[])[],
  body: (directory: string, engines: PlainEngine[]) => Promise<void>,
): Promise<void> {
  const directory = await Deno.makeTempDir();
  await using stack = new AsyncDisposableStack();
  stack.defer(() => Deno.remove(directory, { recursive: true }));
  const engines = lists.map((models) => stack.use(new PlainEngine(models)));
  await body(`${directory}/state`, engines);
}

test("restart: sessions meet their endpoint, whatever the hash says now", async () => {
  await withSite([["m"], ["m"], ["m"]], async (directory, engines) => {
    {
      await using first = await serveProgram(
        configOf(directory, engines.slice(0, 1)),
      );
      assertEquals(
        await callAll(first.port),
        SESSIONS.map(() => "new e0"),
      );
      await end(first);
    }
    await using second = await serveProgram(configOf(directory, engines));
    assertEquals(await callAll(second.port), SESSIONS.map(() => "hit e0"));
    assertEquals(
      await metricOf(second, "tryst_snapshot_restored_sessions"),
      SESSIONS.length,
    );
    const log = await end(second);
    assert(/sessions\.restored .*sessions=24 expired=0 unlisted=0/.test(log));
  });
});

test("restart: a gateway that was killed loses what came after its last snapshot", async () => {
  await withSite([["m"], ["m"]], async (directory, engines) => {
    {
      await using first = await serveProgram(
        configOf(directory, engines.slice(0, 1), "50ms"),
      );
      await callAll(first.port);
      await until(
        "a snapshot",
        async () =>
          await metricOf(first, "tryst_snapshot_sessions") === SESSIONS.length,
      );
      // Once the last request has ended nothing changes, so nothing is written.
      const series = 'tryst_snapshots_total{outcome="written"}';
      const counts: number[] = [];
      // The first of these may still see the last request end.
      for (let look = 0; look < 4; look++) {
        counts.push(await metricOf(first, series));
        await new Promise((resolve) => setTimeout(resolve, 300));
      }
      assertEquals(counts.at(-1), counts.at(-2), counts.join());
      first.process.signal("SIGKILL");
      await first.process.ended();
    }
    await using second = await serveProgram(configOf(directory, engines));
    assertEquals(await callAll(second.port), SESSIONS.map(() => "hit e0"));
    await end(second);
  });
});

test("restart: pools keep their bindings in whichever order engines answer", async () => {
  await withSite([["m"], ["n"]], async (directory, engines) => {
    let wanted: string[] | undefined;
    // Who lists its models first decides which pool inherits from which.
    for (const slow of [0, 1, 0]) {
      engines[slow]?.hold("/v1/models");
      const starting = serveProgram(configOf(directory, engines));
      await new Promise((resolve) => setTimeout(resolve, 1_200));
      engines[slow]?.release("/v1/models");
      await using served = await starting;
      const outcomes = [
        ...await callAll(served.port, "m"),
        ...await callAll(served.port, "n"),
      ];
      if (wanted !== undefined) assertEquals(outcomes, wanted);
      wanted = outcomes.map((outcome) => outcome.replace("new", "hit"));
      await end(served);
    }
  });
});

test("restart: a session waits elsewhere for an endpoint that nobody has seen yet", async () => {
  await withSite([["m"], ["m"]], async (directory, engines) => {
    {
      await using first = await serveProgram(
        configOf(directory, engines.slice(0, 1)),
      );
      await callAll(first.port);
      await end(first);
    }
    const [busy] = engines;
    busy?.hold("/health");
    const file = await Deno.makeTempFile({ suffix: ".yaml" });
    await Deno.writeTextFile(file, configOf(directory, engines));
    const { process } = startProgram([
      ...["serve", "--config", file],
      ...["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"],
    ]);
    try {
      const [, port] = await process.until("out", /listens on \S+:(\d+)/);
      await process.until("err", /endpoint\.ready id=e1/);
      const outcomes = await callAll(Number(port));
      assertEquals(outcomes, SESSIONS.map(() => "spilled e1"));
      busy?.release("/health");
      await process.until("err", /endpoint\.ready id=e0/);
      assertEquals(
        await callAll(Number(port)),
        SESSIONS.map(() => "hit e0"),
      );
      process.signal("SIGTERM");
      assertEquals((await process.ended()).code, 0);
    } finally {
      await process[Symbol.asyncDispose]();
      await Deno.remove(file);
    }
  });
});

test("restart: a damaged file is refused by name and reason, and replaced at the end", async () => {
  await withSite([["m"]], async (directory, engines) => {
    const path = `${directory}/sessions.snapshot`;
    const config = configOf(directory, engines);
    {
      await using first = await serveProgram(config);
      await callAll(first.port);
      await end(first);
    }
    const good = await Deno.readFile(path);
    const flipped = Uint8Array.from(good);
    flipped[100] = (flipped[100] ?? 0) ^ 1;
    const newer = Uint8Array.from(good);
    newer[8] = 2;
    const cases: [bytes: Uint8Array, reason: string][] = [
      [flipped, "its checksum does not hold"],
      [good.subarray(0, 200), "its opening tells of"],
      [newer, "has format version 2"],
      [new TextEncoder().encode("a note"), "is no snapshot of sessions"],
    ];
    for (const [bytes, reason] of cases) {
      await Deno.writeFile(path, bytes);
      await using served = await serveProgram(config);
      assertEquals(await metricOf(served, "tryst_snapshot_refused"), 1);
      assertEquals(await Deno.readFile(path), bytes);
      assertEquals(await call(served.port, "session-0"), "new e0");
      const log = await end(served);
      const line = log.split("\n").find((line) =>
        line.includes("sessions.refused")
      );
      assert(line?.includes(`file=${path}`), log);
      assert(line?.includes(reason), line);
      assert((await Deno.readFile(path)).length > 200);
    }
  });
});

test("restart: a directory that cannot be written to is told once, and costs no request", async () => {
  await withSite([["m"]], async (directory, engines) => {
    await Deno.writeTextFile(directory, "a file where a directory should be");
    await using served = await serveProgram(
      configOf(directory, engines, "20ms"),
    );
    const series = 'tryst_snapshots_total{outcome="failed"}';
    await callAll(served.port);
    await until(
      "some failures",
      async () => await metricOf(served, series) > 3,
    );
    // As soon as it can, it does.
    await Deno.remove(directory);
    await until(
      "a snapshot",
      async () =>
        await metricOf(served, "tryst_snapshot_sessions") === SESSIONS.length,
    );
    const log = await end(served);
    assertEquals(log.match(/sessions\.save_failed/g)?.length, 1, log);
    assertEquals(log.match(/sessions\.saved/g)?.length, 1, log);
  });
});

test("restart: a gateway that cannot listen leaves the file of another alone", async () => {
  await withSite([["m"]], async (directory, engines) => {
    const path = `${directory}/sessions.snapshot`;
    await using first = await serveProgram(configOf(directory, engines));
    await callAll(first.port);
    await end(first);
    const former = await Deno.readFile(path);
    const file = await Deno.makeTempFile({ suffix: ".yaml" });
    await Deno.writeTextFile(file, configOf(directory, engines));
    using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { process } = startProgram([
      ...["serve", "--config", file, "--admin", "127.0.0.1:0"],
      ...["--listen", `127.0.0.1:${(taken.addr as Deno.NetAddr).port}`],
    ]);
    try {
      assertEquals((await process.ended()).code, 1);
    } finally {
      await process[Symbol.asyncDispose]();
      await Deno.remove(file);
    }
    assertEquals(await Deno.readFile(path), former);
  });
});
