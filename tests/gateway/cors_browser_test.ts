/**
 * Web pages of one origin that use the gateway of another, in a real browser.
 *
 * Where there is no browser this is left out, and the name of a test says so.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { Browser, findBrowser } from "../dashboard/browser.ts";
import { test } from "../leakproof.ts";
import { withScript } from "./scripted_engine.ts";

const path = await findBrowser();

const STREAM = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" +
  "Connection: close\r\n\r\ndata: 1\n\ndata: 2\n\n";

/** What a page gets when it asks as SDKs do: its text, or why it got none. */
function asking(url: string): string {
  const init = {
    method: "POST",
    headers: {
      authorization: "Bearer k",
      "content-type": "application/json",
      "x-stainless-os": "Linux",
    },
    body: "{}",
  };
  return `fetch(${JSON.stringify(url)}, ${JSON.stringify(init)})` +
    ".then(async (answer) => [answer.status, await answer.text()," +
    ' answer.headers.get("x-tryst-endpoint"),' +
    ' answer.headers.get("x-tryst-error")].join(" | "), String)';
}

test(
  path === undefined
    ? "CORS: no browser is here, so none is asked"
    : "CORS: a browser is here, and is asked",
  () => {},
);

test(
  "CORS: pages may read streams and errors, if they are of a listed origin",
  async () => {
    await using page = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      () =>
        new Response("<p>page</p>", {
          headers: { "content-type": "text/html" },
        }),
    );
    const origin = `http://127.0.0.1:${page.addr.port}`;
    let preflightCount = 0;
    await using browser = await Browser.start(String(path));
    for (const isListed of [true, false]) {
      const origins = [isListed ? origin : "https://elsewhere.example"];
      await withScript(async (peer, request) => {
        if (request.startsWith("OPTIONS ")) preflightCount++;
        if (request.startsWith("POST /cut ")) return peer.close();
        await peer.send(STREAM);
        peer.close();
      }, async ({ url }) => {
        await browser.open(origin);
        const stream = await browser.evaluate(asking(`${url}/v1/chat`));
        const error = await browser.evaluate(asking(`${url}/cut`));
        const failed = "TypeError: Failed to fetch";
        assertEquals(
          stream,
          isListed ? "200 | data: 1\n\ndata: 2\n\n | e0 | " : failed,
        );
        assertEquals(
          isListed ? String(error).replace(/\{.*\}/, "{}") : error,
          isListed ? "502 | {} | e0 | upstream_reset" : failed,
        );
      }, { config: { cors: { origins } } });
    }
    assertEquals(preflightCount, 0);
  },
  { ignore: path === undefined },
);
