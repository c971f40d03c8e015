/**
 * Sessions found, pinned, forgotten and listed, and settings of endpoints
 * changed, while requests go through the gateway.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { parseKeyLines } from "../../src/config/key_lines.ts";
import { call } from "../gateway/raw_client.ts";
import { post } from "../gateway/requests.ts";
import { test } from "../leakproof.ts";
import { type AdminWorld, withAdminWorld } from "./admin_world.ts";
import { entriesOf } from "./json_schema.ts";

/** A key that no answer may hold. */
const SECRET = "sk-session-0f9d1c";

async function homeOf(
  { turn }: AdminWorld,
  session: string,
  model?: string,
): Promise<string> {
  const { headers, status } = await turn(session, model);
  assertEquals(status, 200);
  return `${headers.get("x-tryst-affinity")} ${
    headers.get("x-tryst-endpoint")
  }`;
}

/** What the pools say of a session. */
async function poolsOf(
  { ask }: AdminWorld,
  key: string,
): Promise<Readonly<Record<string, unknown>>[]> {
  const { body, status } = await ask("POST", "/sessions/find", { key });
  if (status === 404) return [];
  const { pools } = entriesOf(body);
  return Array.isArray(pools) ? pools.map(entriesOf) : [];
}

test("sessions: found by key, which is never answered", async () => {
  await withAdminWorld({ engines: [{}, {}] }, async (world) => {
    const { ask } = world;
    assertEquals(await poolsOf(world, SECRET), []);
    const home = await homeOf(world, SECRET);
    await homeOf(world, SECRET);
    const { body } = await ask("POST", "/sessions/find", { key: SECRET });
    assert(!JSON.stringify(body).includes(SECRET));
    assertMatch(String(entriesOf(body)["session"]), /^[0-9a-f]{8}$/);
    const [pool = {}, ...rest] = await poolsOf(world, SECRET);
    assertEquals(rest, []);
    assertEquals(`new ${pool["endpoint"]}`, home);
    assertEquals([pool["turns"], pool["in_flight"]], [2, 0]);
    assert(Number(pool["last_use_age_ms"]) < 5_000);
    const listed = JSON.stringify((await ask("GET", "/sessions")).body);
    assert(!listed.includes(SECRET));
    assertMatch(listed, new RegExp(String(pool["record"])));
  });
});

test("sessions: what is wrong with a question is told without its key", async () => {
  await withAdminWorld({ engines: [{ models: ["a"] }] }, async ({ ask }) => {
    const rows: readonly [path: string, body: unknown, status: number][] = [
      ["find", {}, 400],
      ["find", { key: "" }, 400],
      ["find", { key: " \t" }, 400],
      ["find", { key: [SECRET] }, 400],
      ["find", { key: SECRET, model: "b" }, 404],
      ["find", { key: SECRET, [SECRET]: 1 }, 400],
      ["find", { key: SECRET }, 404],
      ["pin", { key: SECRET }, 400],
      ["pin", { key: SECRET, endpoint: "e9" }, 404],
      ["pin", { key: SECRET, endpoint: "e0", model: "b" }, 404],
      ["forget", { key: SECRET, model: "b" }, 404],
    ];
    for (const [path, body, status] of rows) {
      const answer = await ask("POST", `/sessions/${path}`, body);
      const text = `${path} ${JSON.stringify(body)}`;
      assertEquals(answer.status, status, text);
      const detail = String(entriesOf(answer.body)["detail"]);
      assertMatch(detail, /^Cannot /, text);
      if (status === 404) assert(!detail.includes(SECRET), detail);
    }
  });
});

test("sessions: pinned ones go where they are told, new or not", async () => {
  await withAdminWorld({ engines: [{}, {}, {}] }, async (world) => {
    const { ask } = world;
    for (const key of ["known", "unknown"]) {
      if (key === "known") await homeOf(world, key);
      for (const endpoint of ["e2", "e0", "e0", "e1"]) {
        const pinned = await ask("POST", "/sessions/pin", { key, endpoint });
        assertEquals(pinned.status, 200);
        assertEquals((await poolsOf(world, key))[0]?.["endpoint"], endpoint);
        assertEquals(await homeOf(world, key), `hit ${endpoint}`);
      }
    }
  });
});

test("sessions: forgotten ones start anew, and twice is as good as once", async () => {
  await withAdminWorld({ engines: [{}, {}] }, async (world) => {
    const { ask } = world;
    const routes: [string, string][] = [
      ["POST", "/sessions/forget"],
      ["DELETE", "/sessions"],
    ];
    for (const [method, path] of routes) {
      await homeOf(world, "s");
      const forget = async () =>
        entriesOf((await ask(method, path, { key: "s" })).body)["forgotten"];
      assertEquals([await forget(), await forget()], [1, 0]);
      assertEquals(await poolsOf(world, "s"), []);
      assertMatch(await homeOf(world, "s"), /^new /);
    }
  });
});

test("sessions: a tenant's own, and none without a tenant where keys are asked for", async () => {
  const keys = parseKeyLines(
    "red:red-key-0123456789\nblue:blue-key-0123456789",
  );
  const secrets = { keys, credentials: new Map() };
  await withAdminWorld({ engines: [{}, {}, {}], secrets }, async (world) => {
    const { ask, port } = world;
    const homeFor = async (tenant: string) => {
      const { headers } = await call(
        port,
        post("/v1/chat/completions", '{"model":"sim","max_tokens":2}', [
          ...["x-session-id: s", `X-Api-Key: ${tenant}-key-0123456789`],
          "Connection: close",
        ]),
      );
      return `${headers.get("x-tryst-affinity")} ${
        headers.get("x-tryst-endpoint")
      }`;
    };
    const refused: readonly [tenant: unknown, status: number, text: RegExp][] =
      [
        [undefined, 400, /need an API key: name the tenant, .*--tenant/],
        ["", 400, /must be the name of a tenant/],
        ["green", 404, /^Cannot find tenant "green": it has no API key$/],
      ];
    for (const action of ["find", "pin", "forget"]) {
      const more = action === "pin" ? { endpoint: "e0" } : {};
      for (const [tenant, status, text] of refused) {
        const body = { key: "s", tenant, ...more };
        const answer = await ask("POST", `/sessions/${action}`, body);
        assertEquals(answer.status, status, action);
        assertMatch(String(entriesOf(answer.body)["detail"]), text);
      }
    }
    assertEquals((await ask("DELETE", "/sessions", { key: "s" })).status, 400);
    for (const endpoint of ["e2", "e1"]) {
      const body = { key: "s", tenant: "red", endpoint };
      assertEquals((await ask("POST", "/sessions/pin", body)).status, 200);
      assertEquals(await homeFor("red"), `hit ${endpoint}`);
    }
    const find = { key: "s", tenant: "blue" };
    assertEquals((await ask("POST", "/sessions/find", find)).status, 404);
    assertMatch(await homeFor("blue"), /^new /);
    const gone = await ask("DELETE", "/sessions", { key: "s", tenant: "red" });
    assertEquals(gone.body, { forgotten: 1 });
    assertMatch(await homeFor("red"), /^new /);
    assertMatch(await homeFor("blue"), /^hit /);
  });
});

test("sessions: no tenant is taken where clients need no key", async () => {
  await withAdminWorld({ engines: [{}] }, async ({ ask }) => {
    const body = { key: "s", tenant: "red" };
    const { status } = await ask("POST", "/sessions/find", body);
    assertEquals(status, 400);
  });
});

test("sessions: one for each pool, and a model names its own", async () => {
  const engines = [{ models: ["both", "a"] }, { models: ["both"] }];
  await withAdminWorld({ engines }, async (world) => {
    const { ask } = world;
    await homeOf(world, "s", "both");
    assertEquals(await homeOf(world, "s", "a"), "new e0");
    assertEquals((await poolsOf(world, "s")).length, 2);
    const both = { key: "s", model: "both" };
    await ask("POST", "/sessions/pin", { ...both, endpoint: "e1" });
    assertEquals(await homeOf(world, "s", "both"), "hit e1");
    assertEquals(await homeOf(world, "s", "a"), "hit e0");
    const wrong = await ask("POST", "/sessions/pin", {
      key: "s",
      model: "a",
      endpoint: "e1",
    });
    assertEquals(wrong.status, 404);
    const forgotten = await ask("POST", "/sessions/forget", both);
    assertEquals(forgotten.body, { forgotten: 1 });
    assertMatch(await homeOf(world, "s", "both"), /^new /);
    assertEquals(await homeOf(world, "s", "a"), "hit e0");
  });
});

test("sessions: listed by endpoint, the last used first, within bounds", async () => {
  await withAdminWorld({ engines: [{}, {}] }, async (world) => {
    const { ask } = world;
    const counts = new Map([["e0", 0], ["e1", 0]]);
    for (let index = 0; index < 20; index++) {
      const [, home = ""] = (await homeOf(world, `s${index}`)).split(" ");
      counts.set(home, (counts.get(home) ?? 0) + 1);
    }
    const list = async (query: string) => {
      const { body } = await ask("GET", `/sessions${query}`);
      const { sessions, total } = entriesOf(body);
      const rows = Array.isArray(sessions) ? sessions.map(entriesOf) : [];
      return { total, rows };
    };
    for (const [id, count] of counts) {
      const { rows, total } = await list(`?endpoint=${id}`);
      assertEquals([total, rows.length], [count, count]);
      assert(rows.every((row) => row["endpoint"] === id));
    }
    // Times are kept in steps of 100 ms: this one is a step younger.
    await new Promise((resolve) => setTimeout(resolve, 250));
    await homeOf(world, "s7");
    const last = (await poolsOf(world, "s7"))[0]?.["record"];
    for (const limit of [1, 2, 3, 19]) {
      const { rows, total } = await list(`?limit=${limit}`);
      assertEquals([total, rows.length], [20, limit]);
      assertEquals(rows[0]?.["record"], last);
    }
    const all = await list("");
    const ages = all.rows.map((row) => Number(row["last_use_age_ms"]));
    assertEquals(ages, ages.toSorted((one, other) => one - other));
    for (const query of ["?limit=0", "?limit=1001", "?limit=x", "?x=1"]) {
      assertEquals((await ask("GET", `/sessions${query}`)).status, 400, query);
    }
    assertEquals((await ask("GET", "/sessions?endpoint=e9")).status, 404);
  });
});

test("sessions: more lists at once than there may be are refused", async () => {
  await withAdminWorld({ engines: [{}] }, async ({ ask }) => {
    const asked = Array.from({ length: 12 }, () => ask("GET", "/sessions"));
    const answers = await Promise.all(asked);
    const refused = answers.filter(({ status }) => status === 503);
    assert(refused.length > 0 && refused.length < answers.length);
    assertEquals(refused[0]?.headers.get("retry-after"), "2");
    assertEquals((await ask("GET", "/sessions")).status, 200);
  });
});

test("endpoints: weights decide where new sessions go, and survive a new list", async () => {
  await withAdminWorld({ engines: [{}, {}] }, async (world) => {
    const { ask, gateway: { control } } = world;
    const weightOf = () => control.directory.endpoints[0]?.weight;
    const shareOf = async (name: string) => {
      const homes = await Promise.all(
        Array.from({ length: 24 }, (_, at) => homeOf(world, `${name}${at}`)),
      );
      return homes.filter((home) => home.endsWith("e0")).length;
    };
    await ask("POST", "/endpoints/weight", { id: "e0", weight: 0.001 });
    assertEquals(await shareOf("light"), 0);
    await ask("POST", "/endpoints/weight", { id: "e0", weight: 1000 });
    assert(await shareOf("heavy") >= 22);
    const configured = control.directory.endpoints
      .map((spec) => ({ ...spec, weight: 1 }));
    control.replace(configured);
    assertEquals(weightOf(), 1000);
    // Whoever changes that very key means it.
    control.replace(configured.map((spec) => ({ ...spec, weight: 3 })));
    assertEquals(weightOf(), 3);
    await ask("POST", "/endpoints/weight", { id: "e0", weight: 5 });
    await ask("POST", "/endpoints/weight", { id: "e0", weight: null });
    assertEquals(weightOf(), 3);
  });
});

test("endpoints: a limit holds at once, and lets go", async () => {
  const options = {
    engines: [{}],
    config: { queue: { max: 0 } },
    endpoints: [{ "max_in_flight": 8 }],
  };
  await withAdminWorld(options, async (world) => {
    const { ask, gateway: { control } } = world;
    const limitOf = async (limit: unknown) => {
      const body = { id: "e0", limit };
      const answer = await ask("POST", "/endpoints/limit", body);
      assertEquals(answer.status, 200);
      return entriesOf(answer.body)["limit"];
    };
    assertEquals(await limitOf(1), 1);
    const slot = control.directory.slotOf("e0");
    assert(control.state.endpoints.tryReserve(slot));
    assertEquals((await world.turn("s")).status, 429);
    assertEquals(await limitOf("none"), null);
    assertEquals((await world.turn("s")).status, 200);
    assertEquals(await limitOf(null), 8);
    assert(Number(await limitOf("auto")) > 0);
    assertEquals(await limitOf(3), 3);
    control.state.endpoints.release(slot);
  });
});
