/**
 * The dashboard in a real browser, against the real admin listener.
 *
 * Where there is no browser these tests are left out, and the name of one that
 * is not says so.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { FailureView } from "../../src/admin/status.ts";
import { test } from "../leakproof.ts";
import { Browser, findBrowser } from "./browser.ts";
import { FastFeed } from "./fast_feed.ts";
import {
  MadeUpGateway,
  someFailures,
  someRequests,
} from "./made_up_gateway.ts";

const path = await findBrowser();

test(
  path === undefined
    ? "dashboard: no browser is here, so the page is not looked at"
    : "dashboard: a browser is here, so the page is looked at",
  () => {},
);

function browserTest(
  name: string,
  body: (browser: Browser) => Promise<void>,
): void {
  test(`dashboard: ${name}`, async () => {
    await using browser = await Browser.start(String(path));
    await body(browser);
  }, { ignore: path === undefined });
}

/** An expression that is the text of an element. */
function textOf(selector: string): string {
  return `document.querySelector(${JSON.stringify(selector)}).innerText`;
}

const LIVE = "document.body.dataset.link === 'live'";

/** Says nothing when the page has been quiet and has kept to itself. */
function assertClean(browser: Browser, origin: string): void {
  assertEquals(browser.errors, []);
  const away = browser.requested.filter((url) => !url.startsWith(origin));
  assertEquals(away, []);
  assert(browser.requested.length > 10);
}

browserTest("shows what there is, and goes on showing it", async (browser) => {
  await using gateway = new MadeUpGateway();
  gateway.live = someRequests(14);
  gateway.failures = someFailures();
  gateway.waiting = 14;
  await browser.open(gateway.url);
  await browser.until(LIVE);
  const rows = "document.querySelectorAll('#endpoint_rows tr').length";
  assertEquals(await browser.evaluate(rows), 4);
  const text = String(await browser.evaluate("document.body.innerText"));
  for (
    const part of [
      "0.1.0",
      "3\u202fd 4\u202fh",
      "http://10.12.0.31:8000",
      "14 waiting, the longest for 7.23",
      "overdue",
      "KV cache 42 %",
      "/v1/chat/completions",
      "The endpoint could not be connected to",
      "connection refused (os error 111)",
    ]
  ) assert(text.includes(part), `Cannot find "${part}" in ${text}`);
  gateway.states.set("gpu-2", "ejected");
  await browser.until(`${textOf("#notice")}.includes("gpu-2 is ejected")`);
  assertMatch(
    String(await browser.evaluate(textOf("#verdict"))),
    /1 of 4 endpoints is ejected: gpu-2/,
  );
  gateway.ids = ["gpu-2", "gpu-1"];
  gateway.live = [];
  await browser.until(`${rows} === 2`);
  await browser.until(`${textOf("#live_none")} === "None."`);
  assertEquals(
    await browser.evaluate(textOf("#endpoint_rows tr:first-child th")),
    "gpu-2",
  );
  assertClean(browser, gateway.url);
});

browserTest("drains and restores after a question", async (browser) => {
  await using gateway = new MadeUpGateway();
  await browser.open(gateway.url);
  await browser.until(LIVE);
  const button = `[aria-label="drain http://10.12.0.31:8000"]`;
  const focus = `document.querySelector(${JSON.stringify(button)}).focus()`;
  await browser.evaluate(focus);
  await browser.press("Enter", 13);
  await browser.until(`document.querySelector("#confirm_dialog").open`);
  assertMatch(
    String(await browser.evaluate(textOf("#confirm_dialog"))),
    /Drain http:\/\/10\.12\.0\.31:8000\?[^]*3,204 live sessions/,
  );
  await browser.press("Escape", 27);
  await browser.until(`!document.querySelector("#confirm_dialog").open`);
  assertEquals(gateway.changes, []);
  await browser.evaluate(focus);
  await browser.press("Enter", 13);
  await browser.until(`document.querySelector("#confirm_dialog").open`);
  await browser.press("Tab", 9);
  await browser.press("Enter", 13);
  const restore = `[aria-label="restore http://10.12.0.31:8000"]`;
  await browser.until(`document.querySelector('${restore}') !== null`);
  assertEquals(gateway.changes, ["drain http://10.12.0.31:8000"]);
  assertEquals(gateway.states.get("http://10.12.0.31:8000"), "draining");
  await browser.evaluate(`document.querySelector('${restore}').click()`);
  await browser.evaluate(`document.querySelector("#confirm_yes").click()`);
  await browser.until(`document.querySelector('${restore}') === null`);
  assertEquals(gateway.changes.at(-1), "restore http://10.12.0.31:8000");
  assertClean(browser, gateway.url);
});

browserTest("says why a change was refused", async (browser) => {
  await using gateway = new MadeUpGateway();
  await browser.open(gateway.url);
  await browser.until(LIVE);
  await browser.evaluate(`document.querySelector("button.quiet").click()`);
  gateway.ids = [];
  await browser.evaluate(`document.querySelector("#confirm_yes").click()`);
  await browser.until(
    `${textOf("#notice")}.includes('Cannot drain endpoint "gpu-1"')`,
  );
});

browserTest(
  "survives a restart, and calls what is old stale",
  async (browser) => {
    await using gateway = new MadeUpGateway();
    await browser.open(gateway.url);
    await browser.until(LIVE);
    await gateway.restart(async () => {
      await browser.until("document.body.dataset.link === 'stale'");
      assertMatch(
        String(await browser.evaluate(textOf("#verdict"))),
        /No word from the gateway: it .*What follows is as it was/,
      );
      await browser.until(
        `${textOf("#verdict")}.includes("cannot be reached")`,
      );
    });
    await browser.until(LIVE);
    await browser.until(`${textOf("#notice")}.includes("started anew")`);
    // A total that fell is no rate, and no error either.
    assertEquals(await browser.evaluate(textOf("#errors_value")), "0");
  },
);

browserTest("shows hostile names as text", async (browser) => {
  await using gateway = new MadeUpGateway();
  const hostile = [
    `<img src=x onerror="window.owned=1">`,
    `"><script>window.owned=1</script>`,
    `\u202eevil`,
    `x`.repeat(500),
    `__proto__`,
    `constructor`,
  ];
  gateway.ids = hostile;
  gateway.version = `<b id="owned">1</b>`;
  gateway.failures = hostile.map((text, index): FailureView => ({
    atMs: index,
    id: text,
    code: text,
    endpoint: text,
    cause: text,
  }));
  gateway.live = hostile.map((text) => ({
    ...someRequests(1)[0],
    id: text,
    phase: text,
    ageMs: 1,
    method: text,
    path: text,
    endpoint: text,
    session: text,
    worker: 0,
  }));
  await browser.open(gateway.url, { width: 360, height: 740 });
  await browser.until(LIVE);
  const names = await browser.evaluate(
    "[...document.querySelectorAll('#endpoint_rows th')].map((it) => it.textContent)",
  );
  assertEquals(names, hostile);
  const made = await browser.evaluate(
    "[window.owned, document.querySelectorAll('img, b').length].join()",
  );
  assertEquals(made, ",0");
  const width = "document.documentElement.scrollWidth";
  assertEquals(await browser.evaluate(width), 360);
  await browser.evaluate(`document.querySelector("button.quiet").click()`);
  assertMatch(
    String(await browser.evaluate(textOf("#confirm_title"))),
    /^Drain <img src=x onerror=/,
  );
  assertClean(browser, gateway.url);
});

browserTest("fits every width", async (browser) => {
  await using gateway = new MadeUpGateway();
  gateway.live = someRequests(5);
  gateway.failures = someFailures();
  gateway.waiting = 3;
  await browser.open(gateway.url);
  await browser.until(LIVE);
  for (
    const width of [360, 560, 561, 760, 761, 1_100, 1_240, 1_241, 1_280, 1_920]
  ) {
    await browser.resize(width, 900);
    const excess = await browser.evaluate(
      "document.documentElement.scrollWidth - innerWidth",
    );
    assert(Number(excess) <= 0, `${width} px: ${excess} px too wide`);
  }
});

browserTest("has text that can be read on both grounds", async (browser) => {
  await using gateway = new MadeUpGateway();
  gateway.states.set("gpu-1", "ejected").set("gpu-2", "draining");
  gateway.live = someRequests(5);
  gateway.failures = someFailures();
  gateway.waiting = 3;
  for (const scheme of ["light", "dark"]) {
    await browser.open(gateway.url, { scheme });
    await browser.until(LIVE);
    assertEquals(await browser.evaluate(LOW_CONTRASTS), [], scheme);
  }
});

browserTest("asks for a token once and keeps it to itself", async (browser) => {
  await using gateway = new MadeUpGateway();
  const seen: (string | null)[] = [];
  // Its events are still open at the end, so it is ended, not shut down.
  const end = new AbortController();
  const guarded = Deno.serve(
    {
      hostname: "127.0.0.1",
      port: 0,
      onListen: () => {},
      signal: end.signal,
    },
    (request) => guard(request, gateway.url, seen),
  );
  const url = `http://127.0.0.1:${guarded.addr.port}/`;
  await using cleanUp = new AsyncDisposableStack();
  cleanUp.defer(async () => {
    end.abort();
    await guarded.finished;
  });
  await browser.open(url);
  const give = async (token: string) => {
    await browser.until(`document.querySelector("#token_dialog").open`);
    await browser.send("Input.insertText", { text: token });
    await browser.press("Enter", 13);
  };
  await give("wrong");
  await browser.until(`${textOf("#token_dialog")}.includes("does not take")`);
  await give("s3cret");
  await browser.until(LIVE);
  await browser.evaluate(`document.querySelector("button.quiet").click()`);
  await browser.evaluate(`document.querySelector("#confirm_yes").click()`);
  await browser.until(`${textOf("#notice")}.includes("gpu-1 is")`);
  assertEquals(gateway.changes, ["drain gpu-1"]);
  assertEquals([...new Set(seen)], [null, "Bearer wrong", "Bearer s3cret"]);
  const kept = await browser.evaluate(
    "[JSON.stringify(localStorage), JSON.stringify(sessionStorage), " +
      "document.cookie, location.href, document.documentElement.outerHTML, " +
      "document.querySelector('#token_input').value].join()",
  );
  assert(!String(kept).includes("s3cret"));
  assert(browser.requested.every((asked) => !asked.includes("s3cret")));
});

browserTest("stays small over 1,000 updates", async (browser) => {
  await using gateway = new MadeUpGateway();
  gateway.stepMs = 1_000;
  await using feed = new FastFeed(() => gateway.status());
  await browser.open(feed.url);
  await browser.until("performance.getEntriesByType('resource').length > 10");
  const update = async (count: number) => {
    for (let index = 0; index < count; index++) {
      gateway.live = someRequests(1 + gateway.step % 50);
      gateway.failures = someFailures().map((failure) => ({
        ...failure,
        id: `${failure.id}${gateway.step}`,
      }));
      feed.push(gateway.status());
      await browser.evaluate("new Promise((go) => setTimeout(go))");
    }
    await browser.until(LIVE);
    const bytes = await browser.evaluate(
      "gc(), gc(), performance.memory.usedJSHeapSize",
    );
    const nodes = await browser.evaluate(
      "document.querySelectorAll('*').length",
    );
    return { bytes: Number(bytes), nodes: Number(nodes) };
  };
  // The series are full after 300.
  const before = await update(350);
  assert(before.nodes < 2_000, `${before.nodes} elements`);
  const after = await update(1_000);
  const grown = after.bytes - before.bytes;
  assert(grown < 1_000_000, `${before.bytes} B grew by ${grown} B`);
  assertEquals(after.nodes, before.nodes);
  assertEquals(browser.errors, []);
});

/** Refuses what lacks the token; passes the rest on, as a proxy would. */
async function guard(
  request: Request,
  target: string,
  seen: (string | null)[],
): Promise<Response> {
  const { pathname } = new URL(request.url);
  const isOpen = pathname === "/" || pathname.startsWith("/assets/");
  const token = request.headers.get("authorization");
  if (!isOpen) seen.push(token);
  if (!isOpen && token !== "Bearer s3cret") {
    await request.body?.cancel();
    return new Response(null, { status: 401 });
  }
  return await fetch(new URL(pathname, target), {
    method: request.method,
    headers: { "content-type": "application/json" },
    body: request.method === "POST" ? await request.text() : null,
    signal: request.signal,
  });
}

/**
 * Texts whose contrast is under 4.5 to 1 (WCAG 2.2, 1.4.3), as an expression.
 *
 * All grounds on the page are plain, so the nearest one that is not see-through
 * is the one behind a text.
 */
const LOW_CONTRASTS = `(() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((it) => it / 255).map((it) =>
      it <= 0.04045 ? it / 12.92 : ((it + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const groundOf = (element) => {
    for (let it = element; it !== null; it = it.parentElement) {
      const color = rgb(getComputedStyle(it).backgroundColor);
      if (color.length === 3 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const low = [];
  for (const element of document.body.querySelectorAll("*")) {
    const own = [...element.childNodes].some((it) =>
      it.nodeType === 3 && it.data.trim() !== "");
    if (!own || element.offsetParent === null) continue;
    const a = light(rgb(getComputedStyle(element).color));
    const b = light(groundOf(element));
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) low.push(element.innerText + " " + contrast);
  }
  return low;
})()`;
