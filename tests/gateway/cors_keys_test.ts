/**
 * Pages and API keys: a preflight needs none, and pages may read why they are
 * refused.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { parseKeyLines } from "../../src/config/key_lines.ts";
import { test } from "../leakproof.ts";
import { call } from "./raw_client.ts";
import { bare, post } from "./requests.ts";
import { always, withScript } from "./scripted_engine.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

const ORIGIN = "https://page.example";

const KEY = "Authorization: Bearer red-key-0123456789";

const OPTIONS = {
  secrets: {
    keys: parseKeyLines("red:red-key-0123456789"),
    credentials: new Map(),
  },
  config: {
    cors: { origins: [ORIGIN] },
    tenants: { red: { requests_per_second: 0.001, burst: 1 } },
  },
};

test("CORS: a preflight needs no key, and reaches no engine", async () => {
  const seen: string[] = [];
  await withScript(async (peer, request) => {
    seen.push(request);
    await peer.send(OK);
  }, async ({ port }) => {
    const wanted = "Access-Control-Request-Method: POST";
    const names = "Access-Control-Request-Headers: authorization,content-type";
    const origin = `Origin: ${ORIGIN}`;
    const preflight = bare("OPTIONS", "/v1/x", [origin, wanted, names]);
    const { headers, status } = await call(port, preflight);
    assertEquals(
      [
        status,
        headers.get("access-control-allow-origin"),
        headers.get("access-control-allow-methods"),
        headers.get("access-control-allow-headers"),
      ],
      [204, ORIGIN, "POST", "authorization,content-type"],
    );
    // What only looks like one does need a key.
    for (const lines of [[], [origin], [wanted]]) {
      const reply = await call(port, bare("OPTIONS", "/v1/x", lines));
      assertEquals(reply.headers.get("x-tryst-error"), "api_key_missing");
    }
    assertEquals(seen, []);
  }, OPTIONS);
});

test("CORS: pages of a listed origin may read every refusal", async () => {
  const refusals = async (port: number, origin: string) => {
    const lines = [
      `Origin: ${origin}`,
      "X-Api-Key: nobodys-key-0123456",
    ];
    return [
      await call(port, post("/v1/x", "{}", lines.slice(0, 1))),
      await call(port, post("/v1/x", "{}", lines)),
      await call(port, post("/v1/x", "{}", [`Origin: ${origin}`, KEY])),
      await call(port, post("/v1/x", "{}", [`Origin: ${origin}`, KEY])),
    ];
  };
  for (
    const [origin, allowed] of [[ORIGIN, ORIGIN], ["https://x", undefined]]
  ) {
    await withScript(always(OK), async ({ port }) => {
      const replies = await refusals(port, origin ?? "");
      assertEquals(replies.map(({ status }) => status), [401, 401, 503, 429]);
      for (const { headers, status } of replies) {
        const exposed = headers.get("access-control-expose-headers") ?? "";
        assertEquals(
          [
            headers.get("access-control-allow-origin"),
            exposed.includes("retry-after"),
            /(^|, )origin$/.test(headers.get("vary") ?? ""),
          ],
          [allowed, allowed !== undefined, true],
          `${status}`,
        );
      }
    }, { ...OPTIONS, presence: "never" });
  }
});
