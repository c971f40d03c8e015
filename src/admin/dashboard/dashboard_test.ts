/**
 * The page as it is served: whole, current, and under its policy.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { EMBEDDED, embeddedText } from "../../../tests/dashboard/embed.ts";
import { MadeUpGateway } from "../../../tests/dashboard/made_up_gateway.ts";
import { test } from "../../../tests/leakproof.ts";
import { ERROR_TABLE } from "../../core/error.ts";
import { PAGE_ASSETS } from "./embedded_page.ts";
import { UPLOT_TEXT } from "./embedded_uplot.ts";

/** Of `uPlot.iife.min.js` in the package `uplot`, version 1.6.32. */
const UPLOT_SHA256 =
  "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f";

/** Milliseconds in which events must have ended; a stop takes 1 s at most. */
const ANSWER_MS_MAX = 5_000;

const embedded = await embeddedText();

test(
  embedded === undefined
    ? "dashboard: this Deno cannot make the embedded page to compare it"
    : "dashboard: the embedded page is what its files make",
  async () => {
    if (embedded === undefined) return;
    assertEquals(
      await Deno.readTextFile(EMBEDDED),
      embedded,
      "Cannot serve an old page: run tests/dashboard/embed.ts",
    );
  },
);

test("dashboard: the scripts of the page load each other and nothing else", () => {
  const names = Object.keys(PAGE_ASSETS).filter((name) => name.endsWith(".js"));
  assert(names.length > 10);
  for (const name of names) {
    const text = PAGE_ASSETS[name] ?? "";
    for (const [, target = ""] of text.matchAll(/\bfrom "([^"]+)"/g)) {
      assert(names.includes(target.replace("./", "")), `${name}: ${target}`);
    }
  }
});

test("dashboard: the charts are what was published", async () => {
  const start = UPLOT_TEXT.indexOf("*/\n") + 3;
  const bytes = new TextEncoder().encode(UPLOT_TEXT.slice(start));
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  assertEquals(new Uint8Array(digest).toHex(), UPLOT_SHA256);
  assertMatch(UPLOT_TEXT.slice(0, start), /MIT License[^]*Leon Sorokin/);
});

test("dashboard: the page stands at the root, with its parts", async () => {
  await using gateway = new MadeUpGateway();
  const rows = [
    ["", 200, "text/html; charset=utf-8"],
    ["?x=1", 200, "text/html; charset=utf-8"],
    ["assets/main.js", 200, "text/javascript; charset=utf-8"],
    ["assets/uplot.js", 200, "text/javascript; charset=utf-8"],
    ["assets/page.css", 200, "text/css; charset=utf-8"],
    ["assets/icon.svg", 200, "image/svg+xml"],
    ["assets/", 404, "application/problem+json"],
    ["assets/main.ts", 404, "application/problem+json"],
    ["assets/constructor", 404, "application/problem+json"],
    ["assets/%2e%2e/main.js", 404, "application/problem+json"],
    ["assets/x/main.js", 404, "application/problem+json"],
  ] as const;
  for (const [path, status, type] of rows) {
    const reply = await fetch(gateway.url + path);
    await reply.body?.cancel();
    assertEquals([reply.status, reply.headers.get("content-type")], [
      status,
      type,
    ], path);
    if (status !== 200) continue;
    const policy = reply.headers.get("content-security-policy") ?? "";
    assertMatch(policy, /^default-src 'none'; .*frame-ancestors 'none'/);
    assert(!/unsafe|https?:|\*/.test(policy), policy);
  }
  const posted = await fetch(gateway.url, { method: "POST" });
  await posted.body?.cancel();
  assertEquals(posted.status, 405);
});

test("dashboard: the page knows every code of the error table", async () => {
  await using gateway = new MadeUpGateway();
  const html = await (await fetch(gateway.url)).text();
  const json = /id="error_table">([^<]*)</.exec(html)?.[1] ?? "";
  assertEquals(Object.keys(JSON.parse(json)), Object.keys(ERROR_TABLE));
});

test("dashboard: open events do not hold the listener up", async () => {
  const gateway = new MadeUpGateway();
  const reply = await fetch(`${gateway.url}events`, {
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
  });
  const text = reply.text();
  await gateway[Symbol.asyncDispose]();
  assertMatch(await text, /^data: \{/);
});
