/**
 * What the admin listener says of a gateway.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { AdminListener } from "./admin_listener.ts";

test("AdminListener answers its paths, and anything else with a problem", async () => {
  let eligible = 0;
  const admin = new AdminListener({
    hostname: "127.0.0.1",
    port: 0,
    readiness: () => ({ eligible, total: 2 }),
    metrics: () => Promise.resolve("tryst_up 1\n"),
  });
  const get = async (path: string, method = "GET") => {
    const url = `http://127.0.0.1:${admin.port}${path}`;
    const response = await fetch(url, { method });
    return { status: response.status, text: await response.text() };
  };
  assertEquals((await get("/healthz")).status, 200);
  assertEquals(await get("/readyz"), {
    status: 503,
    text: '{"status":"not ready","eligible":0,"total":2}',
  });
  eligible = 1;
  assertEquals((await get("/readyz")).status, 200);
  assertEquals(await get("/metrics"), { status: 200, text: "tryst_up 1\n" });
  assertEquals((await get("/metrics", "POST")).status, 405);
  const unknown = await get("/secrets");
  assertEquals(unknown.status, 404);
  assertEquals(JSON.parse(unknown.text).title, "Not Found");
  await admin.stop();
});
